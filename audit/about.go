package audit

import "strings"

// About is what an event is about, in one text: the tool and its arguments, the
// model, the script, the words of a command or the path of a file. It is empty
// for an event that only tells how its request goes on.
func (e *Event) About() string {
	switch {
	case e.What == Called:
		return strings.TrimSpace(e.Path + " " + e.Script)
	case e.What == Answered:
		return e.Path
	case e.Provider != "":
		return e.Provider
	case e.Script != "":
		return e.Script
	case len(e.Argv) > 0 && e.Mode == "network":
		return strings.Join(e.Argv, " ") + " " + e.Path
	case len(e.Argv) > 0:
		return strings.Join(e.Argv, " ")
	}
	return e.Path
}

// Times is how many things the event stands for.
func (e *Event) Times() int64 { return max(e.Count, 1) }
