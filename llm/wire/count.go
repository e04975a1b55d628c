package wire

import (
	"math"
	"strconv"

	"hako/llm"
)

// maxCount is what any larger count is taken for, so that sums stay numbers.
const maxCount = 1e9

// Count is a number of tokens as a server tells it, from 0 to 1e9. What is less than nothing, or no number at all,
// counts as not told, which is zero.
type Count int64

// UnmarshalJSON implements json.Unmarshaler. It never fails: an odd count is no reason to lose an answer.
func (c *Count) UnmarshalJSON(data []byte) error {
	n, err := strconv.ParseFloat(string(data), 64)
	if err != nil && !math.IsInf(n, 1) || n < 0 {
		n = 0
	}
	*c = Count(min(n, maxCount))
	return nil
}

// Spent returns the tokens that a turn took. Nothing is free because a server does not count: what it did not tell is
// estimated, from the dialog that was sent and from said, the estimate of what came back. What was cached is taken out
// of the input.
func Spent(d *llm.Dialog, input, cached, output Count, said int64) (fresh, kept, out int64) {
	fresh, out = int64(input), int64(output)
	kept = min(int64(cached), fresh)
	fresh -= kept
	if input == 0 {
		fresh = min(sent(d), maxCount)
	}
	if output == 0 {
		out = min(said, maxCount)
	}
	return fresh, kept, out
}

// sent estimates the tokens of a dialog.
func sent(d *llm.Dialog) int64 {
	n := llm.Estimate(d.System)
	for i := range d.Tools {
		t := &d.Tools[i]
		n += 8 + llm.Estimate(t.Name) + llm.Estimate(t.Text) + int64(len(t.Schema))/4
	}
	for i := range d.Items {
		n += d.Items[i].Weight()
	}
	if d.Format != nil {
		n += int64(len(d.Format.Schema)) / 4
	}
	return n
}
