package text

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestVisible(t *testing.T) {
	for text, want := range map[string]string{
		"a\tb\nc\r\nd":                        "a\tb\nc\nd",
		"a\x1b[31mb\x00c\x7f":                 "abc",
		"sup\u00ader\u200bse\u2060cr\ufeffet": "supersecret",
		"se\u200dcr\u200cet\ufe0f":            "secret",
		"se\u034fcr\u3164et":                  "secret",
		"a\u202eb\u2066c":                     "abc",
		"a\u00a0b\u2028c\u3000d":              "a b c\u3000d",
		"x\U000E0041\U000E0042":               "x",
		"👨\u200d👩\u200d👧 ❤️ می\u200cخواهم":    "👨\u200d👩\u200d👧 ❤️ می\u200cخواهم",
		"\xff\ufffda":                         "\ufffd\ufffda",
		"a\x1b]52;c;eA==\ab\x1b]hidden":       "abhidden",
		"日\ufe0f\ufe0e\u200d\u200dx":          "日\ufe0f\u200dx",
		"a⠀b":                                 "a b",
		"":                                    "",
	} {
		if got := Visible(text); got != want || Visible(got) != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestForRecord(t *testing.T) {
	for text, want := range map[string]string{
		"a\tb\nc\r\nd\r":             "a\tb\nc\nd␍",
		"\x1b[31mred\x7f\u009b":      "␛[31mred␡‹U+009B›",
		"rm \u202egpj.exe":           "rm ‹U+202E›gpj.exe",
		"a\u200db\u2028c\u00adz":     "a‹U+200D›b‹U+2028›c‹U+00AD›z",
		"x\U000E0041":                "x‹U+E0041›",
		"日本\u3000語 👩\u200d💻 ❤\ufe0f": "日本\u3000語 👩\u200d💻 ❤\ufe0f",
		"\xff": "\ufffd",
	} {
		if got := ForRecord(text); got != want || ForRecord(got) != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if got := RecordLine("a\nb\tc"); got != "a␊b\tc" {
		t.Errorf("%q", got)
	}
}

func TestLine(t *testing.T) {
	for text, want := range map[string]string{
		" a\n\tb\x1b[0m  c ":            "a b c",
		"123456789":                     "12345…",
		"日本語日本語日":                       "日本語日本…",
		strings.Repeat(" ", 1000) + "x": "x",
		strings.Repeat("x", 1<<20):      "xxxxx…",
	} {
		if got := Line(text, 6); got != want {
			t.Errorf("%.20q: %q, want %q", text, got, want)
		}
	}
}

func TestShorten(t *testing.T) {
	for _, c := range []struct {
		text  string
		most  int
		want  string
		cells string
		bytes string
	}{
		{"abc", 3, "abc", "abc", "abc"},
		{"abcd", 3, "ab…", "ab…", "abc"},
		{"日本語", 3, "日本語", "日…", "日"},
		{"日本語だ", 3, "日本…", "日…", "日"},
		{"e\u0301e\u0301", 2, "e…", "e\u0301e\u0301", "e"},
		{"abc", 0, "", "", ""},
		{"", 0, "", "", ""},
		{"\x80\x80\x80\x80\x80\x80", 5, "\x80\x80\x80\x80…", "\x80\x80\x80\x80…", "\x80"},
	} {
		if got := Shorten(c.text, c.most); got != c.want {
			t.Errorf("Shorten(%q, %d): %q, want %q", c.text, c.most, got, c.want)
		}
		if got := ShortenCells(c.text, c.most); got != c.cells {
			t.Errorf("ShortenCells(%q, %d): %q, want %q", c.text, c.most, got, c.cells)
		}
		if got := Prefix(c.text, c.most); got != c.bytes {
			t.Errorf("Prefix(%q, %d): %q, want %q", c.text, c.most, got, c.bytes)
		}
	}
	if got := Suffix("日本語", 4); got != "語" {
		t.Errorf("Suffix: %q", got)
	}
	if got := Cells("日本語 abc e\u0301"); got != 12 {
		t.Errorf("Cells: %d", got)
	}
}

// FuzzSafe: what is made safe once stays as it is, is UTF-8, and has nothing in it that is not seen.
func FuzzSafe(f *testing.F) {
	for _, seed := range []string{"a\u202eb", "\x1b[31mx", "\x1b\x1b[31m]x\a", "日\u200d\ufe0f", "\xff\r\n\r", "👩\u200d💻",
		"\r\r\n"} {
		f.Add(seed, 3)
	}
	f.Fuzz(func(t *testing.T, s string, most int) {
		for name, safe := range map[string]func(string) string{"Visible": Visible, "ForRecord": ForRecord,
			"Line": func(s string) string { return Line(s, max(0, most%1000)) }} {
			out := safe(s)
			if !utf8.ValidString(out) || strings.ContainsFunc(out, hiding) {
				t.Errorf("%s(%q): %q", name, s, out)
			}
			if again := safe(out); again != out && name != "Line" {
				t.Errorf("%s(%q): %q, and then %q", name, s, out, again)
			}
		}
		if got := Line(s, max(0, most%1000)); utf8.RuneCountInString(got) > max(0, most%1000) || strings.Contains(got, "\n") {
			t.Errorf("a line of %d: %q", most%1000, got)
		}
		if p := Prefix(s, most%64); len(p) > max(0, most%64) || !strings.HasPrefix(s, p) || utf8.ValidString(s) &&
			!utf8.ValidString(p) {
			t.Errorf("a prefix of %d of %q: %q", most%64, s, p)
		}
		if p := ShortenCells(s, most%64); utf8.ValidString(s) && Cells(p) > max(0, most%64) {
			t.Errorf("%d cells of %q: %q", most%64, s, p)
		}
	})
}

func hiding(r rune) bool {
	return r != '\n' && r != '\t' && r != '\u200c' && r != '\u200d' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co,
		unicode.Zl, unicode.Zp)
}
