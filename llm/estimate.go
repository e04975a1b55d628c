package llm

import "unicode/utf8"

// Estimate estimates the tokens of a text quickly and on the high side: four bytes of ASCII, or one other character,
// are a token. Package tokens estimates better, and slower.
func Estimate(text string) int64 {
	var ascii, other int64
	for _, r := range text {
		if r < utf8.RuneSelf {
			ascii++
		} else {
			other++
		}
	}
	return (ascii+3)/4 + other
}

// Weight estimates the tokens of a dialog.
func (d *Dialog) Weight() int64 {
	n := d.FixedWeight()
	for i := range d.Items {
		n += d.Items[i].Weight()
	}
	return n
}

// FixedWeight estimates the tokens of a dialog without its items.
func (d *Dialog) FixedWeight() int64 {
	n := Estimate(d.System)
	for i := range d.Tools {
		t := &d.Tools[i]
		n += 8 + Estimate(t.Name) + Estimate(t.Text) + int64(len(t.Schema))/4
	}
	if d.Format != nil {
		n += int64(len(d.Format.Schema)) / 4
	}
	return n
}

// Weight estimates the tokens of an item.
func (it *Item) Weight() int64 {
	n := 4 + Estimate(it.Text) + int64(len(it.Raw))/4
	for _, c := range it.Calls {
		n += 8 + Estimate(c.Name) + Estimate(c.Arguments)
	}
	return n
}
