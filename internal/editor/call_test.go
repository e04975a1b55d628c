package editor

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

func TestStrictCalls(t *testing.T) {
	e := &Editor{}
	for raw, want := range map[string]string{
		``: "call text_editor: the call is not a JSON object\n" +
			`it looks like {"command": "view", "path": "/…"}`,
		`[]`: "call text_editor: the call is not a JSON object\n" +
			`it looks like {"command": "view", "path": "/…"}`,
		`{"command":"view"`:      "call text_editor: the call breaks off",
		`{"command":"vi`:         "call text_editor: the call breaks off",
		`{"command":"view"} {}`:  "call text_editor: there is something after the object\nsend one call at a time",
		`{"path":"/a","path":1}`: "call text_editor: path is given twice\ngive it once",
		`{"Path":"/a"}`: `call text_editor: there is no argument "Path"` + "\ndid you mean path? " +
			argumentNames,
		`{"old_string":"/a"}`: `call text_editor: there is no argument "old_string"` +
			"\ndid you mean old_str? " + argumentNames,
		`{"sudo":true}`:        `call text_editor: there is no argument "sudo"` + "\n" + argumentNames,
		`{"insert_line":"3"}`:  "call text_editor: insert_line must be a whole number",
		`{"insert_line":1.5}`:  "call text_editor: insert_line must be a whole number",
		`{"view_range":"1,2"}`: "call text_editor: view_range must be a list of two whole numbers",
		`{"path":["/a"]}`:      "call text_editor: path must be a text",
		"{\"path\":\"\xff\"}":  "call text_editor: the call is not UTF-8",
		`{"path":"\ud83d"}`: `call text_editor: a \u escape is half of a character` +
			"\nwrite characters as they are, or both halves of the pair",
		`{"path":"\ude00\ud83d"}`: `call text_editor: a \u escape is half of a character` +
			"\nwrite characters as they are, or both halves of the pair",
		`{"path":"\\\ud83d"}`: `call text_editor: a \u escape is half of a character` +
			"\nwrite characters as they are, or both halves of the pair",
		`{}`:               "call text_editor: command is missing\n" + commandNames,
		`{"command":null}`: "call text_editor: command is missing\n" + commandNames,
		`{"command":"veiw"}`: `call text_editor: there is no command "veiw"` + "\ndid you mean view? " +
			commandNames,
		`{"command":"view"}`:                                                               "call text_editor: path is missing\nname a file or a directory by its absolute path",
		`{"command":"create","path":"/a"}`:                                                 "create /a: file_text is missing\nit must be a text",
		`{"command":"create","path":"/a","file_text":null}`:                                "create /a: file_text is missing\nit must be a text",
		`{"command":"str_replace","path":"/a","new_str":"x"}`:                              "str_replace /a: old_str is missing\nit must be a text",
		`{"command":"insert","path":"/a","insert_text":"x"}`:                               "insert /a: insert_line is missing\nit must be a whole number",
		`{"command":"insert","path":"/a","insert_line":0}`:                                 "insert /a: insert_text is missing\ngive the text to insert",
		`{"command":"insert","path":"/a","insert_line":0,"insert_text":"x","new_str":"y"}`: "insert /a: insert_text and new_str differ\ngive insert_text alone",
		`{"command":"view","path":"/a","file_text":"x"}`:                                   "view /a: file_text does not belong to view\nleave it out, or use another command",
		`{"command":"str_replace","path":"/a","old_str":"x","insert_text":"y"}`:            "str_replace /a: insert_text does not belong to str_replace\nleave it out, or use another command",
	} {
		if r := e.Answer(context.Background(), []byte(raw)); r.Success || r.Error != want {
			t.Errorf("%s:\n got %s\nwant %s", raw, r.Error, want)
		}
	}
}

const (
	argumentNames = "the arguments are command, path, view_range, file_text, old_str, new_str, insert_line, insert_text, match"
	commandNames  = "the commands are view, create, str_replace, insert, undo_edit"
)

// Some callers send every argument there is, empty or null.
func TestEmptyArguments(t *testing.T) {
	b := newBench(t)
	b.write("a.txt", "x\n")
	fill := []any{"view_range", []int{}, "file_text", "", "old_str", "", "new_str", nil, "insert_line", 0, "insert_text",
		nil, "match", 0}
	if got := b.ok("view", "a.txt", fill...); got != "     1\tx\n" {
		t.Errorf("got %q", got)
	}
	b.ok("insert", "a.txt", append(fill, "insert_text", "", "new_str", "y")...)
	b.wantFile("a.txt", "y\nx\n")
	b.ok("insert", "a.txt", append(fill, "insert_text", "z", "new_str", "")...)
	b.wantFile("a.txt", "z\ny\nx\n")
}

func TestEscapedPairs(t *testing.T) {
	var c Call
	must(t, json.Unmarshal([]byte(`{"command":"create","path":"/\ud83d\ude00","file_text":"\\ud83d \u3042"}`), &c))
	if c.Path != "/😀" || *c.FileText != `\ud83d あ` {
		t.Errorf("got %q %q", c.Path, *c.FileText)
	}
}

func TestCallSurvivesTheWire(t *testing.T) {
	line, text := 0, ""
	raw, err := json.Marshal(Call{Command: "insert", Path: "/a", InsertLine: &line, InsertText: &text})
	must(t, err)
	if want := `{"command":"insert","path":"/a","insert_line":0,"insert_text":""}`; string(raw) != want {
		t.Errorf("got %s", raw)
	}
}

// The schema tells callers what the decoder and the commands really take.
func TestDefinition(t *testing.T) {
	def := Definition()
	if def.Name != "text_editor" || strings.Contains(string(def.Schema), "\n") {
		t.Errorf("got %s %s", def.Name, def.Schema)
	}
	var s jsonschema.Schema
	must(t, json.Unmarshal(def.Schema, &s))
	var c Call
	for _, a := range c.arguments() {
		if s.Properties[a.name] == nil || s.Properties[a.name].Description == "" {
			t.Errorf("the schema does not describe %s", a.name)
		}
		if a.name != "path" && a.name != "command" && !strings.Contains(def.Text, "`"+a.name+"`") {
			t.Errorf("the text does not name %s", a.name)
		}
	}
	if len(s.Properties) != len(c.arguments()) || !slices.Equal(s.Required, []string{"command", "path"}) {
		t.Errorf("the schema has %d properties and requires %v", len(s.Properties), s.Required)
	}
	for i, k := range commands {
		if s.Properties["command"].Enum[i] != k.name || !strings.Contains(def.Text, "`"+k.name+"`") {
			t.Errorf("%s is not described", k.name)
		}
	}
	resolved, err := s.Resolve(nil)
	must(t, err)
	if err := resolved.Validate(map[string]any{"command": "view", "path": "/a", "sudo": true}); err == nil {
		t.Error("the schema lets unknown arguments through")
	}
	must(t, resolved.Validate(map[string]any{"command": "view", "path": "/a", "view_range": []any{1, -1}}))
}
