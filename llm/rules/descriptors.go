package rules

import (
	"context"
	"crypto/rand"
	"slices"
	"strconv"
	"strings"

	"hako/llm"
	"hako/run/fault"
)

// Descriptors are the inputs of a model that works with file descriptors: with the tools spawn, read, write and exit
// instead of execute.
type Descriptors struct {
	Inputs []Input
	// Why begins the error for a request without an answer; empty means a default.
	Why string
}

// An Input is something to read.
type Input struct {
	Name  string // of a file that scripts can name; empty means a stream
	Bytes int64  // of a file
	FD    int    // of a stream
}

// streamFile is a random name for the copy of a stream. Its layout must be detected before it is processed, so it is
// read twice.
func streamFile() string { return "/.stdin-" + rand.Text() }

// New returns a model that answers one request. It spawns the commands of the rules and reads their output; the plain
// result goes to fd 1, and its caption to standard error. A request without an answer is an error.
func (k Descriptors) New() llm.Model {
	m := &descriptorModel{inputs: k, stream: streamFile(), asked: map[string]func(string){}}
	for _, in := range k.Inputs {
		if in.Name != "" {
			m.files = append(m.files, llm.File{Name: in.Name, Bytes: in.Bytes})
		}
	}
	return m
}

type descriptorModel struct {
	inputs Descriptors
	files  []llm.File
	stream string       // the file for it
	kept   *scriptJob   // which keeps the stream in that file
	jobs   []*scriptJob // what the rules wanted, in order
	asked  map[string]func(result string)
	calls  int
}

// Next implements [llm.Model].
func (m *descriptorModel) Next(ctx context.Context, d *llm.Dialog) (*llm.Turn, error) {
	if d.Format != nil {
		return model{}.Next(ctx, d)
	}
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	m.hear(d)
	calls, err := m.next(d)
	if err != nil {
		return nil, err
	}
	if err := mayCall(d, calls); err != nil {
		return nil, err
	}
	return &llm.Turn{Model: modelName, Calls: calls}, nil
}

// mayCall returns an error if a call is not allowed.
func mayCall(d *llm.Dialog, calls []llm.Call) error {
	t := conversation{d: d}
	for _, c := range calls {
		switch {
		case !t.may(c.Name):
			return &fault.Error{Kind: fault.Unavailable, Op: "ask model", Subject: modelName, Why: "its rules need the tool " +
				c.Name + ", which is not there"}
		case d.Choice.Name != "" && d.Choice.Name != calls[0].Name:
			return &fault.Error{Kind: fault.Exhausted, Op: "ask model", Subject: modelName,
				Why: "no call is left to finish the work", Hint: "raise quota.calls"}
		}
	}
	return nil
}

// hear passes results to their callbacks.
func (m *descriptorModel) hear(d *llm.Dialog) {
	for i, it := range d.Items {
		wait, ok := m.asked[it.CallID]
		if !ok || it.Role != llm.Result {
			continue
		}
		delete(m.asked, it.CallID)
		if i == len(d.Items)-1 {
			it.Text = withoutStatus(it.Text)
		}
		wait(it.Text)
	}
}

// withoutStatus removes the status line that the loop adds to the last result of a turn.
func withoutStatus(text string) string {
	if at := strings.LastIndex(text, "\n[turn "); at >= 0 && !strings.Contains(text[at+1:], "\n") {
		return text[:at]
	}
	return text
}

// call makes a call with a callback for its result.
func (m *descriptorModel) call(name string, arguments map[string]any, wait func(result string)) llm.Call {
	m.calls++
	id := modelName + "-" + strconv.Itoa(m.calls)
	m.asked[id] = wait
	return llm.Call{ID: id, Name: name, Arguments: jsonText(arguments)}
}

// next returns the next calls: first those of started scripts, then the copy of the stream, then those that the rules
// want.
func (m *descriptorModel) next(d *llm.Dialog) ([]llm.Call, error) {
	if calls := m.unfinished(); len(calls) > 0 {
		return calls, nil
	}
	if calls, err := m.keepStream(); calls != nil || err != nil {
		return calls, err
	}
	t := readDialog(m.inner(d))
	text := t.answer()
	if len(t.wanted) == 0 {
		return m.finish(t, text)
	}
	for _, c := range t.wanted {
		m.jobs = append(m.jobs, &scriptJob{call: c, script: commandOf(c)})
	}
	return m.unfinished(), nil
}

