package wire

import (
	"strconv"

	"hako/internal/llm"
)

// Identify gives the new calls of a dialog ids of their own where the server
// gave none, or one that was used before. Results are matched to calls by id,
// so two calls with the same one would get each other's results.
func Identify(d *llm.Dialog, calls []llm.Call) {
	made := 0
	for i := range d.Items {
		made += len(d.Items[i].Calls)
	}
	for i := range calls {
		for calls[i].ID == "" || taken(d, calls[:i], calls[i].ID) {
			made++
			calls[i].ID = "call_" + strconv.Itoa(made)
		}
	}
}

func taken(d *llm.Dialog, calls []llm.Call, id string) bool {
	for i := range d.Items {
		if has(d.Items[i].Calls, id) {
			return true
		}
	}
	return has(calls, id)
}

func has(calls []llm.Call, id string) bool {
	for i := range calls {
		if calls[i].ID == id {
			return true
		}
	}
	return false
}
