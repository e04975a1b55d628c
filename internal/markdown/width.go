package markdown

import (
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

const (
	joiner = 0x200d // zero width joiner of emoji
	emoji  = 0xfe0f // variation selector for the wide form of the character before
)

// columns says how wide r is on a terminal by itself: none, one or two.
func columns(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case r >= 0x3041 && r <= 0x3096, r >= 0x30a1 && r <= 0x30ff, r >= 0x4e00 && r <= 0x9fff, r >= 0xac00 && r <= 0xd7a3:
		return 2 // fast path for kana, han and hangul
	case r >= 0x1160 && r <= 0x11ff: // jamo that join the one before
		return 0
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	}
	if k := width.LookupRune(r).Kind(); k == width.EastAsianWide || k == width.EastAsianFullwidth {
		return 2
	}
	return 1
}

// columnsAfter returns how many columns r adds after prev, which is prevWidth wide: parts of one emoji share their
// columns.
func columnsAfter(prev rune, prevWidth int, r rune) int {
	switch {
	case prev == joiner && r >= 0x2190:
		return 0
	case r == emoji && prevWidth == 1:
		return 1
	case r >= 0x1f3fb && r <= 0x1f3ff && prevWidth == 2: // a tone of skin
		return 0
	}
	return columns(r)
}

// beginsNone reports whether no line may begin with r.
func beginsNone(r rune) bool {
	return strings.ContainsRune(`、。，．・：；？！゛゜ヽヾゝゞ々ー〜～％…‥）］｝〕〉》」』】〙〗〟’”｠»｡､｣･ｰぁぃぅぇぉっゃゅょゎゕゖ`+
		`ァィゥェォッャュョヮヵヶ,.!?:;)]}%'"`, r)
}

// endsNone reports whether no line may end with r.
func endsNone(r rune) bool {
	return strings.ContainsRune(`（［｛〔〈《「『【〘〖〝‘“｟«｢([{`, r)
}

// mayBreak reports whether a line may be wrapped between a and b, which no space separates: only beside wide
// characters.
func mayBreak(a rune, aWidth int, b rune, bWidth int) bool {
	if bWidth == 0 || a == joiner || aWidth != 2 && bWidth != 2 {
		return false
	}
	return !beginsNone(b) && !endsNone(a)
}

// dense reports whether r belongs to a script without spaces between words: there the end of a source line is not
// rendered.
func dense(r rune) bool {
	return r >= 0x2e80 && columns(r) == 2 && !unicode.Is(unicode.Hangul, r) && r < 0x1f000
}
