package llm

import "unicode/utf8"

// Estimate guesses how many tokens a text is, on the high side and in passing: four bytes of ASCII, or one other
// character, make a token. Package tokens estimates better, and slower.
func Estimate(text string) int64 {
	var ascii, other int64
	for i := 0; i < len(text); {
		if text[i] < utf8.RuneSelf {
			ascii++
			i++
			continue
		}
		_, n := utf8.DecodeRuneInString(text[i:])
		other++
		i += n
	}
	return (ascii+3)/4 + other
}

// Weight estimates the tokens of an item.
func (it *Item) Weight() int64 {
	n := 4 + Estimate(it.Text) + int64(len(it.Raw))/4
	for _, c := range it.Calls {
		n += 8 + Estimate(c.Name) + Estimate(c.Arguments)
	}
	return n
}
