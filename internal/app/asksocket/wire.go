package asksocket

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"hako/gate"
	"hako/internal/text"
	"hako/run/fault"
)

// version is the version of the protocol. Both sides may be of different releases.
const version = 1

// Maximum sizes in bytes. A gate asks about at most 4,000 characters and shows a script of 16 KB.
const (
	maxQuestion = 128 << 10
	maxReply    = 4 << 10

	maxReason = 2000 // characters of a reason
	maxActor  = 200  // characters of an actor
)

// A question is sent by the client, as one line.
type question struct {
	Version int `json:"version"`
	gate.Question
	Wait int64 `json:"wait_ms,omitempty"` // how long the client waits; zero means the limit of the server
}

// A reply is a line to the client. The first one has Taken or an error, the second one the answer or an error.
type reply struct {
	Taken  bool   `json:"taken,omitempty"`
	Answer string `json:"answer,omitempty"` // once, session, deny
	Silent bool   `json:"silent,omitempty"` // nobody answered in time
	Error  string `json:"error,omitempty"`
}

// encodeQuestion encodes a question. Everything but the command is shortened or omitted if it is too long.
func encodeQuestion(q gate.Question, wait time.Duration) ([]byte, error) {
	q.ID, q.Argv = "", nil // not needed, and unknown to older releases
	q.Reason, q.Why = shorten(q.Reason), shorten(q.Why)
	asked := question{Version: version, Question: q, Wait: wait.Milliseconds()}
	line := encode(asked)
	if len(line) > maxQuestion {
		asked.Script = ""
		line = encode(asked)
	}
	if len(line) > maxQuestion {
		return nil, &fault.Error{Kind: fault.TooLarge, Op: "ask",
			Why: fmt.Sprintf("the question has %d bytes, and at most %d can be asked", len(line), maxQuestion)}
	}
	return line, nil
}

func shorten(s string) string { return text.Shorten(s, maxReason) }

func encode(what any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(what)
	return b.Bytes()
}

// readLine reads a bounded line. An empty input is io.EOF.
func readLine(r io.Reader, most int) ([]byte, error) {
	line, err := bufio.NewReader(io.LimitReader(r, int64(most))).ReadBytes('\n')
	switch {
	case err == nil:
		return line, nil
	case err == io.EOF && len(line) == 0:
		return nil, io.EOF
	case len(line) >= most:
		return nil, invalidQuestion(fmt.Sprintf("it has more than %d bytes", most))
	case err == io.EOF:
		return nil, invalidQuestion("it breaks off")
	}
	return nil, invalidQuestion("it did not come in time")
}

// parse parses a question strictly: the person must see everything in it.
func parse(line []byte) (q question, err error) {
	if !utf8.Valid(line) {
		return question{}, invalidQuestion("it is not text")
	}
	if err := decode(line, &q); err != nil {
		return question{}, invalidQuestion("it is not what was expected")
	}
	return q, q.check()
}

// decode decodes a line that is one object with known fields.
func decode(line []byte, to any) error {
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	if err := dec.Decode(to); err != nil {
		return err
	}
	if _, err := dec.Token(); err != io.EOF {
		return io.ErrUnexpectedEOF
	}
	return nil
}

func (q question) check() error {
	switch {
	case q.Version != version:
		return invalidQuestion(fmt.Sprintf("it is of version %d, and hako serve understands %d: one of them is of another release",
			q.Version, version))
	case strings.TrimSpace(q.Command) == "":
		return invalidQuestion("it is about nothing")
	case q.Wait < 0 || q.Wait > int64(maxWait/time.Millisecond):
		return invalidQuestion("nobody waits for so long")
	case q.Actor == "" || utf8.RuneCountInString(q.Actor) > maxActor || strings.ContainsFunc(q.Actor, unprintable):
		return invalidQuestion("it does not say properly who asks")
	}
	return nil
}

// maxWait is the maximum of [question.Wait].
const maxWait = 30 * 24 * time.Hour

func unprintable(r rune) bool { return !unicode.IsPrint(r) }

func invalidQuestion(why string) error {
	return &fault.Error{Kind: fault.Invalid, Op: "read question", Why: why}
}

// withProcess adds the process ID to the actor.
func (q question) withProcess(pid int) gate.Question {
	if pid > 0 {
		q.Actor = fmt.Sprintf("%s (process %d)", q.Actor, pid)
	}
	return q.Question
}
