package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"hako/run/fault"
)

// A toolSpec is a tool with its implementation.
type toolSpec struct {
	*sdk.Tool
	call func(ctx context.Context, v *toolCall) *sdk.CallToolResult
}

// toolHints describe a tool to clients.
type toolHints struct {
	reads       bool // read-only
	destructive bool
	idempotent  bool
	open        bool // reaches beyond the sandbox
}

func (n toolHints) annotations(title string) *sdk.ToolAnnotations {
	return &sdk.ToolAnnotations{Title: title, ReadOnlyHint: n.reads, DestructiveHint: &n.destructive,
		IdempotentHint: n.idempotent || n.reads, OpenWorldHint: &n.open}
}

// newTool makes a tool of a function. Both schemas are derived from In and Out: json names, and jsonschema tags as
// descriptions.
func newTool[In, Out any](name, title, text string, n toolHints,
	call func(ctx context.Context, v *toolCall, in In) *sdk.CallToolResult) *toolSpec {
	takes := schemaOf[In](name)
	return &toolSpec{
		Tool: &sdk.Tool{Name: name, Title: title, Description: text, InputSchema: takes,
			OutputSchema: answerSchema[Out](name), Annotations: n.annotations(title)},
		call: func(ctx context.Context, v *toolCall) *sdk.CallToolResult {
			var in In
			if err := decode(name, takes, v.Params.Arguments, &in); err != nil {
				return failure(err)
			}
			return call(ctx, v, in)
		},
	}
}

// restrict restricts the schema of an argument.
func (o *toolSpec) restrict(name string, narrow func(*jsonschema.Schema)) *toolSpec {
	narrow(o.InputSchema.(*jsonschema.Schema).Properties[name])
	return o
}

func between(low, high float64) func(*jsonschema.Schema) {
	return func(s *jsonschema.Schema) { s.Minimum, s.Maximum = &low, &high }
}

// schemaOf derives a schema.
func schemaOf[T any](name string) *jsonschema.Schema {
	s, err := jsonschema.For[T](nil)
	if err != nil {
		panic("tool " + name + ": " + err.Error())
	}
	return s
}

// answerSchema is the schema of a result: an Out, an error, or both.
func answerSchema[Out any](name string) *jsonschema.Schema {
	s := schemaOf[Out](name)
	s.Properties["error"] = schemaOf[problem](name)
	if !slices.Contains(s.PropertyOrder, "error") {
		s.PropertyOrder = append(s.PropertyOrder, "error")
	}
	s.AnyOf = []*jsonschema.Schema{{Required: s.Required}, {Required: []string{"error"}}}
	s.Required = nil
	return s
}

// decode decodes arguments strictly, so that a model learns about misspellings.
func decode(name string, schema *jsonschema.Schema, raw json.RawMessage, into any) error {
	if len(raw) == 0 || string(raw) == "null" { // some clients send null
		raw = json.RawMessage("{}")
	}
	var given map[string]json.RawMessage
	if err := json.Unmarshal(raw, &given); err != nil {
		return badArguments(name, schema, "the arguments are not a JSON object", "")
	}
	for key := range given {
		if _, ok := schema.Properties[key]; !ok {
			near, _ := fault.Nearest(key, slices.Collect(maps.Keys(schema.Properties)))
			return badArguments(name, schema, fmt.Sprintf("there is no argument %q", short(key)), near)
		}
	}
	for _, want := range schema.Required {
		if value, ok := given[want]; !ok || string(value) == "null" {
			return badArguments(name, schema, want+" is missing", "")
		}
	}
	if err := json.NewDecoder(bytes.NewReader(raw)).Decode(into); err != nil {
		return badArguments(name, schema, jsonError(schema, err), "")
	}
	return nil
}

func badArguments(name string, schema *jsonschema.Schema, why, near string) error {
	hint := "the arguments are " + signature(schema)
	if near != "" {
		hint = "did you mean " + near + "? " + hint
	}
	return &fault.Error{Kind: fault.Invalid, Op: "call " + name, Why: why, Hint: hint}
}

// signature lists the arguments of a tool: sandbox_id, command, start?
func signature(s *jsonschema.Schema) string {
	var names []string
	for _, name := range s.PropertyOrder {
		if !slices.Contains(s.Required, name) {
			name += "?"
		}
		names = append(names, name)
	}
	if names == nil {
		return "none: {}"
	}
	return strings.Join(names, ", ")
}

// jsonError explains an error of encoding/json in terms of the schema.
func jsonError(schema *jsonschema.Schema, err error) string {
	var t *json.UnmarshalTypeError
	if !errors.As(err, &t) {
		return strings.TrimPrefix(err.Error(), "json: ")
	}
	first, _, _ := strings.Cut(t.Field, ".")
	want := "something else"
	if s := schema.Properties[first]; s != nil && first == t.Field {
		want = strings.Join(append(slices.Clone(s.Types), s.Type), " ")
	}
	return fmt.Sprintf("%s is of type %s, and should be %s", t.Field, t.Value, strings.TrimSpace(want))
}

// A problem is a failure for models and programs.
type problem struct {
	Kind      string `json:"kind"`
	Command   string `json:"command,omitempty"`
	Reason    string `json:"reason"`
	Rule      string `json:"rule,omitempty"`
	Hint      string `json:"hint,omitempty"`
	Retryable bool   `json:"retryable" jsonschema:"whether the same call may work another time"`
}

// problemOf converts an error.
func problemOf(err error) *problem {
	var e *fault.Error
	if !errors.As(err, &e) {
		return &problem{Kind: fault.KindOf(err).String(), Reason: err.Error(), Hint: fault.Hint(err)}
	}
	p := &problem{Kind: fault.KindOf(err).String(), Command: e.Subject, Reason: e.Why, Rule: e.Rule, Hint: fault.Hint(err),
		Retryable: fault.KindOf(err) == fault.Unavailable}
	if e.Err != nil {
		p.Reason = strings.TrimPrefix(p.Reason+": "+e.Err.Error(), ": ")
	}
	if p.Reason == "" {
		p.Reason = e.Error()
	}
	return p
}

// failure returns a failure.
func failure(err error) *sdk.CallToolResult {
	res := result(failed{problemOf(err)})
	res.IsError = true
	return res
}

// failed is the result of a tool that failed.
type failed struct {
	Error *problem `json:"error"`
}

// result returns a value as structured content, and as text for clients that only show text.
func result(value any, more ...sdk.Content) *sdk.CallToolResult {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		panic("answer: " + err.Error())
	}
	raw := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	return &sdk.CallToolResult{StructuredContent: json.RawMessage(raw),
		Content: append([]sdk.Content{&sdk.TextContent{Text: string(raw)}}, more...)}
}
