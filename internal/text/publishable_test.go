package text

import (
	"strings"
	"testing"
)

// TestPublishableRedacts: what cannot be seen does not hide a secret from the one who redacts.
func TestPublishableRedacts(t *testing.T) {
	redact := func(s string) string { return strings.ReplaceAll(s, "secret", "[redacted]") }
	for _, s := range []string{"a secret", "a se\u200dcret", "a sec\x1b[1mret", "a se\xffcr\ufffdet", "a s\u00adecret"} {
		if got := Publishable(s, redact); got != "a [redacted]" {
			t.Errorf("%q: %q", s, got)
		}
		if got := PublishableLine(" "+s+"\n", redact); got != "a [redacted]" {
			t.Errorf("%q: %q", s, got)
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
		if got := strings.ReplaceAll(withoutMarkup(text), joinerMark, "^"); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if got := withoutMentions("Vec<T> ![x]"); got != "Vec<T> ![x]" {
		t.Errorf("a title is no Markdown: %q", got)
	}
}

// FuzzPublishable: what was made fit stays so, and does not change any more.
func FuzzPublishable(f *testing.F) {
	for _, seed := range []string{"@\u00adalice", "!\u00ad[x](y)", "<\u00ad!-- x", "@@a", "&#64;&#64;a", "語\u200c@a",
		"\xff@\xffa"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		out := Publishable(text, nil)
		if tagStart().MatchString(out) || strings.Contains(out, "![") || atEntity().MatchString(out) {
			t.Errorf("%q became %q", text, out)
		}
		if again := Publishable(out, nil); again != out {
			t.Errorf("%q, and then %q", out, again)
		}
	})
}
