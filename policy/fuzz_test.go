package policy

import (
	"strings"
	"testing"
	"time"

	"hako/internal/testload"
)

// FuzzScript holds two promises: no source panics, and whatever Script allows
// with nothing left open, Call allows too.
func FuzzScript(f *testing.F) {
	for _, file := range []string{"attacks.jsonl", "benign.jsonl", "attacks-own.jsonl", "benign-own.jsonl"} {
		for _, c := range readCorpus(f, file) {
			f.Add(c.Command)
		}
	}
	policies := []*Policy{hostPolicy(), Default("virtual", Options{}), Default("container", Options{})}
	f.Fuzz(func(t *testing.T, src string) {
		file, err := ParseScript(src)
		if err != nil {
			return
		}
		start := time.Now()
		defer func() {
			if d := time.Since(start); d > testload.Bound(5*time.Second) {
				t.Fatalf("%q took %v", src, d)
			}
		}()
		for _, p := range policies {
			for _, v := range p.Program(file) {
				if v.Effect == Allow && !v.Late && !movesAbout(src) {
					if got := p.Call(v.Argv); got.Effect != Allow && v.Where != "redirection" {
						t.Fatalf("%s: script allows %q in %q, call says %s: %s (%s)", p.Profile(), v.Argv, src, got.Effect, got.Why,
							got.Where)
					}
				}
				if v.Effect == Deny && (v.Why == "" || v.Where == "" || v.Hint == "") {
					t.Fatalf("denied %q without reason, place or hint: %+v", src, v)
				}
			}
		}
	})
}

// movesAbout skips scripts that change directory: Call is told where the
// command stands with At.
func movesAbout(src string) bool {
	for _, name := range []string{"cd", "pushd", "popd", "c\\d", "c'd", "-C"} {
		if strings.Contains(src, name) {
			return true
		}
	}
	return false
}

func FuzzParse(f *testing.F) {
	for _, profile := range Profiles() {
		text, err := ruleFiles.ReadFile("rules/" + profile + ".policy")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text), "git push origin")
	}
	f.Add("allow 'a b' \"c\"  # why\n  match 'a b' c d\n", "a b")
	f.Add("alow x", "x")
	f.Fuzz(func(t *testing.T, rules, cmd string) {
		p, err := Parse("fuzz.policy", strings.NewReader(rules))
		if err != nil {
			return
		}
		p.Call(strings.Fields(cmd))
		p.Categories()
		if err := p.Test(); err != nil {
			t.Fatalf("a policy that was accepted fails its own test: %v", err)
		}
	})
}
