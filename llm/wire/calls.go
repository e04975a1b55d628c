package wire

import (
	"fmt"
	"strconv"

	"hako/llm"
	"hako/run/fault"
)

// MaxCalls is how many calls a turn may make. More is no wish of a model but a server that wants to keep us busy.
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
