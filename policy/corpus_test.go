package policy

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// A case of the corpus, as the shared files spell it.
type corpusCase struct {
	ID      string `json:"id"`
	Tier    int    `json:"tier"`
	Command string `json:"command"`
	Tries   string `json:"tries"`
	Expect  string `json:"expect"`
}

const (
	testRoot = "/srv/box/root"
	testOut  = "/srv/box/outside"
)

var places = strings.NewReplacer("@ROOT@", testRoot, "@PWN@", testOut+"/pwn", "@SECRET@", testOut+"/secret.txt",
	"@OUT@", testOut)

func hostPolicy() *Policy {
	return Default("host", Options{Root: testRoot, Home: "/home/someone"})
}

func readCorpus(t testing.TB, file string) []corpusCase {
	t.Helper()
	f, err := os.Open("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []corpusCase
	for sc := bufio.NewScanner(f); sc.Scan(); {
		var c corpusCase
		if err := json.Unmarshal(sc.Bytes(), &c); err != nil {
			t.Fatalf("%s: %v", sc.Text(), err)
		}
		c.Command = places.Replace(c.Command)
		out = append(out, c)
	}
	return out
}

func TestAttacksAreDenied(t *testing.T) {
	p := hostPolicy()
	for _, file := range []string{"attacks.jsonl", "attacks-own.jsonl"} {
		denied, all := 0, 0
		for _, c := range readCorpus(t, file) {
			if c.Tier != 2 || c.Expect != "deny" {
				continue
			}
			all++
			vs, err := p.Script(c.Command)
			if err != nil {
				// It would never run, but it would prove nothing either.
				t.Errorf("%s %s %q: %v", file, c.ID, c.Command, err)
				continue
			}
			if Strictest(vs) != Deny {
				t.Errorf("%s %s %q (%s): not denied: %v", file, c.ID, c.Command, c.Tries, vs)
				continue
			}
			denied++
			for _, v := range vs {
				if v.Effect == Deny && (v.Why == "" || v.Where == "" || v.Hint == "") {
					t.Errorf("%s %q: a denial without reason, place or hint: %+v", c.ID, c.Command, v)
				}
			}
		}
		t.Logf("%s: %d of %d denied", file, denied, all)
	}
}

func TestBenignIsAllowed(t *testing.T) {
	p := hostPolicy()
	for _, file := range []string{"benign.jsonl", "benign-own.jsonl"} {
		allowed, all := 0, 0
		for _, c := range readCorpus(t, file) {
			all++
			vs, err := p.Script(c.Command)
			if err != nil || Strictest(vs) != Allow {
				t.Errorf("%s %q: %v, %+v", c.ID, c.Command, err, vs)
				continue
			}
			allowed++
		}
		t.Logf("%s: %d of %d allowed", file, allowed, all)
	}
}
