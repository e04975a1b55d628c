package api

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestDescriptionIsValid checks the description by the rules of OpenAPI 3.1: what
// [TestDescription] does not read may be wrong all the same.
func TestDescriptionIsValid(t *testing.T) {
	for _, problem := range openapiProblems(t, openapi) {
		t.Error(problem)
	}
}

// TestInvalidDescriptions makes sure that the rules find what they are for.
func TestInvalidDescriptions(t *testing.T) {
	const head = "openapi: 3.1.0\ninfo: {title: x, version: '1'}\npaths:\n"
	for text, want := range map[string]string{
		head + "  /a: {get: {responses: {'200': {description: fine}}}}\n":                                                                           "",
		head + "  /a: {get: {responses: {'200': {description: one, two}}}}\n":                                                                       "two is not a field of a response",
		head + "  /a: {get: {responses: {'200': {}}}}\n":                                                                                            "description is missing",
		head + "  /a: {get: {responses: {ok: {description: x}}}}\n":                                                                                 "ok is not a status",
		head + "  '/a/{id}': {get: {responses: {'200': {description: x}}}}\n":                                                                       "path parameters are [], the path has [id]",
		head + "  /a: {get: {parameters: [{name: q, in: query}], responses: {'200': {description: x}}}}\n":                                          "a parameter needs a schema or a content",
		head + "  '/a/{id}': {get: {parameters: [{name: id, in: path, schema: {}}], responses: {'200': {description: x}}}}\n":                       "a path parameter is required",
		head + "  /a: {get: {responses: {'200': {$ref: '#/components/responses/x'}}}}\n":                                                            "#/components/responses/x leads nowhere",
		head + "  /a: {get: {operationId: x, responses: {'200': {description: x}}}, put: {operationId: x, responses: {'200': {description: x}}}}\n": "operationId x is there twice",
		head + "  /a: {get: {responses: {'200': {description: x, content: {a/b: {schema: {type: text}}}}}}}\n":                                      "text is not a type",
		head + "  /a: {get: {responses: {'200': {description: x, content: {a/b: {schema: {max: 1}}}}}}}\n":                                          "max is not a field of a schema",
		head + "  /a: {get: {responses: {'200': {description: x, content: {a/b: {schema: {required: [z], properties: {y: {}}}}}}}}}\n":              "z is required but not described",
		head + "  /a: {get: {summary: on, responses: {'200': {description: x}}}}\n":                                                                 "on needs quotes",
	} {
		if got := strings.Join(openapiProblems(t, []byte(text)), "; "); want == "" && got != "" ||
			!strings.Contains(got, want) {
			t.Errorf("%s\n got %q\nwant %q", text, got, want)
		}
	}
}

func openapiProblems(t *testing.T, text []byte) []string {
	t.Helper()
	v := validator{ids: map[string]bool{}}
	if err := yaml.Unmarshal(text, &v.root); err != nil {
		t.Fatal(err)
	}
	var tree yaml.Node
	if err := yaml.Unmarshal(text, &tree); err != nil {
		t.Fatal(err)
	}
	v.words(&tree)
	v.object("", "the description", v.root, "openapi info paths",
		"servers security components tags jsonSchemaDialect webhooks externalDocs")
	v.object("info", "the info", v.root["info"], "title version", "description summary license contact termsOfService")
	for path, item := range v.each("paths", v.root["paths"]) {
		v.path(path, item)
	}
	components, _ := v.root["components"].(map[string]any)
	v.object("components", "the components", v.root["components"], "",
		"schemas responses parameters securitySchemes headers examples requestBodies")
	kinds := map[string]func(at string, value any){"schemas": v.schema, "responses": v.response, "headers": v.header,
		"requestBodies": v.body,
		"parameters":    func(at string, value any) { v.parameter(at, value) }}
	for kind, check := range kinds {
		for name, value := range v.each("components/"+kind, components[kind]) {
			check("components/"+kind+"/"+name, value)
		}
	}
	slices.Sort(v.problems)
	return v.problems
}

// A validator collects what is wrong with a description.
type validator struct {
	root     map[string]any
	ids      map[string]bool // of operations
	problems []string
}

func (v *validator) bad(at, format string, args ...any) {
	v.problems = append(v.problems, at+": "+fmt.Sprintf(format, args...))
}

// words finds texts that many readers take for truth values: they read YAML 1.1.
func (v *validator) words(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode && n.Tag == "!!str" && n.Style == 0 &&
		slices.Contains([]string{"y", "n", "yes", "no", "on", "off"}, strings.ToLower(n.Value)) {
		v.bad(fmt.Sprintf("line %d", n.Line), "%s needs quotes", n.Value)
	}
	for _, child := range n.Content {
		v.words(child)
	}
}

// each is a map of parts; nothing is a map too.
func (v *validator) each(at string, value any) map[string]any {
	parts, ok := value.(map[string]any)
	if !ok && value != nil {
		v.bad(at, "it is not a map")
	}
	return parts
}

// object returns the fields of an object, after a look at their names. One that
// refers to another has no fields here.
func (v *validator) object(at, what string, value any, required, optional string) map[string]any {
	fields, ok := value.(map[string]any)
	if !ok {
		if value != nil {
			v.bad(at, "%s is not a map", what)
		}
		return nil
	}
	if ref, ok := fields["$ref"].(string); ok {
		v.refer(at, ref)
		return nil
	}
	for _, name := range strings.Fields(required) {
		if fields[name] == nil {
			v.bad(at, "%s is missing", name)
		}
	}
	prefixed := strings.Fields(required + " " + optional)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if !slices.Contains(prefixed, name) && !strings.HasPrefix(name, "x-") {
			v.bad(at, "%s is not a field of %s", name, what)
		}
	}
	return fields
}

