package redact

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// TestEscapesAreBorders has tokens right behind a line break or the like as JSON
// spells it: the byte before the token is then a letter.
func TestEscapesAreBorders(t *testing.T) {
	jwt := "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N"
	for _, token := range []string{
		"sk-abcdefghijklmnop1234", someToken, "AKIAIOSFODNN7EXAMPLE", jwt, "xoxb-123456789012-abcdef",
		"glpat-ABCDEFGHIJKLMNOPQRST", "SG.abcdefghijklmnop1234567",
		"Bearer abc123def456ghi789", "--password hunter22", "pass=hunter22", "token=hunter22", "curl -u a:hunter22",
	} {
		secret := token[strings.LastIndexAny(token, " =:")+1:]
		for _, before := range []string{`\n`, `\t`, `\r`, `\"`, `\\n`, `\\\n`, `\f`, `\r\n`} {
			text := `{"text":"keys:` + before + token + `","n":1}`
			if got := new(Set).Text(text); strings.Contains(got, secret) || !strings.HasPrefix(got, `{"text":"keys:`+before) {
				t.Errorf("%s became %s", text, got)
			}
			if got := written(t, nil, text, 3); got != Text(text) {
				t.Errorf("%s was written as %s", text, got)
			}
		}
	}
	for _, before := range []string{`\u000a`, `\u0009`, `\u003C`, `\x0a`} {
		if got := Text("keys:" + before + someToken); got != "keys:"+before+Mark {
			t.Errorf("after %s: %s", before, got)
		}
	}
}

func TestLettersAreNoBorders(t *testing.T) {
	for _, text := range []string{
		"task-management-system-of-the-house", `a\n\task-management-system-of`, `\u00task-management-system-of-it`,
		"xAKIAIOSFODNN7EXAMPLE", `C:\new-file-of-mine`, "non--password",
		"compass=north", `\npassed: 12`, `u000ask-abcdefghijklmnop1234`,
	} {
		if got := Text(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// TestFarAway has what is opened so far before its end that nobody looks: it is
// secret as far as one looks, and then as long as it is one word.
func TestFarAway(t *testing.T) {
	long, key := strings.Repeat("a1b2", 10_000), strings.Repeat("a1b2\n", 2500)
	for in, want := range map[string]string{
		`token="` + long + `" end`:                                `token="` + Mark + `" end`,
		"token=" + long + " end":                                  "token=" + Mark + " end",
		"x " + somePEM[:40] + key + somePEM[40:] + " end":         "x " + Mark + " end",
		"PRIVATE_KEY=" + somePEM[:40] + key + somePEM[40:] + " x": "PRIVATE_KEY=" + Mark + " x",
		`curl ` + strings.Repeat("-H x ", 90) + "-u a:hunter22 x": `curl ` + strings.Repeat("-H x ", 90) + "-u a:" + Mark +
			" x",
	} {
		if got := Text(in); got != want {
			t.Errorf("%s became %s", short(in), short(got))
		}
		if got := written(t, nil, in, 1000); got != want {
			t.Errorf("%s was written as %s", short(in), short(got))
		}
	}
}

// TestPatience has secrets behind text that uses up what the scan is ready to
// look at: they must not pass for it.
func TestPatience(t *testing.T) {
	for _, piece := range hostile {
		for _, size := range []int{3000, 5000, 50_000 / slower} {
			text := strings.Repeat(piece, size/len(piece)) + "\n password=hunter22 " + someToken + "\n"
			for _, got := range []string{Text(text), written(t, nil, text, 1000)} {
				if strings.Contains(got, "hunter22") || strings.Contains(got, someToken) {
					t.Errorf("%q: %s", piece, got[max(0, len(got)-200):])
				}
			}
		}
	}
}

// TestWriterIsText has hostile and other pieces on long lines, mixed by chance:
// where a stream is cut makes no difference there either.
func TestWriterIsText(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	pieces := append([]string{"some words, ", someToken + " ", "password=hunter22 ", `{"a":"b"}`, "語"}, hostile...)
	for range 40 / slower {
		var b strings.Builder
		for b.Len() < 3*blockSize {
			piece := strings.ReplaceAll(pieces[r.IntN(len(pieces))], "\n", " ")
			b.WriteString(strings.Repeat(piece, 1+r.IntN(600)))
		}
		text := strings.ReplaceAll(b.String(), keyBegin, "")
		want, got := Text(text), written(t, nil, text, 1+r.IntN(9000))
		if want != got {
			n := 0
			for n < min(len(got), len(want)) && got[n] == want[n] {
				n++
			}
			t.Fatalf("at %d of %d: %s\nnot %s", n, len(want), around(got, n)[:1000], around(want, n)[:1000])
		}
	}
}
