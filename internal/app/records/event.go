// Package records reads the record, the budget and the policy for the HTTP API.
//
// It writes nothing but the index of the record, which can be deleted. The index only says where to look; what is
// shown comes from the record.
package records

import (
	"time"
	"unicode/utf8"

	"hako/audit"
)

// maxText bounds the texts that are shown: a page lists hundreds of events.
const maxText = 8 << 10

// entryOf converts an event.
func entryOf(e *audit.Event) Entry {
	out := Entry{
		Seq: e.Seq, Time: e.Time, ID: e.ID, Actor: e.Actor, What: e.What, Text: shorten(e.About()), Effect: e.Effect,
		Rule:   e.Rule,
		Reason: shorten(e.Reason), Error: shorten(e.Error), Micros: e.Micros, Bytes: e.Bytes, Tokens: e.Tokens, Cost: e.Cost,
	}
	if e.What == audit.Ended || e.Exit != 0 {
		exit := e.Exit
		out.Exit = &exit
	}
	return out
}

func shorten(s string) string {
	if len(s) <= maxText {
		return s
	}
	n := maxText
	for !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// now returns the time of a clock, which may be nil.
func now(clock func() time.Time) time.Time {
	if clock == nil {
		return time.Now()
	}
	return clock()
}