// refer returns what a reference leads to.
func (v *validator) refer(at, ref string) any {
	var here any = v.root
	rest, ok := strings.CutPrefix(ref, "#/")
	for name := range strings.SplitSeq(rest, "/") {
		fields, _ := here.(map[string]any)
		here = fields[name]
	}
	if !ok || here == nil {
		v.bad(at, "%s leads nowhere", ref)
	}
	return here
}

var pathParameter = regexp.MustCompile(`\{([^}]+)\}`)

func (v *validator) path(path string, value any) {
	const methods = "get put post delete options head patch trace"
	item := v.object(path, "a path", value, "", "summary description servers parameters "+methods)
	var want []string
	for _, m := range pathParameter.FindAllStringSubmatch(path, -1) {
		want = append(want, m[1])
	}
	slices.Sort(want)
	shared := v.parameters(path, item["parameters"])
	for method := range strings.FieldsSeq(methods) {
		if item[method] == nil {
			continue
		}
		at := path + " " + method
		got := slices.Sorted(slices.Values(append(v.operation(at, item[method]), shared...)))
		if !slices.Equal(got, want) {
			v.bad(at, "path parameters are %v, the path has %v", got, want)
		}
	}
}

// operation returns the names of the path parameters that it declares.
func (v *validator) operation(at string, value any) []string {
	o := v.object(at, "an operation", value, "responses",
		"tags summary description externalDocs operationId parameters requestBody callbacks deprecated security servers")
	if id, ok := o["operationId"].(string); ok {
		if v.ids[id] {
			v.bad(at, "operationId %s is there twice", id)
		}
		v.ids[id] = true
	}
	v.body(at+" requestBody", o["requestBody"])
	for status, r := range v.each(at+" responses", o["responses"]) {
		if !statusName.MatchString(status) {
			v.bad(at, "%s is not a status", status)
		}
		v.response(at+" "+status, r)
	}
	return v.parameters(at, o["parameters"])
}

var statusName = regexp.MustCompile(`^([1-5]([0-9][0-9]|XX)|default)$`)

// parameters returns the names of those that are in the path.
func (v *validator) parameters(at string, value any) (inPath []string) {
	list, _ := value.([]any)
	for i, p := range list {
		if name := v.parameter(fmt.Sprintf("%s parameter %d", at, i), p); name != "" {
			inPath = append(inPath, name)
		}
	}
	return inPath
}

func (v *validator) parameter(at string, value any) (inPath string) {
	if fields, _ := value.(map[string]any); fields["$ref"] != nil {
		ref, _ := fields["$ref"].(string)
		value = v.refer(at, ref)
	}
	p := v.object(at, "a parameter", value, "name in",
		"description required deprecated allowEmptyValue style explode allowReserved schema example examples content")
	if p == nil {
		return ""
	}
	if (p["schema"] == nil) == (p["content"] == nil) {
		v.bad(at, "a parameter needs a schema or a content")
	}
	v.schema(at+" schema", p["schema"])
	name, _ := p["name"].(string)
	switch p["in"] {
	case "path":
		if p["required"] != true {
			v.bad(at, "a path parameter is required")
		}
		return name
	case "query", "header", "cookie":
	default:
		v.bad(at, "%v is not a place of parameters", p["in"])
	}
	return ""
}

func (v *validator) body(at string, value any) {
	b := v.object(at, "a body", value, "content", "description required")
	v.content(at, b["content"])
}

func (v *validator) response(at string, value any) {
	r := v.object(at, "a response", value, "description", "headers content links")
	for name, h := range v.each(at+" headers", r["headers"]) {
		v.header(at+" header "+name, h)
	}
	v.content(at, r["content"])
}

func (v *validator) header(at string, value any) {
	h := v.object(at, "a header", value, "",
		"description required deprecated style explode schema example examples content")
	v.schema(at+" schema", h["schema"])
}

func (v *validator) content(at string, value any) {
	for kind, c := range v.each(at+" content", value) {
		if !strings.Contains(kind, "/") {
			v.bad(at, "%s is not a type of content", kind)
		}
		media := v.object(at+" "+kind, "a content", c, "", "schema example examples encoding")
		v.schema(at+" "+kind, media["schema"])
	}
}

func (v *validator) schema(at string, value any) {
	if _, ok := value.(bool); ok || value == nil {
		return
	}
	s := v.object(at, "a schema", value, "",
		"type format description title default enum const items prefixItems properties additionalProperties required oneOf anyOf allOf not "+
			"minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength pattern minItems maxItems uniqueItems minProperties maxProperties example examples deprecated readOnly writeOnly discriminator")
	v.types(at, s["type"])
	properties := v.each(at+" properties", s["properties"])
	for name, p := range properties {
		v.schema(at+"."+name, p)
	}
	required, _ := s["required"].([]any)
	for _, name := range required {
		if name, _ := name.(string); properties[name] == nil {
			v.bad(at, "%s is required but not described", name)
		}
	}
	for _, name := range []string{"items", "additionalProperties", "not"} {
		v.schema(at+" "+name, s[name])
	}
	for _, name := range []string{"oneOf", "anyOf", "allOf", "prefixItems"} {
		list, _ := s[name].([]any)
		for i, one := range list {
			v.schema(fmt.Sprintf("%s %s %d", at, name, i), one)
		}
	}
}

// types checks a type, or a list of them.
func (v *validator) types(at string, value any) {
	list, ok := value.([]any)
	if !ok && value != nil {
		list = []any{value}
	}
	for _, one := range list {
		name, _ := one.(string)
		if !slices.Contains([]string{"null", "boolean", "object", "array", "number", "string", "integer"}, name) {
			v.bad(at, "%v is not a type", one)
		}
	}
}
