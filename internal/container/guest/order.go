package guest

import (
	"encoding/json"
	"io"
	"time"

	"hako/internal/fault"
)

// A Command is what to run. Either Argv or Script says what; Argv goes first.
type Command struct {
	Argv   []string // a program and its arguments, without any shell
	Script string   // for the container's own shell: bash if there is one, else sh
	Args   []string // positional parameters of Script

	Dir     string        // where; relative to the guest's directory; empty means that one
	Env     []string      // NAME=value, added to what the container has
	Timeout time.Duration // after which the command and all that came of it is ended; zero means never
	Limits  Limits

	Stdin          io.Reader // nil means empty
	Stdout, Stderr io.Writer // nil means discard
}

// Limits bound what each process of a command may use. Zero means no bound.
type Limits struct {
	CPU      time.Duration `json:"cpu,omitempty"`       // in whole seconds, rounded up
	Memory   int64         `json:"memory,omitempty"`    // bytes of address space
	Files    int64         `json:"files,omitempty"`     // open at the same time
	FileSize int64         `json:"file_size,omitempty"` // bytes of a file that it writes
}

// A Result is what came of a command.
type Result struct {
	// Exit is the status of the command, or 128 and the number of the signal
	// that ended it: 127 for one that was not found, 126 for one that could
	// not be started, -1 for one whose time ran out.
	Exit     int
	Signal   int // the signal that ended it, or zero
	TimedOut bool
	Note     string // what to say about a command whose time ran out
	Duration time.Duration
	Bytes    int64 // of both streams, as they were passed on
}

// An order is a command on its way.
type order struct {
	details
	dir    string
	script string
	words  []string // the program and its arguments, or those of the script
	env    []string
}

type details struct {
	IsScript bool          `json:"script,omitempty"`
	Stdin    bool          `json:"stdin,omitempty"`
	Timeout  time.Duration `json:"timeout,omitempty"`
	Limits   Limits        `json:"limits,omitzero"`
}

func (c Command) order() order {
	o := order{details: details{Stdin: c.Stdin != nil, Timeout: c.Timeout, Limits: c.Limits}, dir: c.Dir, words: c.Argv, env: c.Env}
	if len(c.Argv) == 0 {
		o.IsScript, o.script, o.words = true, c.Script, c.Args
	}
	return o
}

// fixedWords come before those of the command: details, directory, script.
const fixedWords = 3

// frame packs the order; before are words that come first.
func (o order) frame(op byte, id uint64, before ...string) frame {
	f := frame{op: op, id: id, n: uint64(len(o.words))}
	for _, w := range before {
		f.words = append(f.words, []byte(w))
	}
	f.words = append(f.words, asJSON(o.details), []byte(o.dir), []byte(o.script))
	for _, w := range o.words {
		f.words = append(f.words, []byte(w))
	}
	for _, w := range o.env {
		f.words = append(f.words, []byte(w))
	}
	return f
}

// readOrder unpacks an order from its words, n of which are the command's.
func readOrder(words [][]byte, n uint64) (order, error) {
	var o order
	if len(words) < fixedWords || n > uint64(len(words)-fixedWords) || json.Unmarshal(words[0], &o.details) != nil || o.Timeout < 0 {
		return o, errFrame
	}
	o.dir, o.script = string(words[1]), string(words[2])
	for i, w := range words[fixedWords:] {
		if i < int(n) {
			o.words = append(o.words, string(w))
		} else {
			o.env = append(o.env, string(w))
		}
	}
	return o, o.check()
}

// check refuses what the system could only misunderstand.
func (o order) check() error {
	if !o.IsScript && (len(o.words) == 0 || o.words[0] == "") {
		return refused("", "there is no command", "name a program, or give a script")
	}
	l := o.Limits
	if l.CPU < 0 || l.Memory < 0 || l.Files < 0 || l.FileSize < 0 {
		return refused("", "a limit is below zero", "leave it out for none")
	}
	for _, list := range [][]string{{o.dir, o.script}, o.words, o.env} {
		for _, w := range list {
			if hasNUL(w) {
				return refused("", "a word has a NUL byte in it, which no program can be given", "pass it by standard input or in a file")
			}
		}
	}
	for _, pair := range o.env {
		if name(pair) == "" {
			return refused("", "a variable has no name", "write NAME=value")
		}
	}
	return nil
}

func refused(subject, why, hint string) error {
	return &fault.Error{Kind: fault.Invalid, Op: "run command", Subject: subject, Why: why, Hint: hint}
}

func hasNUL(s string) bool {
	for i := range len(s) {
		if s[i] == 0 {
			return true
		}
	}
	return false
}

// ending is how the guest tells what came of a command.
type ending struct {
	Exit     int           `json:"exit"`
	Signal   int           `json:"signal,omitempty"`
	TimedOut bool          `json:"timed_out,omitempty"`
	Duration time.Duration `json:"duration"`
}
