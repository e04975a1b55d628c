package editor

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"hako/run/fault"
)

// The commands.
const (
	view       = "view"
	create     = "create"
	strReplace = "str_replace"
	insert     = "insert"
	undoEdit   = "undo_edit"
)

// A Call is a call of the tool. Command and Path are required; nil means that an argument is unset, like null in JSON.
type Call struct {
	Command    string  `json:"command"`
	Path       string  `json:"path"`
	ViewRange  []int   `json:"view_range,omitempty"`  // view: first and last line, -1 is the end
	FileText   *string `json:"file_text,omitempty"`   // create
	OldStr     *string `json:"old_str,omitempty"`     // str_replace
	NewStr     *string `json:"new_str,omitempty"`     // str_replace, where nil deletes; insert
	InsertLine *int    `json:"insert_line,omitempty"` // insert: after which line
	InsertText *string `json:"insert_text,omitempty"` // insert
	Match      *int    `json:"match,omitempty"`       // str_replace: which of several
}

// commands lists the commands with their optional and required arguments besides path.
var commands = []struct{ name, takes, needs string }{
	{view, "view_range", ""},
	{create, "file_text", "file_text"},
	{strReplace, "old_str new_str match", "old_str"},
	{insert, "insert_line insert_text new_str", "insert_line insert_text"},
	{undoEdit, "", ""},
}

// An argument is a field of a call.
type argument struct {
	name   string
	target any
	want   string // its type, for messages
	given  bool
	empty  bool // unset or a zero value: some callers send every field
}

func (c *Call) arguments() []argument {
	text := func(name string, p **string) argument {
		return argument{name, p, "a text", *p != nil, *p == nil || **p == ""}
	}
	number := func(name string, p **int) argument {
		return argument{name, p, "a whole number", *p != nil, *p == nil || **p == 0}
	}
	return []argument{
		{"command", &c.Command, "a text", c.Command != "", c.Command == ""},
		{"path", &c.Path, "a text", c.Path != "", c.Path == ""},
		{"view_range", &c.ViewRange, "a list of two whole numbers", c.ViewRange != nil, len(c.ViewRange) == 0},
		text("file_text", &c.FileText), text("old_str", &c.OldStr), text("new_str", &c.NewStr),
		number("insert_line", &c.InsertLine), text("insert_text", &c.InsertText), number("match", &c.Match),
	}
}

// UnmarshalJSON decodes a call strictly, so that callers learn about misspellings.
func (c *Call) UnmarshalJSON(raw []byte) error {
	var fresh Call
	if !utf8.Valid(raw) {
		return badCall("the call is not UTF-8", "")
	}
	if hasHalfSurrogate(raw) {
		return badCall(`a \u escape is half of a character`, "write characters as they are, or both halves of the pair")
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return badCall("the call is not a JSON object", `it looks like {"command": "view", "path": "/…"}`)
	}
	if err := fresh.members(d); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return badCall("there is something after the object", "send one call at a time")
	}
	*c = fresh
	return nil
}

func (c *Call) members(d *json.Decoder) error {
	args := c.arguments()
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return badCall(syntax(err), "")
		}
		name, _ := key.(string) // a key is always a string
		i := slices.IndexFunc(args, func(a argument) bool { return a.name == name })
		switch {
		case i < 0:
			return unknown(name, args)
		case args[i].given:
			return badCall(name+" is given twice", "give it once")
		}
		if err := d.Decode(args[i].target); err != nil {
			return badValue(args[i], err)
		}
		args[i].given = true
	}
	if _, err := d.Token(); err != nil {
		return badCall(syntax(err), "")
	}
	return nil
}

func badCall(why, hint string) error {
	return &fault.Error{Kind: fault.Invalid, Op: "call text_editor", Why: why, Hint: hint}
}

func unknown(name string, args []argument) error {
	var names []string
	for _, a := range args {
		names = append(names, a.name)
	}
	hint := "the arguments are " + strings.Join(names, ", ")
	if near, ok := fault.Nearest(name, names); ok {
		hint = "did you mean " + near + "? " + hint
	}
	return badCall(fmt.Sprintf("there is no argument %q", quote(name)), hint)
}

func badValue(a argument, err error) error {
	var t *json.UnmarshalTypeError
	if errors.As(err, &t) {
		return badCall(a.name+" must be "+a.want, "")
	}
	return badCall(syntax(err), "")
}

func syntax(err error) string {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "the call breaks off"
	}
	return "the call is not JSON: " + err.Error()
}

// hasHalfSurrogate reports whether a JSON text contains half of a surrogate pair, which the decoder would replace by
// another character.
func hasHalfSurrogate(raw []byte) bool {
	for {
		i := bytes.IndexByte(raw, '\\')
		if i < 0 || i+2 > len(raw) {
			return false
		}
		raw = raw[i:]
		r := unicodeEscape(raw)
		switch {
		case !utf16.IsSurrogate(r):
			raw = raw[2:] // the second byte may be a backslash too
		case utf16.DecodeRune(r, unicodeEscape(raw[6:])) == utf8.RuneError:
			return true
		default:
			raw = raw[12:]
		}
	}
}

// unicodeEscape returns the value of a \u escape at the beginning of p, or 0.
func unicodeEscape(p []byte) rune {
	if len(p) < 6 || p[0] != '\\' || p[1] != 'u' {
		return 0
	}
	v, _ := strconv.ParseUint(string(p[2:6]), 16, 16)
	return rune(v)
}

// check rejects incomplete calls and arguments that would be ignored.
func (c *Call) check() error {
	var names []string
	for _, k := range commands {
		if k.name == c.Command {
			return c.checkArguments(k.takes, k.needs)
		}
		names = append(names, k.name)
	}
	hint := "the commands are " + strings.Join(names, ", ")
	if near, ok := fault.Nearest(c.Command, names); ok {
		hint = "did you mean " + near + "? " + hint
	}
	if c.Command == "" {
		return badCall("command is missing", hint)
	}
	return badCall(fmt.Sprintf("there is no command %q", quote(c.Command)), hint)
}

func (c *Call) checkArguments(takes, needs string) error {
	if c.Path == "" {
		return badCall("path is missing", "name a file or a directory by its absolute path")
	}
	if c.Command == insert && c.InsertText == nil {
		needs = strings.Replace(needs, "insert_text", "new_str", 1) // the older name
		if c.NewStr == nil {
			return c.refuse(fault.Invalid, "insert_text is missing", "give the text to insert")
		}
	}
	for _, a := range c.arguments()[2:] {
		takesIt := slices.Contains(strings.Fields(takes), a.name)
		if !takesIt && !a.empty {
			return c.refuse(fault.Invalid, a.name+" does not belong to "+c.Command, "leave it out, or use another command")
		}
		if slices.Contains(strings.Fields(needs), a.name) && !a.given {
			return c.refuse(fault.Invalid, a.name+" is missing", "it must be "+a.want)
		}
	}
	return c.checkInsertText()
}

// checkInsertText rejects two different texts to insert.
func (c *Call) checkInsertText() error {
	if c.Command == insert && c.InsertText != nil && c.NewStr != nil &&
		*c.InsertText != *c.NewStr && *c.InsertText != "" && *c.NewStr != "" {
		return c.refuse(fault.Invalid, "insert_text and new_str differ", "give insert_text alone")
	}
	return nil
}

// inserted returns the text to insert.
func (c *Call) inserted() string {
	if c.InsertText != nil && (*c.InsertText != "" || c.NewStr == nil) {
		return *c.InsertText
	}
	return *c.NewStr
}
