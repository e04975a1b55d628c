package replay

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"time"

	"hako/llm"
	"hako/quota"
	"hako/run/fault"
)

// longest is the length of the longest line.
const longest = 64 << 20

// A scriptLine is a turn in a file.
type scriptLine struct {
	Text   string          `json:"text,omitempty"`
	Pieces []string        `json:"pieces,omitempty"`
	Calls  []call          `json:"calls,omitempty"`
	Usage  usage           `json:"usage,omitzero"`
	Model  string          `json:"model,omitempty"`
	Cut    string          `json:"cut,omitempty"`
	Raw    json.RawMessage `json:"raw,omitempty"`
	Source string          `json:"source,omitempty"`
	Error  *refusal        `json:"error,omitempty"`
	Delay  int64           `json:"delay_ms,omitempty"`
	Expect string          `json:"expect,omitempty"`
}

type call struct {
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
}

type usage struct {
	Input  int64 `json:"input_tokens"`
	Cached int64 `json:"cached_tokens"`
	Output int64 `json:"output_tokens"`
}

type refusal struct {
	Status  int    `json:"status,omitempty"`
	Code    string `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
	After   int64  `json:"after_ms,omitempty"`
	Retry   bool   `json:"retry,omitempty"`
	Why     string `json:"why,omitempty"`
	Hint    string `json:"hint,omitempty"`
}

// fields are the names above, for hints on misspelled ones.
var fields = strings.Fields(`text pieces calls usage model cut raw source error delay_ms expect id name arguments
	input_tokens cached_tokens output_tokens status code message after_ms retry why hint`)

// Parse parses a script. If r has a name, as a file has, errors contain it.
func Parse(r io.Reader) (*Script, error) {
	s := new(Script)
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, longest)
	p := newParser()
	n := 0
	for lines.Scan() {
		n++
		text := bytes.TrimSpace(lines.Bytes())
		if len(text) == 0 || text[0] == '#' {
			continue
		}
		st, err := p.parse(text)
		if err != nil {
			return nil, misread(r, n, err)
		}
		s.steps = append(s.steps, st)
	}
	if err := lines.Err(); err != nil {
		return nil, misread(r, n+1, err)
	}
	s.nameCalls()
	return s, nil
}

// misread is the error for a line of a script, with a hint on what was likely meant.
func misread(r io.Reader, n int, err error) error {
	e := &fault.Error{Kind: fault.Invalid, Op: "read script", Subject: "line " + strconv.Itoa(n), Why: plain(err)}
	if named, ok := r.(interface{ Name() string }); ok {
		e.Subject = fmt.Sprintf("%s:%d", named.Name(), n)
	}
	if _, field, ok := strings.Cut(err.Error(), "unknown field "); ok {
		if near, ok := fault.Nearest(strings.Trim(field, `"`), fields); ok {
			e.Hint = "did you mean " + near + "?"
		}
	}
	if errors.Is(err, bufio.ErrTooLong) {
		e.Kind, e.Why = fault.TooLarge, "the line is longer than 64 MB"
	}
	return e
}

// plain is the text of an error of encoding/json without Go types.
func plain(err error) string {
	var t *json.UnmarshalTypeError
	switch {
	case errors.As(err, &t):
		return fmt.Sprintf("%s cannot be a %s", t.Field, t.Value)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "the line ends in the middle of a turn"
	}
	return strings.TrimPrefix(err.Error(), "json: ")
}

// A parser parses lines with one decoder, which is cheaper than one for each line.
type parser struct {
	text    bytes.Reader
	decoder *json.Decoder
	line    scriptLine
}

func newParser() *parser {
	p := new(parser)
	p.decoder = json.NewDecoder(&p.text)
	p.decoder.DisallowUnknownFields()
	return p
}

