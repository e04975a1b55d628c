package fakes

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// pick finds the step for a request: the next one, or one of the unordered ones
// adjacent to it. There is none if the service differs.
func (x *exchange) pick(refused *refusal) {
	fallback := -1
	for i := range x.sc.Steps {
		if x.used[i] {
			continue
		}
		step := &x.sc.Steps[i]
		if !hasWord(listServices, step.On) || step.On == x.on {
			if x.fits(step, refused) {
				x.take(i)
				return
			}
			if fallback < 0 && step.On == x.on {
				fallback = i
			}
			if !step.Unordered {
				break
			}
		}
	}
	if fallback >= 0 {
		x.take(fallback)
	}
}

// fits reports whether a step is certainly meant for the request.
func (x *exchange) fits(step *Step, refused *refusal) bool {
	switch {
	case step.On != x.on, step.On == onPage && !x.asksFor(step.Path):
		return false
	case refused != nil:
		return step.Refused == refused.status
	}
	return step.Refused == 0 && (!step.Unordered || len(x.differences(&step.Want)) == 0)
}

// asksFor reports whether the request is for a certain page. The path may be escaped or
// not.
func (x *exchange) asksFor(path string) bool {
	plain := x.r.URL.Path
	if x.r.URL.RawQuery != "" {
		plain += "?" + x.r.URL.RawQuery
	}
	return path == x.r.URL.RequestURI() || path == plain
}

func (x *exchange) take(i int) {
	x.used[i] = true
	x.step, x.index = &x.sc.Steps[i], i
	x.requests[x.number-1].Step = i + 1
}

// expected names the next step.
func (x *exchange) expected() string {
	if i := slices.Index(x.used, false); i >= 0 {
		return fmt.Sprintf("the next is step %d (%s)", i+1, x.sc.Steps[i].On)
	}
	return "all steps are done"
}

// compare records how the request differs from its step, and from the conversation so
// far.
func (x *exchange) compare() {
	for _, why := range x.differences(&x.step.Want) {
		x.violate("%s", why)
	}
	if x.step.On == onPage && !x.asksFor(x.step.Path) {
		x.violate("it asks for %s, not %s", x.r.URL.RequestURI(), x.step.Path)
	}
	if !hasWord(modelServices, x.on) {
		return
	}
	name := x.on + " " + x.step.Dialog
	if x.dialogs[name] == nil || x.step.NewDialog {
		x.dialogs[name] = newDialog()
	}
	x.dialog = x.dialogs[name]
	if digText(x.fields, "previous_response_id") != "" {
		return // the server has the conversation
	}
	for _, why := range x.dialog.follows(x.on, x.step, x.body, x.all) {
		x.violate("%s", why)
	}
}

// differences lists how a request differs from what is wanted.
func (x *exchange) differences(w *Want) []string {
	var all []string
	miss := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	for _, s := range w.Contains {
		if !x.contains(s) {
			miss("it does not say %q", s)
		}
	}
	for _, s := range w.Lacks {
		if x.contains(s) {
			miss("it must not say %q", s)
		}
	}
	for name, want := range w.Query {
		if got := x.query.Get(name); got != want {
			miss("%s is %q in the query, not %q", name, got, want)
		}
	}
	for name, want := range w.Headers {
		if got := x.r.Header.Get(name); got != want {
			miss("the header %s is %q, not %q", name, got, want)
		}
	}
	return append(all, x.fieldDifferences(w)...)
}

// fieldDifferences does the same for the JSON of the body.
func (x *exchange) fieldDifferences(w *Want) []string {
	var all []string
	miss := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	if got := toolNames(x.fields); w.Tools != nil && !slices.Equal(got, w.Tools) {
		miss("its tools are %q, not %q", got, w.Tools)
	}
	if got, _ := chosenTool(x.fields); w.ToolChoice != "" && got != w.ToolChoice {
		miss("its tool_choice is %q, not %q", got, w.ToolChoice)
	}
	if got := digText(x.fields, "model"); w.Model != "" && got != w.Model {
		miss("it asks the model %q, not %q", got, w.Model)
	}
	if w.Stream != nil && x.streams() != *w.Stream {
		miss("it asks for a stream: %t, not %t", x.streams(), *w.Stream)
	}
	for path, want := range w.Fields {
		if got, _ := dig(x.fields, path); canonical(got) != canonical(want) {
			miss("%s is %s, not %s", path, canonical(got), canonical(want))
		}
	}
	for _, path := range w.Absent {
		if _, there := dig(x.fields, path); there {
			miss("%s should not be there", path)
		}
	}
	return all
}

// contains reports whether the body contains a text, as it is or in a string of the
// JSON.
func (x *exchange) contains(s string) bool {
	return strings.Contains(string(x.body), s) || inStrings(x.fields, s)
}

func inStrings(v any, s string) bool {
	switch v := v.(type) {
	case string:
		return strings.Contains(v, s)
	case []any:
		return slices.ContainsFunc(v, func(v any) bool { return inStrings(v, s) })
	case map[string]any:
		for _, v := range v {
			if inStrings(v, s) {
				return true
			}
		}
	}
	return false
}

// streams reports whether a stream is wanted. Only Ollama streams by default.
func (x *exchange) streams() bool {
	v, said := x.fields["stream"]
	return v == true || !said && x.on == onOllama
}

// checkKeyLeaks records a violation if a key was sent to another service, or in a body.
func (x *exchange) checkKeyLeaks() {
	for key, own := range map[string]bool{
		x.sc.Key:         hasWord("responses chat models", x.on),
		x.sc.googleKey(): x.on == onGoogle,
		x.sc.braveKey():  x.on == onBrave,
	} {
		if key == "" {
			continue
		}
		header, _ := json.Marshal(x.r.Header)
		url := strings.Contains(x.r.URL.RawQuery, key) && !(own && x.on == onGoogle)
		if strings.Contains(string(x.body), key) || url || !own && strings.Contains(string(header), key) {
			x.violate("a key went where it does not belong")
		}
	}
}
