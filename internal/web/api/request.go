package api

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"hako/run/fault"
)

// A call is a request that passed the checks.
type call struct {
	*http.Request
	w        http.ResponseWriter
	route    *route
	identity identity
	query    url.Values
	form     url.Values // nil means that the body is not a form
}

const formType, jsonType = "application/x-www-form-urlencoded", "application/json"

// Fields of a form that are not part of the body.
const csrfField, backField = "csrf", "back"

func invalid(op, subject, why, hint string) error {
	return &fault.Error{Kind: fault.Invalid, Op: op, Subject: subject, Why: why, Hint: hint}
}

// parseQuery refuses unknown parameters: a misspelt filter would show everything.
func (c *call) parseQuery() (err error) {
	if c.query, err = url.ParseQuery(c.URL.RawQuery); err != nil {
		return invalid("read query", c.URL.RawQuery, "it is not well formed", "escape what is not a letter or digit")
	}
	for name, values := range c.query {
		switch {
		case !slices.Contains(c.route.query, name):
			hint := "there are none here"
			if len(c.route.query) > 0 {
				hint = "there are " + strings.Join(c.route.query, ", ")
			}
			return invalid("read query", name, "there is no such parameter", hint)
		case len(values) > 1:
			return invalid("read query", name, "it is given more than once", "give it once")
		}
	}
	return nil
}

// number parses a parameter within bounds.
func (c *call) number(name string, missing, least, most int64) (int64, error) {
	text := c.query.Get(name)
	if text == "" {
		return missing, nil
	}
	return number(name, text, least, most)
}

func number(name, text string, least, most int64) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < least || n > most {
		return 0, invalid("read number", name, fmt.Sprintf("%q is not a number from %d to %d", text, least, most), "")
	}
	return n, nil
}

// time parses a parameter.
func (c *call) time(name string) (time.Time, error) {
	text := c.query.Get(name)
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, invalid("read time", name, fmt.Sprintf("%q is not a time", text),
		"write 2006-01-02 or 2006-01-02T15:04:05Z")
}

// parseForm parses the body if it is a form, which only sessions of browsers may send; programs send JSON.
func (c *call) parseForm() error {
	kind, _, _ := mime.ParseMediaType(c.Header.Get("Content-Type"))
	if kind != formType || !c.identity.byCookie() {
		return nil
	}
	body, err := c.readBody()
	if err != nil {
		return err
	}
	if c.form, err = url.ParseQuery(string(body)); err != nil {
		return invalid("read form", "", "it is not well formed", "")
	}
	return nil
}

// csrf returns the CSRF token of the request.
func (c *call) csrf() string {
	if c.form != nil {
		return c.form.Get(csrfField)
	}
	return c.Header.Get("X-CSRF-Token")
}

func (c *call) readBody() ([]byte, error) {
	body, err := io.ReadAll(c.Body)
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		return nil, &fault.Error{Kind: fault.TooLarge, Op: "read body", Why: fmt.Sprintf("it is longer than %d bytes",
			over.Limit), Hint: "send less"}
	case err != nil:
		return nil, &fault.Error{Kind: fault.Invalid, Op: "read body", Why: "it breaks off", Err: err}
	}
	return body, nil
}

// nothing is the type of an empty body.
type nothing struct{}

// read decodes the body strictly: an unknown field is an error, because a mistake here could approve a command.
func (c *call) read(in any) error {
	body, err := c.rawBody(in)
	if err != nil {
		return err
	}
	_, none := in.(*nothing)
	switch {
	case len(body) == 0 && none:
		return nil
	case len(body) == 0:
		return invalid("read body", "", "it is empty", "send a JSON object")
	case !utf8.Valid(body):
		return invalid("read body", "", "it is not UTF-8", "")
	}
	if err := checkFields(body, reflect.TypeOf(in).Elem()); err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(in); err != nil {
		return invalid("read body", "", jsonReason(err), "the fields are in openapi.yaml")
	}
	if _, err := dec.Token(); err != io.EOF {
		return invalid("read body", "", "something follows the object", "send one JSON object")
	}
	return nil
}

// jsonReason describes an error of package json without Go types.
func jsonReason(err error) string {
	wrong, ok := errors.AsType[*json.UnmarshalTypeError](err)
	switch {
	case ok:
		kind, _, _ := strings.Cut(wrong.Value, " ") // the number itself may follow
		return cmp.Or(wrong.Field, "it") + " must be " + jsonTypeOf(wrong.Type) + ", not " + jsonTypes[kind]
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "it breaks off"
	}
	return "it is not JSON: " + strings.TrimPrefix(err.Error(), "json: ")
}

