package speech

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"hako/internal/testload"
)

func TestSpeakable(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"plain", "こんにちは。", "こんにちは。"},
		{"nothing", " \n\t", ""},
		{"marks only", "---\n***\n。。\n```\nx\n```", ""},
		{"emoji only", "🎉✅", ""},
		{"fence", "前。\n```go\nrm -rf /\n```\n後。", "前。\n後。"},
		{"tilde fence", "a\n~~~\nb\n```\n~~~\nc", "a\nc"},
		{"longer fence", "a\n````\nb\n```\nc\n````\nd", "a\nd"},
		{"open fence", "a\n```\nb\nc", "a"},
		{"code in a line", "`git log` を実行", "git log を実行"},
		{"code with marks", "``a_*b`` c", "a_*b c"},
		{"controls in code", "`a\x1b✅b`", "ab"},
		{"lone quote", "a ` b", "a b"},
		{"heading", "## 結果\n本文", "結果\n本文"},
		{"no heading", "#1 です", "#1 です"},
		{"items", "- 一\n* 二\n+ 三\n- [ ] 四\n- [x] 五\n> > 六", "一\n二\n三\n四\n五\n六"},
		{"number", "1. 一", "1. 一"},
		{"table", "| a | b |\n|---|:-:|\n| 1 | 2 |", "a 、 b\n1 、 2"},
		{"strong", "**太字** と *斜体* と ~~取消~~ と __x__", "太字 と 斜体 と 取消 と x"},
		{"no emphasis", "3 * 4, snake_case_name, 2*3, ~5分", "3 * 4, snake_case_name, 2*3, ~5分"},
		{"link", "[資料](https://example.com/a_(b)?c=d)を見て", "資料を見て"},
		{"link by name", "[資料][1]を", "資料を"},
		{"image", "![図 **1**](x.png)です", "図 1です"},
		{"footnote", "本文[^1]です", "本文です"},
		{"no link", "a[0] と [x]", "a[0] と [x]"},
		{"address", "https://www.example.com:8080/a/b?c=d#e を見て", "www.example.com を見て"},
		{"address in text", "詳細はhttp://example.com/pathです。", "詳細はexample.comです。"},
		{"address at the end", "see https://example.com/a.", "see example.com."},
		{"address with a password", "https://user:secret@example.com/x", "example.com"},
		{"address in brackets", "<https://example.com/x> です", "example.com です"},
		{"html", "a<br>b</b><!-- c -->d", "abd"},
		{"less than", "a < b > c", "a < b > c"},
		{"emoji", "完了✅しました🎉👨‍👩‍👧。1️⃣", "完了しました。1"},
		{"not emoji", "20℃、№1、㈱", "20℃、№1、㈱"},
		{"controls", "a\x1b[31mb\u202ec\x00d", "a[31mbcd"},
		{"escaped", `\*a\* \# b`, "*a* # b"},
		{"broken", "a\xffb", "ab"},
		{"blanks", "a  b　c\td", "a b c d"},
	}
	for _, tt := range tests {
		if got := speakable(tt.text); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestSplit(t *testing.T) {
	tests := []struct {
		name, text string
		most       int
		want       []string
	}{
		{"nothing", "", 10, nil},
		{"short", "一。二。三。", 10, []string{"一。二。三。"}},
		{"sentences", "一二三。四五六。七八九。", 8, []string{"一二三。四五六。", "七八九。"}},
		{"kinds of ends", "a! b? c. d！e？f\ng", 3, []string{"a!", "b?", "c.", "d！", "e？", "f\ng"}},
		{"no ends", "3.14 a.b", 8, []string{"3.14 a.b"}},
		{"dots inside", "v1.2.3は例です。次", 10, []string{"v1.2.3は例です", "。次"}},
		{"closing", "「一二三。」四", 6, []string{"「一二三。」", "四"}},
		{"repeated ends", "あ！！？い", 4, []string{"あ！！？", "い"}},
		{"at a pause", "一二、三四五六七", 5, []string{"一二、", "三四五六七"}},
		{"hard", "一二三四五六七", 3, []string{"一二三", "四五六", "七"}},
		{"nothing to say", "。。。", 2, nil},
	}
	for _, tt := range tests {
		if got := split(tt.text, tt.most); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// A text that is all beginnings must not be read over and over.
func TestSpeakableIsLinear(t *testing.T) {
	for _, part := range []string{"[", "`a``", "<a", "![", "*_", "[a](", "https://"} {
		start := time.Now()
		split(speakable(strings.Repeat(part, 50_000)), maxPiece)
		if took := time.Since(start); took > testload.Bound(5*time.Second) {
			t.Errorf("%s took %v", part, took)
		}
	}
}

func FuzzSpeakable(f *testing.F) {
	for _, seed := range []string{"# a\n```\nb\n```\n**c** [d](e)", "| a |\n|--|", "「一。」https://a.b/c？", "\xff[![]()](",
		"a\\\n\r\u2028<b", "👨‍👩‍👧*_~~"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		plain := speakable(text)
		if !utf8.ValidString(plain) || plain != "" && !hasSound(plain) ||
			strings.ContainsFunc(plain, func(r rune) bool { return r != '\n' && audibleRune(r) != r }) {
			t.Fatalf("%q became %q", text, plain)
		}
		for _, piece := range split(plain, maxPiece) {
			if n := utf8.RuneCountInString(piece); n > maxPiece || !hasSound(piece) {
				t.Fatalf("a piece of %d: %q", n, piece)
			}
		}
		if got, want := voiced(strings.Join(split(plain, 7), "")), voiced(plain); got != want {
			t.Fatalf("%q was split into %q", want, got)
		}
	})
}

// voiced is what of a text has a sound: nothing of it may be lost.
func voiced(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsNumber(r) {
			return r
		}
		return -1
	}, text)
}
