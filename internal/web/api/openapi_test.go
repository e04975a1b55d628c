package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

// answers are the statuses that a route answers with, besides failures that no
// client can do anything about.
func (r route) answers() []int {
	all := []int{r.status, http.StatusBadRequest, http.StatusForbidden, http.StatusMisdirectedRequest}
	if r.method != http.MethodGet {
		all = append(all, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType)
		if r.takesForms() {
			all = append(all, http.StatusSeeOther)
		}
	}
	if !r.open || r.method != http.MethodGet {
		all = append(all, http.StatusUnauthorized, http.StatusTooManyRequests, http.StatusServiceUnavailable)
	}
	if r.needsSource {
		all = append(all, http.StatusNotFound)
	}
	slices.Sort(all)
	return all
}

func (r route) takesForms() bool {
	return r.method != http.MethodGet && (!r.streams && r.what != "" || r.open)
}

// What of the description is compared.
type (
	description struct {
		Paths      map[string]pathItem `yaml:"paths"`
		Components struct {
			Parameters map[string]parameter `yaml:"parameters"`
			Responses  map[string]any       `yaml:"responses"`
			Schemas    map[string]*schema   `yaml:"schemas"`
		} `yaml:"components"`
	}
	pathItem struct {
		Parameters                    []parameter `yaml:"parameters"`
		Get, Post, Put, Patch, Delete *operation
	}
	operation struct {
		Summary     string      `yaml:"summary"`
		Security    *[]any      `yaml:"security"`
		Parameters  []parameter `yaml:"parameters"`
		RequestBody *struct {
			Content map[string]content `yaml:"content"`
		} `yaml:"requestBody"`
		Responses map[string]struct {
			Ref     string             `yaml:"$ref"`
			Content map[string]content `yaml:"content"`
		} `yaml:"responses"`
	}
	parameter struct {
		Ref  string `yaml:"$ref"`
		Name string `yaml:"name"`
		In   string `yaml:"in"`
	}
	content struct {
		Schema *schema `yaml:"schema"`
	}
	schema struct {
		Ref        string             `yaml:"$ref"`
		Type       string             `yaml:"type"`
		Format     string             `yaml:"format"`
		Items      *schema            `yaml:"items"`
		OneOf      []*schema          `yaml:"oneOf"`
		Enum       []string           `yaml:"enum"`
		Required   []string           `yaml:"required"`
		Properties map[string]*schema `yaml:"properties"`
	}
)

func (p pathItem) operations() map[string]*operation {
	all := map[string]*operation{"GET": p.Get, "POST": p.Post, "PUT": p.Put, "PATCH": p.Patch, "DELETE": p.Delete}
	for method, o := range all {
		if o == nil {
			delete(all, method)
		}
	}
	return all
}

// A reader compares the description with what it describes.
type reader struct {
	*testing.T
	description
	used map[string]bool // schemas
}

func TestDescription(t *testing.T) {
	d := reader{T: t, used: map[string]bool{}}
	if err := yaml.Unmarshal(openapi, &d.description); err != nil {
		t.Fatal(err)
	}
	available := map[string]bool{}
	for _, r := range new(Server).routes() {
		name := r.method + " " + r.path
		available[name] = true
		if o := d.Paths[r.path].operations()[r.method]; o == nil {
			t.Errorf("%s is not described", name)
		} else {
			d.route(name, r, o)
		}
	}
	for _, m := range new(Server).mounts() {
		d.mountedHandler(m, available)
	}
	for path, p := range d.Paths {
		for method := range p.operations() {
			if !available[method+" "+path] {
				t.Errorf("%s %s is described but not there", method, path)
			}
		}
	}
	d.schema("an error", d.Components.Schemas["ErrorBody"], reflect.TypeFor[ErrorBody]())
	for name := range d.Components.Schemas {
		if !d.used[name] && name != "ErrorBody" {
			t.Errorf("nobody uses the schema %s", name)
		}
	}
}

// mounted looks whether what stands beside the API is described, and by whom it
// can be used.
func (d reader) mountedHandler(m mountedHandler, available map[string]bool) {
	d.Helper()
	method, path, one := strings.Cut(m.pattern, " ")
	if !one {
		method, path = "", m.pattern
	}
	if strings.HasSuffix(path, "/") {
		return // what is below is the same
	}
	described := d.Paths[path].operations()
	if len(described) == 0 || one && described[method] == nil {
		d.Errorf("%s is not described", m.pattern)
	}
	for each, o := range described {
		name := each + " " + path
		available[name] = !one || each == method
		if (o.Security != nil) != m.tokenOnly || m.tokenOnly && fmt.Sprint(*o.Security) != "[map[token:[]]]" {
			d.Errorf("%s: that a cookie does not count is %v, described otherwise", name, m.tokenOnly)
		}
		for _, status := range []string{"401", "403", "421", "429", "503", "default"} {
			if o.Responses[status].Ref == "" {
				d.Errorf("%s: %s is not described", name, status)
			}
		}
	}
}