// jsonTypeOf names the JSON type of a Go type.
func jsonTypeOf(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return jsonTypes["string"]
	case reflect.Bool:
		return jsonTypes["bool"]
	case reflect.Slice:
		return jsonTypes["array"]
	case reflect.Struct, reflect.Map:
		return jsonTypes["object"]
	case reflect.Int, reflect.Int64:
		return "a whole number"
	case reflect.Float64:
		return jsonTypes["number"]
	}
	return "something else"
}

// jsonTypes describes the types of JSON by the names of package json.
var jsonTypes = map[string]string{"string": "a text", "number": "a number", "bool": "true or false", "array": "a list",
	"object": "an object"}

// checkFields refuses what package json accepts: a field name in other case, and duplicate fields, of which two parsers
// could each take another.
func checkFields(body []byte, t reflect.Type) error {
	dec := json.NewDecoder(bytes.NewReader(body))
	if start, err := dec.Token(); err != nil || start != json.Delim('{') {
		return nil // the decoder will refuse it
	}
	var known, seen []string
	for f := range t.Fields() {
		known = append(known, jsonName(f))
	}
	for dec.More() {
		token, err := dec.Token()
		name, ok := token.(string)
		var value json.RawMessage
		if err != nil || !ok || dec.Decode(&value) != nil {
			return nil
		}
		switch {
		case !slices.Contains(known, name):
			return invalid("read body", name, "there is no such field", hintFields(known))
		case slices.Contains(seen, name):
			return invalid("read body", name, "it is there twice", "give it once")
		}
		seen = append(seen, name)
	}
	return nil
}

func hintFields(known []string) string {
	if len(known) == 0 {
		return "there are no fields here"
	}
	return "the fields are " + strings.Join(known, ", ")
}

// rawBody returns the body as JSON; a form is converted.
func (c *call) rawBody(in any) ([]byte, error) {
	if c.form != nil {
		return jsonOf(c.form, reflect.TypeOf(in).Elem())
	}
	body, err := c.readBody()
	if err != nil || len(body) == 0 {
		return nil, err
	}
	kind, params, err := mime.ParseMediaType(c.Header.Get("Content-Type"))
	if charset := params["charset"]; err != nil || kind != jsonType || charset != "" &&
		!strings.EqualFold(charset, "utf-8") {
		return nil, refuse(http.StatusUnsupportedMediaType, &fault.Error{Kind: fault.Invalid, Op: "read body",
			Subject: c.Header.Get("Content-Type"), Why: "the type of the content is not taken here", Hint: "send " + jsonType})
	}
	return body, nil
}

// jsonOf converts a form to the JSON object of a type.
func jsonOf(form url.Values, t reflect.Type) ([]byte, error) {
	object := map[string]any{}
	for name, values := range form {
		if name == csrfField || name == backField {
			continue
		}
		if len(values) > 1 {
			return nil, invalid("read form", name, "it is given more than once", "give it once")
		}
		value, err := valueOf(t, name, values[0])
		if err != nil {
			return nil, err
		}
		object[name] = value
	}
	return encode(object)
}

// valueOf converts a form value to the type of its field. The decoder refuses unknown fields.
func valueOf(t reflect.Type, name, text string) (any, error) {
	for f := range t.Fields() {
		if jsonName(f) != name {
			continue
		}
		kind := f.Type
		if kind.Kind() == reflect.Pointer {
			kind = kind.Elem()
		}
		switch kind.Kind() {
		case reflect.Bool:
			return text == "true" || text == "on", nil
		case reflect.Int, reflect.Int64:
			return number(name, text, -1<<53, 1<<53)
		}
	}
	return text, nil
}

func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// redirectTarget returns where a form is redirected to, always on this server. Browsers take two slashes, or a
// backslash, for another server.
func redirectTarget(form url.Values, field string) string {
	u, err := url.Parse(form.Get(field))
	if err != nil || u.Scheme != "" || u.Host != "" || strings.ContainsAny(form.Get(field), "\\\r\n\t") {
		return "/"
	}
	if to := u.RequestURI(); strings.HasPrefix(to, "/") && !strings.HasPrefix(to, "//") {
		return to
	}
	return "/"
}
