package wire

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"hako/internal/text"
	"hako/llm"
	"hako/quota"
	"hako/run/fault"
)

// MaxCalls is how many calls a turn may make. More come from a hostile server, not from a model.
const MaxCalls = 256

// TooManyCalls is the error of an answer that makes more than MaxCalls.
func (p *Service) TooManyCalls() error {
	return p.fault(fault.TooLarge, fmt.Sprintf("the answer makes more than %d calls", MaxCalls),
		"ask again, for less at once")
}

// Identify cleans the names and ids of the new calls of a dialog, and gives them ids of their own where the server gave
// none, or one that was used before. Results are matched to calls by id, so two calls with the same one would get each
// other's results.
func Identify(d *llm.Dialog, calls []llm.Call) {
	if len(calls) == 0 {
		return
	}
	taken, made := map[string]bool{"": true}, 0
	for i := range d.Items {
		for _, c := range d.Items[i].Calls {
			taken[c.ID] = true
			made++
		}
	}
	for i := range calls {
		c := &calls[i]
		c.Name, c.ID = Name(c.Name), Name(c.ID)
		for taken[c.ID] {
			made++
			c.ID = "call_" + strconv.Itoa(made)
		}
		taken[c.ID] = true
	}
}

// maxName is the longest name or id that is kept, in bytes.
const maxName = 200

// Name makes a name or an id that a server sent fit to be shown, logged and sent again: characters that cannot be seen
// would let it pass for another one, and a huge one would fill every list that it is in.
func Name(s string) string {
	s = text.Visible(text.Prefix(s, 8*maxName)) // the rest cannot matter, and may be megabytes
	return text.Prefix(strings.Join(strings.Fields(strings.ReplaceAll(s, "\ufffd", "")), " "), maxName)
}

// maxCount is what any larger count is taken for, so that sums stay numbers.
const maxCount = 1e9

// Count is a number of tokens as a server reports it, from 0 to 1e9. A negative number, or none at all, is zero.
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

// Usage returns the tokens that a turn took. What the server did not count is estimated, from the dialog that was sent
// and from received, the estimate of what came back. Cached tokens are taken out of the input.
func Usage(d *llm.Dialog, input, cached, output Count, received int64) (u quota.Usage) {
	u.Cached = int64(min(cached, input))
	u.Input, u.Output = int64(input)-u.Cached, int64(output)
	if input == 0 {
		u.Input = min(d.Weight(), maxCount)
	}
	if output == 0 {
		u.Output = min(received, maxCount)
	}
	return u
}

// LenientString is a text that servers spell in several ways: as a string, as null or not at all for an empty one, or
// as the JSON that the string should have held.
type LenientString string

// UnmarshalJSON implements json.Unmarshaler.
func (l *LenientString) UnmarshalJSON(data []byte) error {
	switch {
	case string(data) == "null":
		return nil
	case data[0] != '"':
		*l = LenientString(data)
		return nil
	}
	var s string
	err := json.Unmarshal(data, &s)
	*l = LenientString(s)
	return err
}
