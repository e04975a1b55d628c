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
	Words  []string // the program and its arguments, or those of the script
	Env    []string
}

// Details are the fixed fields of a CommandRequest.
type Details struct {
	IsScript bool          `json:"script,omitempty"`
	Stdin    bool          `json:"stdin,omitempty"`
	Timeout  time.Duration `json:"timeout,omitempty"`
}

// fixedWords is the number of words before those of the command: details, directory, script.
const fixedWords = 3

// Frame encodes the request, after some other words.
func (o CommandRequest) Frame(op byte, id uint64, before ...string) Frame {
	f := Frame{Op: op, ID: id, N: uint64(len(o.Words))}
	for _, w := range before {
		f.Words = append(f.Words, []byte(w))
	}
	f.Words = append(f.Words, JSON(o.Details), []byte(o.Dir), []byte(o.Script))
	for _, w := range o.Words {
		f.Words = append(f.Words, []byte(w))
	}
	for _, w := range o.Env {
		f.Words = append(f.Words, []byte(w))
	}
	return f
}

// ReadCommand decodes a request from words, n of which are the command's.
func ReadCommand(words [][]byte, n uint64) (CommandRequest, error) {
	var o CommandRequest
	if len(words) < fixedWords || n > uint64(len(words)-fixedWords) || json.Unmarshal(words[0], &o.Details) != nil ||
		o.Timeout < 0 {
		return o, ErrFrame
	}
	o.Dir, o.Script = string(words[1]), string(words[2])
	for i, w := range words[fixedWords:] {
		if i < int(n) {
			o.Words = append(o.Words, string(w))
		} else {
			o.Env = append(o.Env, string(w))
		}
	}
	return o, o.Check()
}

// Check refuses an invalid request.
func (o CommandRequest) Check() error {
	if !o.IsScript && (len(o.Words) == 0 || o.Words[0] == "") {
		return Refused("", "there is no command", "name a program, or give a script")
	}
	for _, list := range [][]string{{o.Dir, o.Script}, o.Words, o.Env} {
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

// Text returns the command for display.
func (o CommandRequest) Text() string {
	if o.IsScript {
		return o.Script
	}
	return strings.Join(o.Words, " ")
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
