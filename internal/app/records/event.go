// Package records shows at the doors what was done and what may be done: the record
// as it is written and as it was, the budget, and the rules.
//
// It reads what every hako process writes and writes nothing but the index of the
// record, which can be thrown away. It draws nothing and asks nobody. The one rule
// to keep: what is shown is what is written; the index only says where to look.
package records

import (
	"time"
	"unicode/utf8"

	"hako/audit"
)

// longest is the most of one text that is shown: a page lists hundreds of events,
// and a live list keeps thousands.
const longest = 8 << 10

// entryOf is an event as the doors show it.
func entryOf(e *audit.Event) Entry {
	out := Entry{
		Seq: e.Seq, Time: e.Time, ID: e.ID, Actor: e.Actor, What: e.What, Text: cut(e.About()), Effect: e.Effect,
		Rule:   e.Rule,
		Reason: cut(e.Reason), Error: cut(e.Error), Micros: e.Micros, Bytes: e.Bytes, Tokens: e.Tokens, Cost: e.Cost,
	}
	if e.What == audit.Ended || e.Exit != 0 {
		exit := e.Exit
		out.Exit = &exit
	}
	return out
}

// cut leaves a text with its beginning.
func cut(s string) string {
	if len(s) <= longest {
		return s
	}
	n := longest
	for !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// now is the time by a clock; nil means that of the system.
func now(clock func() time.Time) time.Time {
	if clock == nil {
		return time.Now()
	}
	return clock()
}
