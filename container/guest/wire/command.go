package wire

import (
	"encoding/json"
	"strings"
	"time"

	"hako/run/fault"
)

// A CommandRequest is a command as it is sent.
type CommandRequest struct {
	Details
	Dir    string
	Script string
	Args   []string // positional parameters of the script
	Env    []string
}

// Details are the fixed fields of a CommandRequest.
type Details struct {
	Stdin   bool          `json:"stdin,omitempty"`
	Timeout time.Duration `json:"timeout,omitempty"`
}

// fixedWords is the number of words before the arguments: details, directory, script.
const fixedWords = 3

// Frame encodes the request, after some other words.
func (o CommandRequest) Frame(op byte, id uint64, before ...string) Frame {
	f := Frame{Op: op, ID: id, N: uint64(len(o.Args))}
	for _, w := range before {
		f.Words = append(f.Words, []byte(w))
	}
	f.Words = append(f.Words, JSON(o.Details), []byte(o.Dir), []byte(o.Script))
	for _, w := range o.Args {
		f.Words = append(f.Words, []byte(w))
	}
	for _, w := range o.Env {
		f.Words = append(f.Words, []byte(w))
	}
	return f
}

// ReadCommand decodes a request from words, n of which are arguments.
func ReadCommand(words [][]byte, n uint64) (CommandRequest, error) {
	var o CommandRequest
	if len(words) < fixedWords || n > uint64(len(words)-fixedWords) || json.Unmarshal(words[0], &o.Details) != nil ||
		o.Timeout < 0 {
		return o, ErrFrame
	}
	o.Dir, o.Script = string(words[1]), string(words[2])
	for i, w := range words[fixedWords:] {
		if i < int(n) {
			o.Args = append(o.Args, string(w))
		} else {
			o.Env = append(o.Env, string(w))
		}
	}
	return o, o.Check()
}

// Check refuses an invalid request.
func (o CommandRequest) Check() error {
	for _, list := range [][]string{{o.Dir, o.Script}, o.Args, o.Env} {
		for _, w := range list {
			if strings.Contains(w, "\x00") {
				return Refused("", "a word has a NUL byte in it, which no program can be given",
					"pass it by standard input or in a file")
			}
		}
	}
	for _, pair := range o.Env {
		if name, _, is := strings.Cut(pair, "="); !is || name == "" {
			return Refused("", "a variable has no name", "write NAME=value")
		}
	}
	return nil
}

// Refused is the error for an invalid request.
func Refused(subject, why, hint string) error {
	return &fault.Error{Kind: fault.Invalid, Op: "run command", Subject: subject, Why: why, Hint: hint}
}

// Ending is the outcome of a command as it is sent.
type Ending struct {
	Exit     int           `json:"exit"`
	Signal   int           `json:"signal,omitempty"`
	TimedOut bool          `json:"timed_out,omitempty"`
	Duration time.Duration `json:"duration"`

	Note        string `json:"note,omitempty"` // what to say about it
	OutOfMemory bool   `json:"out_of_memory,omitempty"`
	DiskFull    bool   `json:"disk_full,omitempty"`
}
