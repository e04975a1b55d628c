package fakes

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"hako/run/fault"
)

// The services, as steps name them.
const (
	onResponses = "responses"
	onChat      = "chat"
	onOllama    = "ollama"
	onGoogle    = "google"
	onBrave     = "brave"
	onSearxng   = "searxng"
	onPage      = "page"
	onModels    = "models"
	onTags      = "tags"
	onShow      = "show"
	onPs        = "ps"
	onVersion   = "version"
)

const (
	modelServices  = "responses chat ollama"
	searchServices = "google brave searxng"
	listServices   = "models tags show ps version"
	everyService   = modelServices + " " + searchServices + " page " + listServices
)

// faults lists the services that can have each fault.
var faults = map[string]string{
	"abort":             everyService,       // the connection is reset in the middle
	"cut":               everyService,       // it ends in the middle: cleanly if streamed, short of its length if not
	"html502":           everyService,       // a proxy's page instead of an answer
	"cut_in_arguments":  modelServices,      // a clean end in the middle of a call
	"json":              "responses chat",   // one JSON object although a stream was asked for
	"no_trailing_blank": "responses chat",   // the last event lacks the blank line after it
	"failed":            "responses",        // response.failed
	"error_flat":        "responses ollama", // an event of type error; a line {"error":"…"}
	"error_nested":      "responses chat",   // data: {"error":{…}}
	"no_finish_reason":  "chat",             // the usage and [DONE] come all the same
	"no_done":           "chat",             // finish_reason comes, [DONE] does not
}

// variants lists the services that know each format.
var variants = map[string]string{
	"args_null":           "chat", // arguments: null, and nothing else
	"args_late":           "chat", // no arguments at first, no name later
	"args_at_once":        "chat", // all in the first delta
	"no_index":            "chat",
	"repeat_names":        "chat", // id and name in each delta
	"usage_with_choice":   "chat", // no chunk of its own
	"openrouter_comments": "chat",
	"mid_stream_error":    "chat",           // data: {"error":{…}} in the middle of the text
	"crlf":                "responses chat", // lines end with CR LF
	"no_ids":              "ollama",         // calls without an id
	"errors_list":         "brave",          // errors[] as in the documents, where error{} is usual
	"bad_results":         "brave",          // 200 with nothing but query and mixed
}

const maxDelay = 10 * time.Minute

// check validates a scenario.
func (sc *Scenario) check() error {
	if sc.Context < 0 {
		return wrong("context", "it is negative")
	}
	if err := sc.Speech.check(); err != nil {
		return err
	}
	ids := map[string]bool{}
	for i := range sc.Steps {
		step := &sc.Steps[i]
		if err := step.check(); err != nil {
			return wrong(fmt.Sprintf("step %d", i+1), err.Error())
		}
		for _, c := range step.Calls {
			if c.ID != "" && ids[c.ID] {
				return wrong(fmt.Sprintf("step %d", i+1), "there are two calls "+c.ID)
			}
			ids[c.ID] = true
		}
	}
	return nil
}

func wrong(subject, why string) error {
	return &fault.Error{Kind: fault.Invalid, Op: "read scenario", Subject: subject, Why: why}
}

func (s *Step) check() error {
	if !hasWord(everyService, s.On) {
		return fmt.Errorf("there is no service %q%s", s.On, nearest(s.On, strings.Fields(everyService)))
	}
	if err := known("fault", s.Fault, s.On, faults); err != nil {
		return err
	}
	if err := known("variant", s.Variant, s.On, variants); err != nil {
		return err
	}
	for _, f := range s.serviceKeys() {
		if f.set && !hasWord(f.services, s.On) {
			return fmt.Errorf("%s means nothing to %s", f.name, s.On)
		}
	}
	if err := s.checkNumbers(); err != nil {
		return err
	}
	return s.checkAnswer()
}

// serviceKeys lists the keys that only some services understand.
func (s *Step) serviceKeys() []serviceKey {
	return []serviceKey{
		{"text", modelServices, s.Text != ""},
		{"pieces", modelServices, s.Pieces != nil},
		{"calls", modelServices, s.Calls != nil},
		{"reasoning", modelServices, s.Reasoning != ""},
		{"usage", modelServices, s.Usage != nil},
		{"refusal", "responses chat", s.Refusal != ""},
		{"incomplete", modelServices, s.Incomplete != ""},
		{"dialog", modelServices, s.Dialog != ""},
		{"new_dialog", modelServices, s.NewDialog},
		{"compacted", modelServices, s.Compacted},
		{"hits", searchServices, s.Hits != nil},
		{"altered", searchServices, s.Altered != ""},
		{"path", onPage, s.Path != ""},
		{"want.tools", modelServices, s.Want.Tools != nil},
		{"want.tool_choice", "responses chat", s.Want.ToolChoice != ""},
		{"want.stream", modelServices, s.Want.Stream != nil},
		{"want.model", modelServices + " show", s.Want.Model != ""},
	}
}

