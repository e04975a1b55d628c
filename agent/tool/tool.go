package tool

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"hako/llm"
	"hako/run/fault"
)

// A Tool is a function that a model can call.
//
// Call gets the arguments as the model wrote them and returns the result for the model. If the text is empty, the model
// reads the error. Call is safe for concurrent use.
type Tool struct {
	llm.Tool
	Call func(ctx context.Context, arguments string) (text string, err error)

	// Stateful means that the same call can have another result later, as reading on does, so that repetitions are
	// expected.
	Stateful bool
}

// New makes a tool of a function. The schema comes from the fields of In: their json names, and their jsonschema tags
// as descriptions; omitempty makes one optional. An argument that In does not have is refused.
func New[In any](name, text string, call func(context.Context, In) (string, error)) Tool {
	schema, raw := schemaOf[In](name)
	return Tool{
		Tool: llm.Tool{Name: name, Text: strings.TrimSpace(text), Schema: raw},
		Call: func(ctx context.Context, arguments string) (string, error) {
			in, err := decode[In](name, schema, arguments)
			if err != nil {
				return "", err
			}
			return call(ctx, in)
		},
	}
}

// schemaOf derives the schema of a tool's arguments. A mistake in the type is a mistake of the program.
func schemaOf[In any](name string) (*jsonschema.Schema, json.RawMessage) {
	schema, err := jsonschema.For[In](nil)
	if err != nil {
		panic("tool " + name + ": " + err.Error())
	}
	raw, err := json.Marshal(schema)
	if err != nil {
		panic("tool " + name + ": " + err.Error())
	}
	return schema, raw
}

// decode decodes arguments strictly, so that a model learns of misspelled names.
func decode[In any](name string, schema *jsonschema.Schema, arguments string) (in In, err error) {
	bad := func(why string) error {
		return &fault.Error{Kind: fault.Invalid, Op: "call " + name, Why: why, Hint: "the arguments are " + signature(schema)}
	}
	var given map[string]json.RawMessage
	if err := json.Unmarshal([]byte(arguments), &given); err != nil {
		return in, bad("the arguments are not a JSON object: " + plain(err))
	}
	for _, want := range schema.Required {
		if _, ok := given[want]; !ok {
			return in, bad(want + " is missing")
		}
	}
	d := json.NewDecoder(bytes.NewReader([]byte(arguments)))
	d.DisallowUnknownFields()
	if err := d.Decode(&in); err != nil {
		return in, bad(plain(err))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return in, bad("there is something after the object")
	}
	return in, nil
}

// plain is the text of an error of encoding/json without Go types.
func plain(err error) string {
	if t, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Sprintf("%s is %s where %s is wanted", cmp.Or(t.Field, "it"), kinds[t.Value], kindOf(t.Type))
	}
	return strings.TrimPrefix(err.Error(), "json: ")
}

// kinds names the JSON types of encoding/json.
var kinds = map[string]string{"string": "a text", "number": "a number", "bool": "true or false", "array": "a list",
	"object": "an object"}

// kindOf names the JSON type of a field.
func kindOf(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a text"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "a list"
	case reflect.Map, reflect.Struct:
		return "an object"
	case reflect.Pointer:
		return kindOf(t.Elem())
	}
	return "a whole number"
}

// signature lists the arguments of a tool: command, start?, size?
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
