package text

import (
	"strings"
	"testing"
)

// TestClosing has what forges take for an order to close an issue, and what is
// none. A ^ stands where the text is broken.
func TestClosing(t *testing.T) {
	for text, want := range map[string]string{
		"closes #7":                     "c^loses #7",
		"Closes: #7":                    "C^loses: #7",
		"CLOSED  #7, fixed #8":          "C^LOSED  #7, f^ixed #8",
		"fix #7":                        "f^ix #7",
		"Fixes owner/repo#7":            "F^ixes owner/repo#7",
		"resolves my.org/a-b_c#7":       "r^esolves my.org/a-b_c#7",
		"Resolve GH-7":                  "R^esolve GH-7",
		"fixes https://h/o/r/issues/7":  "f^ixes https://h/o/r/issues/7",
		"Closes <https://h/o/r/pull/7>": "C^loses <https://h/o/r/pull/7>",
		"closing https://gitlab.com/g/s/p/-/issues/7": "c^losing https://gitlab.com/g/s/p/-/issues/7",
		"Implements group/project/-/work_items/7":     "I^mplements group/project/-/work_items/7",
		"closes h/g/p/-/merge_requests/7":             "c^loses h/g/p/-/merge_requests/7",
		"closes issues #4, #5 and #6":                 "c^loses issues #4, #5 and #6",
		"Fixes PROJ-12, #7":                           "F^ixes PROJ-12, #7",
		"Resolves PROJ-12":                            "R^esolves PROJ-12",
		"closes !7 and fixes &8":                      "c^loses !7 and f^ixes &8",
		"fixing\n#7":                                  "f^ixing\n#7",
		"resolving [issue:7]":                         "r^esolving [issue:7]",
		"ｃｌｏｓｅｓ #7":                                   "ｃ^ｌｏｓｅｓ #7",
		"closes ＃７":                                   "c^loses ＃７",
		"cloſes #7":                                   "c^loſes #7",
		"closes &#35;7":                               "c^loses &#35;7",
		"clos&#101;s &num;7":                          "c^los&#101;s &num;7",
		"&#99;loses #7":                               "&#99;^loses #7",
		"closes&nbsp;&#x23;7":                         "c^loses&nbsp;&#x23;7",
		"closes #&#55;":                               "c^loses #&#55;",
		`closes \#7`:                                  `c^loses \#7`,
		"clo**ses** _#7_":                             "c^lo**ses** _#7_",
		"closes [#7](https://h/x)":                    "c^loses [#7](https://h/x)",
		"[closes](https://h/x) #7":                    "[c^loses](https://h/x) #7",
		"closes [it](https://h/o/r/issues/7)":         "c^loses [it](https://h/o/r/issues/7)",
		"closes [](https://h/o/r/issues/7)":           "c^loses [](https://h/o/r/issues/7)",
		"closes `#7`":                                 "c^loses `#7`",
		"(closes #7)":                                 "(c^loses #7)",
		"語closes #7":                                  "語c^loses #7",
		"fix: #7 crash":                               "f^ix: #7 crash",

		"fix(#7): crash":                  "fix(#7): crash",
		"fix(parser): crash":              "fix(parser): crash",
		"Fix UTF-8 and SHA-256":           "Fix UTF-8 and SHA-256",
		"Fixes UTF-8, #7":                 "F^ixes UTF-8, #7",
		"prefix #7, hotfix #7, closet #7": "prefix #7, hotfix #7, closet #7",
		"see #7; For issue 7.":            "see #7; For issue 7.",
		"fix the parser of #7":            "fix the parser of #7",
		"fixed in 7 places":               "fixed in 7 places",
		"closes the file":                 "closes the file",
		"#7 closes":                       "#7 closes",
		"":                                "",
	} {
		if got := strings.ReplaceAll(withoutMentions(text), joinerMark, "^"); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	for text, want := range map[string]string{
		"closes <!-- x --> #7":          "c^loses <^!-- x --> #7",
		"clo<!---->ses #7":              "c^lo<^!---->ses #7",
		"closes <b>#7</b>":              "c^loses <^b>#7<^/b>",
		"clo\u200bses\u2060 #\u00ad7":   "c^loses #7",
		"c\u200closes #7":               "c^loses #7",
		"closes\u00a0#7":                "c^loses #7",
		"語\u200ccloses #7":              "語\u200cc^loses #7",
		"closes\u3000#7":                "c^loses\u3000#7",
		"closes #\U000E00417":           "c^loses #7",
		"clo\u0301\u034fses #7 @closes": "c^lo\u0301ses #7 @^closes",
	} {
		want = strings.ReplaceAll(want, "^", joinerMark)
		if got := Publishable(text, nil); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestPublishableLine(t *testing.T) {
	for text, want := range map[string]string{"/tag v1": "/^tag v1", "a /tag": "a /tag", "/": "/^", "": "",
		"Fix #7": "F^ix #7"} {
		if got := strings.ReplaceAll(PublishableLine(text, nil), joinerMark, "^"); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}

// FuzzClosing: what was broken stays so, however often it is done, and nothing
// but gaps is added.
func FuzzClosing(f *testing.F) {
	for _, seed := range []string{"closes #7", "clos&#101;s &num;7", "<!--closes #7", "]( closes #7", `\closes \#7`,
		"ｆｉｘ ＃７", "fix fix fix #7", "&&#;&#x;7", "<b fix #1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		text = Visible(text)
		out := breakKeywords(text)
		if strings.ReplaceAll(out, joinerMark, "") != strings.ReplaceAll(text, joinerMark, "") {
			t.Errorf("%q became %q", text, out)
		}
		if again := breakKeywords(Visible(out)); again != out {
			t.Errorf("%q, and then %q", out, again)
		}
	})
}