func (d reader) route(name string, r route, o *operation) {
	d.Helper()
	if o.Summary == "" {
		d.Errorf("%s has no summary", name)
	}
	if (o.Security != nil) != r.open {
		d.Errorf("%s: open is %v, described otherwise", name, r.open)
	}
	var want, got []string
	for _, n := range wildcards(r.path) {
		want = append(want, "path "+n)
	}
	for _, n := range r.query {
		want = append(want, "query "+n)
	}
	for _, p := range slices.Concat(d.Paths[r.path].Parameters, o.Parameters) {
		if p.Ref != "" {
			p = d.Components.Parameters[strings.TrimPrefix(p.Ref, "#/components/parameters/")]
		}
		got = append(got, p.In+" "+p.Name)
	}
	d.same(name+": parameters", got, want)
	d.statuses(name, r, o)
	d.bodies(name, r, o)
}

func (d reader) same(what string, got, want []string) {
	d.Helper()
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		d.Errorf("%s are %v, described as %v", what, want, got)
	}
}

func (d reader) statuses(name string, r route, o *operation) {
	d.Helper()
	want := []string{"default"}
	for _, status := range r.answers() {
		want = append(want, strconv.Itoa(status))
	}
	var got []string
	for status, answer := range o.Responses {
		got = append(got, status)
		if _, ok := d.Components.Responses[strings.TrimPrefix(answer.Ref, "#/components/responses/")]; answer.Ref != "" &&
			!ok {
			d.Errorf("%s: %s leads nowhere", name, answer.Ref)
		}
	}
	d.same(name+": statuses", got, want)
}

func (d reader) bodies(name string, r route, o *operation) {
	d.Helper()
	kinds := map[string]bool{}
	if r.in != nil {
		kinds = map[string]bool{jsonType: true, formType: r.takesForms()}
	}
	var in map[string]content
	if o.RequestBody != nil {
		in = o.RequestBody.Content
	}
	for _, kind := range []string{jsonType, formType} {
		if _, ok := in[kind]; ok != kinds[kind] {
			d.Errorf("%s: takes %s is %v, described otherwise", name, kind, kinds[kind])
		} else if ok {
			d.schema(name+" takes", in[kind].Schema, r.in)
		}
	}
	out := o.Responses[strconv.Itoa(r.status)].Content
	kind := jsonType
	if r.streams {
		kind = "text/event-stream"
	}
	switch _, ok := out[kind]; {
	case ok != (r.out != nil):
		d.Errorf("%s: answers with %s is %v, described otherwise", name, kind, r.out != nil)
	case ok:
		d.schema(name+" answers", out[kind].Schema, r.out)
	}
}

// schema compares a schema with a Go type, and everything in them.
func (d reader) schema(what string, s *schema, t reflect.Type) {
	d.Helper()
	if s == nil {
		d.Errorf("%s: no schema", what)
		return
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
		if len(s.OneOf) == 2 && s.OneOf[1].Type == "null" {
			s = s.OneOf[0]
		}
	}
	if name, ok := strings.CutPrefix(s.Ref, "#/components/schemas/"); ok {
		if name != t.Name() {
			d.Errorf("%s: %s is described as %s", what, t.Name(), name)
		}
		if d.used[name] {
			return
		}
		d.used[name] = true
		s = d.Components.Schemas[name]
		if s == nil {
			d.Errorf("%s: there is no schema %s", what, name)
			return
		}
	}
	if want := typeOf(t); s.Type+" "+s.Format != want {
		d.Errorf("%s: %s is described as %s %s", what, want, s.Type, s.Format)
	}
	switch {
	case s.Type == "array" && t.Kind() == reflect.Slice:
		d.schema(what+"[]", s.Items, t.Elem())
	case t.Kind() == reflect.Struct && t != reflect.TypeFor[time.Time]():
		d.fields(what, s, t)
	}
}

func typeOf(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[time.Time]():
		return "string date-time"
	case reflect.TypeFor[json.RawMessage]():
		return "object "
	}
	switch t.Kind() {
	case reflect.Slice:
		return "array "
	case reflect.Struct:
		return "object "
	case reflect.String:
		return "string "
	case reflect.Bool:
		return "boolean "
	case reflect.Int, reflect.Int64:
		return "integer "
	case reflect.Float64:
		return "number "
	}
	return fmt.Sprint("unknown ", t)
}

func (d reader) fields(what string, s *schema, t reflect.Type) {
	d.Helper()
	var names, required, described []string
	for _, f := range reflect.VisibleFields(t) {
		if f.Anonymous {
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		names = append(names, name)
		if options == "" {
			required = append(required, name)
		}
		if property := s.Properties[name]; property != nil {
			d.schema(what+"."+name, property, f.Type)
		}
	}
	for name := range s.Properties {
		described = append(described, name)
	}
	d.same(what+": fields of "+t.Name(), described, names)
	d.same(what+": required fields of "+t.Name(), s.Required, required)
}

func TestDescriptionIsServed(t *testing.T) {
	h := build(t)
	status, header, body := h.client("").do(h.client("").request("GET", "/api/v1/openapi.yaml", nil))
	if status != 200 || header.Get("Content-Type") != "application/yaml" || body != string(openapi) {
		t.Errorf("%d %s, %d bytes", status, header, len(body))
	}
}
