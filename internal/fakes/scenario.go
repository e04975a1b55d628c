// Package fakes plays the services that hako talks to: OpenAI (Responses and
// Chat Completions), Ollama, three search engines, plain pages and COEIROINK. A
// scenario says, request by request, what is asked and what is answered.
//
// It thinks nothing up and knows nothing of hako: what is in a scenario comes
// out, spelled as the service spells it, faults included. Tests and the
// command in serve are the only ones to link it.
//
// The one rule to keep: it is stricter than the services are. A field that
// they do not document, a call without its result, a request nobody expected
// and a step nobody asked for are all violations, and [Server.Finish] lists
// them.
package fakes

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"

	"hako/run/fault"
)

// A Scenario is what a [Server] plays.
//
// The lists of models, GET / and Ollama's show, ps and version are answered
// freely as long as no step is about them.
type Scenario struct {
	Key       string `yaml:"key"`        // of OpenAI; empty means that any will do, even none
	GoogleKey string `yaml:"google_key"` // empty means google-key-0123456789abcdef
	GoogleCX  string `yaml:"google_cx"`  // empty means cx-0123456789
	BraveKey  string `yaml:"brave_key"`  // empty means brave-key-0123456789abcdef

	Models       []string `yaml:"models"`       // what is there to be asked; none means whatever is asked for
	Context      int      `yaml:"context"`      // tokens an Ollama model says it can hold; zero means 32768
	Capabilities []string `yaml:"capabilities"` // of Ollama models; none means completion and tools

	Steps []Step `yaml:"steps"` // one for each request, in this order

	Speech *Speech `yaml:"speech"` // an engine that speaks; nil means that there is none

	text string // what it was read from; empty if it was put together by hand
}

// A Step is one request and its answer.
type Step struct {
	On string `yaml:"on"` // the service: see services

	// The request.
	Want      Want   `yaml:"want"`
	Refused   int    `yaml:"refused"`    // the server must refuse the request by itself with this status: a wrong key, an unknown model
	Dialog    string `yaml:"dialog"`     // which of several interleaved conversations this belongs to
	NewDialog bool   `yaml:"new_dialog"` // nothing of what went before has to be repeated
	Compacted bool   `yaml:"compacted"`  // the conversation goes on, but may have been shortened
	Unordered bool   `yaml:"unordered"`  // may change places with the unordered steps next to it

	// The answer of a model.
	Text       string   `yaml:"text"`
	Pieces     []string `yaml:"pieces"` // the text as it is streamed; none means a word at a time
	Calls      []Call   `yaml:"calls"`
	Reasoning  string   `yaml:"reasoning"`  // over Responses the client has to send it again
	Refusal    string   `yaml:"refusal"`    // the model declines, in these words
	Incomplete string   `yaml:"incomplete"` // why it stopped early: length or content_filter
	Usage      *Usage   `yaml:"usage"`      // nil means a guess by length

	// The answer of a search engine, or of a page.
	Hits    []Hit  `yaml:"hits"`
	Path    string `yaml:"path"`    // of a page, from /pages/ on, with its query
	Type    string `yaml:"type"`    // the content type that goes with Body
	Body    string `yaml:"body"`    // this, verbatim, whatever the service
	Altered string `yaml:"altered"` // the query the engine would rather have had

	// What goes wrong.
	Fault   string            `yaml:"fault"`   // see faults
	Variant string            `yaml:"variant"` // a spelling that some servers use; see variants
	Status  int               `yaml:"status"`  // zero means 200, or what goes with Error
	Error   *Failure          `yaml:"error"`
	Headers map[string]string `yaml:"headers"`
	Torn    bool              `yaml:"torn"` // the bytes arrive in crumbs

	DelayMS      int `yaml:"delay_ms"`       // before the answer begins
	PieceDelayMS int `yaml:"piece_delay_ms"` // between its pieces
}

// Want is what a request must look like. What is not said is not checked.
type Want struct {
	Contains   []string          `yaml:"contains"` // somewhere in the body, as it stands or once the JSON is read
	Lacks      []string          `yaml:"lacks"`
	Tools      []string          `yaml:"tools"`       // exactly these, in this order
	ToolChoice string            `yaml:"tool_choice"` // auto, none, required, or the name of a tool
	Model      string            `yaml:"model"`
	Stream     *bool             `yaml:"stream"`
	Fields     map[string]any    `yaml:"fields"` // by path: reasoning.effort, messages.0.role
	Absent     []string          `yaml:"absent"` // paths of what must not be there
	Query      map[string]string `yaml:"query"`
	Headers    map[string]string `yaml:"headers"`
}

// A Call is one that the model makes.
type Call struct {
	ID        string    `yaml:"id"` // empty means that the server thinks one up
	Name      string    `yaml:"name"`
	Arguments Arguments `yaml:"arguments"`
	Verbatim  string    `yaml:"arguments_text"` // instead of Arguments: need not be JSON
}

// Arguments are the text of a JSON object, written as YAML in a scenario.
type Arguments string

// UnmarshalYAML turns YAML into JSON.
func (a *Arguments) UnmarshalYAML(n *yaml.Node) error {
	var v map[string]any
	if err := n.Decode(&v); err != nil {
		return err
	}
	text, err := marshal(v)
	*a = Arguments(text)
	return err
}

// Usage is the bill. Cached is a part of Input, Reasoning of Output.
type Usage struct {
	Input     int64 `yaml:"input"`
	Cached    int64 `yaml:"cached"`
	Output    int64 `yaml:"output"`
	Reasoning int64 `yaml:"reasoning"`
}

// A Failure is an error of the service; each spells it in its own way.
type Failure struct {
	Code    string `yaml:"code"`
	Type    string `yaml:"type"`
	Message string `yaml:"message"`
	Param   string `yaml:"param"`
}

// A Hit is one result of a search.
type Hit struct {
	Title   string `yaml:"title"`
	URL     string `yaml:"url"`
	Snippet string `yaml:"snippet"`
	Age     string `yaml:"age"` // when it was written, as 2026-05-06T00:00:00; empty means unknown
}

// Parse reads a scenario, YAML or JSON. It is strict: a key that means nothing
// where it stands is an error.
//
// $FAKE_URL stands for the address of the server, wherever it occurs.
func Parse(text string) (*Scenario, error) {
	d := yaml.NewDecoder(strings.NewReader(text))
	d.KnownFields(true)
	sc := &Scenario{text: text}
	if err := d.Decode(sc); err != nil && !errors.Is(err, io.EOF) {
		return nil, &fault.Error{Kind: fault.Invalid, Op: "read scenario", Why: strings.TrimPrefix(err.Error(), "yaml: ")}
	}
	if err := d.Decode(new(any)); !errors.Is(err, io.EOF) {
		return nil, &fault.Error{Kind: fault.Invalid, Op: "read scenario", Why: "there is something after it"}
	}
	sc.text = text
	if err := sc.check(); err != nil {
		return nil, err
	}
	return sc, nil
}

// expanded returns the scenario with the server's address filled in.
func (sc *Scenario) expanded(url string) *Scenario {
	if !strings.Contains(sc.text, urlName) {
		return sc
	}
	full, err := Parse(strings.ReplaceAll(sc.text, urlName, url))
	if err != nil {
		panic(err)
	}
	return full
}

const urlName = "$FAKE_URL"

// marshal spells a value as JSON the way servers do: < and > stay as they are.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}