// parse parses one line. After an error the parser cannot be used again.
func (p *parser) parse(text []byte) (step, error) {
	if text[0] != '{' {
		return step{}, errNoTurn
	}
	p.text.Reset(text)
	p.line = scriptLine{}
	begin := p.decoder.InputOffset()
	if err := p.decoder.Decode(&p.line); err != nil {
		return step{}, err
	}
	if p.decoder.InputOffset()-begin != int64(len(text)) {
		return step{}, errors.New("there is something after the turn")
	}
	if err := p.line.check(); err != nil {
		return step{}, err
	}
	return p.line.step()
}

var errNoTurn = errors.New("a turn is an object in braces")

// check refuses what no model could have returned.
func (l *scriptLine) check() error {
	u := l.Usage
	switch {
	case l.Text != "" && l.Pieces != nil:
		return errors.New("a turn has text or pieces, not both")
	case l.Cut != "" && l.Cut != "length" && l.Cut != "content_filter":
		return fmt.Errorf("cut is length or content_filter, not %q", l.Cut)
	case u.Input < 0 || u.Cached < 0 || u.Output < 0:
		return errors.New("usage cannot be below zero")
	case l.Delay < 0 || l.Error != nil && l.Error.After < 0:
		return errors.New("a time cannot be below zero")
	case l.Error != nil && (l.Calls != nil || l.Cut != ""):
		return errors.New("a turn with an error has no calls and no cut")
	}
	return nil
}

// step converts the line to a turn or a refusal.
func (l *scriptLine) step() (step, error) {
	l.Model = cmp.Or(l.Model, "script")
	st := step{pieces: l.Pieces, delay: time.Duration(l.Delay) * time.Millisecond, turn: llm.Turn{
		Text: l.Text, Model: l.Model, Cut: l.Cut, Source: l.Source,
		Usage: quota.Usage{Input: l.Usage.Input, Cached: l.Usage.Cached, Output: l.Usage.Output},
	}}
	if l.Pieces != nil {
		st.turn.Text = strings.Join(l.Pieces, "")
	}
	if string(l.Raw) != "null" {
		st.turn.Raw = l.Raw
	}
	if l.Error != nil {
		st.err = l.Error.fault(l.Model)
	}
	var err error
	if st.turn.Calls, err = calls(l.Calls); err != nil {
		return step{}, err
	}
	if l.Expect != "" {
		st.expect, err = regexp.Compile(l.Expect)
	}
	return st, err
}

func (r *refusal) fault(model string) error {
	return llm.Refuse(model, cmp.Or(r.Why, "the script refuses"), r.Hint, &llm.Refusal{
		Status: r.Status, Code: r.Code, Message: r.Message, Retry: r.Retry, After: time.Duration(r.After) * time.Millisecond,
	})
}

func calls(written []call) (calls []llm.Call, err error) {
	if len(written) > 0 {
		calls = make([]llm.Call, len(written))
	}
	for i, w := range written {
		if w.Name == "" {
			return nil, errors.New("a call has no name")
		}
		calls[i] = llm.Call{ID: w.ID, Name: w.Name}
		if calls[i].Arguments, err = arguments(w.Arguments); err != nil {
			return nil, err
		}
	}
	return calls, nil
}

// arguments returns the arguments of a call: an object as it is in the script, a string decoded.
func arguments(written json.RawMessage) (text string, err error) {
	switch {
	case len(written) == 0 || string(written) == "null":
		return "{}", nil
	case written[0] == '{':
		return string(written), nil
	case written[0] != '"':
		return "", errors.New("arguments are an object, or a string to pass on as it stands")
	}
	if err := json.Unmarshal(written, &text); err != nil {
		return "", err
	}
	return cmp.Or(text, "{}"), nil // as a provider does
}

// nameCalls generates missing ids: call_1, call_2, and so on, but none that is in the script.
func (s *Script) nameCalls() {
	taken := make(map[string]bool)
	for _, st := range s.steps {
		for _, c := range st.turn.Calls {
			taken[c.ID] = true
		}
	}
	n := 0
	for _, st := range s.steps {
		for i := range st.turn.Calls {
			for c := &st.turn.Calls[i]; c.ID == ""; {
				n++
				if id := "call_" + strconv.Itoa(n); !taken[id] {
					c.ID = id
				}
			}
		}
	}
}
