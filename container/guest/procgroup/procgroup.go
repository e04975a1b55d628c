// Package procgroup starts programs, collects whatever ends, and can end all that
// came of one of them, even what has run away from its parents.
//
// Every program gets a session of its own and a mark that its descendants
// inherit and cannot take off: one more group, if we may give it, or else a
// variable in the environment, which a program can take off. Not inside: what is
// started, and what becomes of its output. The one rule to keep: the process a
// nursery lives in starts nothing by other means, because the nursery collects
// every child there is.
package procgroup

import (
	"os"
	"time"
)

// Options say how programs are started.
type Options struct {
	UID int // whom programs run as; zero means whom we run as
	GID int // their group; zero means the number of the user
}

// A Program is what to start. It gets three files and nothing else of ours.
type Program struct {
	Path  string   // of the executable; with a slash in it
	Argv  []string // with the name
	Env   []string
	Dir   string
	Stdin bool // false means that its standard input is empty
}

// An Ending is how a program ended.
type Ending struct {
	Exit   int           // its status, or 128 and the number of the signal that ended it
	Signal int           // that signal, or zero
	After  time.Duration // how long it ran
}

// Pipes are our ends of the files of a program. They are the caller's to close.
type Pipes struct {
	Stdin          *os.File // nil if there is none
	Stdout, Stderr *os.File
}