type serviceKey struct {
	name, services string
	set            bool
}

func (s *Step) checkNumbers() error {
	for name, ms := range map[string]int{"delay_ms": s.DelayMS, "piece_delay_ms": s.PieceDelayMS} {
		if ms < 0 || time.Duration(ms)*time.Millisecond > maxDelay {
			return fmt.Errorf("%s is not between 0 and %d", name, maxDelay.Milliseconds())
		}
	}
	if s.Status != 0 && (s.Status < 200 || s.Status > 599) {
		return fmt.Errorf("%d is not a status", s.Status)
	}
	if s.Refused != 0 && (s.Refused < 400 || s.Refused > 499) {
		return fmt.Errorf("the server refuses nothing with %d", s.Refused)
	}
	if u := s.Usage; u != nil && (u.Cached > u.Input || u.Reasoning > u.Output ||
		min(u.Input, u.Output, u.Cached, u.Reasoning) < 0) {
		return fmt.Errorf("the usage does not add up: cached is a part of input, reasoning of output")
	}
	return nil
}

func (s *Step) checkAnswer() error {
	switch {
	case s.Text != "" && s.Pieces != nil:
		return fmt.Errorf("text and pieces are the same thing; give one")
	case s.Refusal != "" && s.text() != "":
		return fmt.Errorf("a refusal comes instead of a text")
	case s.Incomplete != "" && s.Incomplete != "length" && s.Incomplete != "content_filter":
		return fmt.Errorf("incomplete is length or content_filter, not %q", s.Incomplete)
	case s.On == onPage && !strings.HasPrefix(s.Path, "/pages/"):
		return fmt.Errorf("the path of a page begins with /pages/")
	case s.NewDialog && s.Compacted:
		return fmt.Errorf("a new dialog has nothing to compact")
	case s.Fault == "cut_in_arguments" && len(s.Calls) == 0:
		return fmt.Errorf("cut_in_arguments needs a call")
	case s.Fault != "" && s.Status >= 400:
		return fmt.Errorf("the status already is a fault; give one")
	}
	for _, c := range s.Calls {
		if err := c.check(s.On); err != nil {
			return err
		}
	}
	return nil
}

func (c *Call) check(on string) error {
	if c.Name == "" {
		return fmt.Errorf("a call without a name")
	}
	if c.Arguments != "" && c.Verbatim != "" {
		return fmt.Errorf("call %s: arguments and arguments_text are the same thing; give one", c.Name)
	}
	var object map[string]any
	if on == onOllama && json.Unmarshal([]byte(c.arguments()), &object) != nil {
		return fmt.Errorf("call %s: ollama sends arguments as an object", c.Name)
	}
	return nil
}

// arguments returns the text of the arguments.
func (c *Call) arguments() string {
	switch {
	case c.Verbatim != "":
		return c.Verbatim
	case c.Arguments == "" || c.Arguments == "null":
		return "{}"
	}
	return string(c.Arguments)
}

// text returns the answer of the model.
func (s *Step) text() string { return s.Text + strings.Join(s.Pieces, "") }

// pieces returns the text in the parts in which it is streamed.
func (s *Step) pieces() []string {
	if s.Pieces != nil {
		return s.Pieces
	}
	return words(s.Text)
}

// words splits a text before each space, as tokens are.
func words(text string) []string {
	var all []string
	for text != "" {
		n := strings.IndexByte(text[1:], ' ') + 1
		if n == 0 {
			n = len(text)
		}
		all = append(all, text[:n])
		text = text[n:]
	}
	return all
}

func hasWord(list, word string) bool { return slices.Contains(strings.Fields(list), word) }

// known checks that a fault or variant exists for the service.
func known(what, name, on string, table map[string]string) error {
	services, ok := table[name]
	switch {
	case name == "":
		return nil
	case !ok:
		return fmt.Errorf("there is no %s %q%s", what, name, nearest(name, slices.Sorted(maps.Keys(table))))
	case !hasWord(services, on):
		return fmt.Errorf("%s cannot have the %s %s", on, what, name)
	}
	return nil
}

func nearest(word string, names []string) string {
	if name, ok := fault.Nearest(word, names); ok {
		return "; did you mean " + name + "?"
	}
	return ""
}
