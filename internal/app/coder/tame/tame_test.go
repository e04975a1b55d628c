package tame

import (
	"strings"
	"testing"
)

func TestVisible(t *testing.T) {
	for text, want := range map[string]string{
		"a\tb\nc\r\nd":                        "a\tb\nc\nd",
		"a\x1b[31mb\x00c\x7f":                 "a[31mbc",
		"sup\u00ader\u200bse\u2060cr\ufeffet": "supersecret",
		"se\u200dcr\u200cet\ufe0f":            "secret",
		"se\u034fcr\u3164et":                  "secret",
		"a\u202eb\u2066c":                     "abc",
		"a\u00a0b\u2028c\u3000d":              "a b c d",
		"x\U000E0041\U000E0042":               "x",
		"👨\u200d👩\u200d👧 ❤️ می\u200cخواهم":    "👨\u200d👩\u200d👧 ❤️ می\u200cخواهم",
		"\xff\ufffda":                         "a",
		"":                                    "",
	} {
		if got := Visible(text); got != want || Visible(got) != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestInert(t *testing.T) {
	for text, want := range map[string]string{
		"ask @alice, .@bob /@c -@d _@e_ (@f": "ask @^alice, .@^bob /@^c -@^d _@^e_ (@^f",
		"@@alice":                            "@^@^alice",
		"語@alice \\@b @-c @_d @acme/core":    "語@^alice \\@^b @^-c @^_d @^acme/core",
		"&#64;alice &#x00040;b &commat;c":    "@^alice @^b @^c",
		"@&#97;lice":                         "@^&#97;lice",
		"mail a@b.example @ noon @":          "mail a@b.example @ noon @",
		"![x](https://e) vec![1]":            "!^[x](https://e) vec!^[1]",
		"<Img src=x> <picture> </b> <!-- <?": "<^Img src=x> <^picture> <^/b> <^!-- <^?",
		"a < b <= c <- d <1 <<x":             "a < b <= c <- d <1 <<^x",
	} {
		if got := strings.ReplaceAll(Inert(text), gap, "^"); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if got := Quiet("Vec<T> ![x]"); got != "Vec<T> ![x]" {
		t.Errorf("a title is no Markdown: %q", got)
	}
}

// FuzzTame: what was made fit stays so, and does not change any more.
func FuzzTame(f *testing.F) {
	for _, seed := range []string{"@\u00adalice", "!\u00ad[x](y)", "<\u00ad!-- x", "@@a", "&#64;&#64;a", "語\u200c@a", "\xff@\xffa"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		out := Inert(Visible(text))
		if markup().MatchString(out) || strings.Contains(out, "![") || at().MatchString(out) {
			t.Errorf("%q became %q", text, out)
		}
		if again := Inert(Visible(out)); again != out {
			t.Errorf("%q, and then %q", out, again)
		}
	})
}