func (m *descriptorModel) unfinished() (calls []llm.Call) {
	for _, j := range append([]*scriptJob{m.kept}, m.jobs...) {
		if j != nil && !j.done {
			calls = append(calls, j.next(m))
		}
	}
	return calls
}

// keepStream copies a stream to a file, once.
func (m *descriptorModel) keepStream() ([]llm.Call, error) {
	at := slices.IndexFunc(m.inputs.Inputs, func(in Input) bool { return in.Name == "" })
	switch {
	case at < 0:
		return nil, nil
	case m.kept == nil:
		m.kept = &scriptJob{script: "cat > " + m.stream + "; wc -c < " + m.stream, stdin: &m.inputs.Inputs[at].FD}
		return m.unfinished(), nil
	case m.kept.failed():
		return nil, m.refusal("standard input could not be kept: " + firstLine(m.kept.Err))
	case !slices.ContainsFunc(m.files, func(f llm.File) bool { return f.Name == m.stream }):
		bytes, _ := strconv.ParseInt(strings.TrimSpace(m.kept.Out), 10, 64)
		m.files = append(m.files, llm.File{Name: m.stream, Bytes: bytes})
	}
	return nil, nil
}

// inner is the dialog as it would be with execute.
func (m *descriptorModel) inner(d *llm.Dialog) *llm.Dialog {
	request := ""
	for _, it := range d.Items {
		if it.Role == llm.User {
			request, _ = llm.Plain(it.Text)
			break // the loop's own words come later
		}
	}
	in := &llm.Dialog{Tools: []llm.Tool{{Name: executeTool}},
		Items: []llm.Item{{Role: llm.User, Text: llm.Annotate(request, m.files)}}}
	for _, j := range m.jobs {
		in.Items = append(in.Items, llm.Item{Role: llm.Assistant, Calls: []llm.Call{j.call}},
			llm.Item{Role: llm.Result, CallID: j.call.ID, Name: j.call.Name, Text: jsonText(j.output)})
	}
	return in
}

// finish writes the result and exits.
func (m *descriptorModel) finish(t *conversation, text string) ([]llm.Call, error) {
	r, ok := m.result(t, text)
	switch {
	case t.failed != nil:
		return nil, m.refusal("the command `" + shortened(t.failed.command) + "` did not work: " + firstLine(t.failed.Err))
	case !ok:
		return nil, m.refusal(firstWords(text))
	}
	var calls []llm.Call
	switch {
	case r.script != "":
		calls = append(calls, m.call("spawn", map[string]any{"script": r.script + m.putAway(), "stdout_fd": 1}, ignore))
	case r.text != "":
		calls = append(calls, m.call("write", map[string]any{"fd": 1, "data": m.named(r.text), "newline": true}, ignore))
	}
	if r.script == "" && m.kept != nil {
		calls = append(calls, m.call("spawn", map[string]any{"script": "true" + m.putAway()}, ignore))
	}
	leave := map[string]any{"code": 0}
	if r.about != "" {
		leave["message"] = m.named(r.about)
	}
	return append(calls, m.call("exit", leave, ignore)), nil
}

// putAway is the end of a script that removes the copy of the stream.
func (m *descriptorModel) putAway() string {
	if m.kept == nil {
		return ""
	}
	return "; rm -f " + m.stream
}

// named replaces the name of the copy of the stream by stdin.
func (m *descriptorModel) named(text string) string {
	return strings.ReplaceAll(text, m.stream, "stdin")
}

func ignore(string) {}

// firstWords removes the description of the model, and names the flag of this command.
func firstWords(text string) string {
	text, _, _ = strings.Cut(text, "\n\n")
	for _, tongue := range []language{en, ja} {
		q := &query{lang: tongue}
		own, _, _ := strings.Cut(q.ability(), "\n\n")
		text = strings.TrimSuffix(text, own)
	}
	return strings.TrimRight(strings.ReplaceAll(text, "--file ", "-i "), " .。")
}

func (m *descriptorModel) refusal(why string) error {
	begin := m.inputs.Why
	if begin == "" {
		begin = "the built-in rules cannot do this work"
	}
	return &fault.Error{Kind: fault.Unavailable, Op: "cmd", Why: begin + ": " + why,
		Hint: `they answer questions such as "how many ERROR lines are in app.log?", "top 5 error messages in app.log" or "average of the price column in sales.csv"; for everything else export OPENAI_API_KEY=…, or start Ollama (hako doctor says what is missing)`}
}
