package rules

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"hako/llm"
)

// A conversation is the last request of a dialog, and the results of the calls made for it. The answer is worked out
// anew in every turn: a command that was not run yet is asked for, and once its output is there the work gets one step
// further.
type conversation struct {
	d       *llm.Dialog
	request string
	files   []llm.File
	listed  bool   // list_allowed_files was called
	found   string // what a search found

	outputs map[string]output // by the arguments of the call
	tries   map[string]int
	calls   int        // made in the whole dialog
	wanted  []llm.Call // what has to be run first
	failed  *output    // the first that failed
}

// A stop is a panic that ends the work on an answer early, recovered by [conversation.work]: with a reply to the user,
// or without one if a call has to be made first or has failed.
type stop struct{ reply string }

// stopWith ends the work with a reply.
func stopWith(reply string) { panic(stop{reply}) }

// work does a part of the work. If it stops, done is false unless there is a reply.
func (t *conversation) work(do func() string) (text string, done bool) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case stop:
			text, done = r.reply, r.reply != ""
		default:
			panic(r)
		}
	}()
	return do(), true
}

// eachFile does the work for each file before it stops for any, so that their calls are made in one turn.
func (t *conversation) eachFile(files []string, do func(file string) string) (parts []string) {
	ready := true
	for _, f := range files {
		text, done := t.work(func() string { return do(f) })
		ready = ready && done
		parts = append(parts, text)
	}
	if !ready {
		panic(stop{})
	}
	return parts
}

// An output is a result of execute.
type output struct {
	command string
	raw     string // the whole text

	OK    bool   `json:"ok"`
	Out   string `json:"stdout_text"`
	Err   string `json:"stderr_text"`
	Exit  int    `json:"exit_code"`
	Total int64  `json:"total_bytes"`
	Cut   bool   `json:"truncated"`
	Error *struct {
		Kind   string `json:"kind"`
		Reason string `json:"reason"`
		Hint   string `json:"hint"`
	} `json:"error"`
}

// resultsHead begins the item that holds what a search found.
const resultsHead = "SEARCH_RESULTS:"

// readDialog finds the last request and everything that belongs to it.
func readDialog(d *llm.Dialog) *conversation {
	t := &conversation{d: d, outputs: map[string]output{}, tries: map[string]int{}}
	start := 0
	for i, it := range d.Items {
		if it.Role != llm.User {
			continue
		}
		if strings.Contains(it.Text, resultsHead) && i > 0 && !strings.Contains(it.Text, "\n---\n") {
			t.found = it.Text
			continue
		}
		start, t.found = i, ""
		t.request, t.files = llm.Plain(it.Text)
		t.request = strings.TrimSuffix(t.request, "\n\n---") // notes without a line
	}
	for i, it := range d.Items {
		t.calls += len(it.Calls)
		if i > start {
			t.note(it)
		}
	}
	return t
}

// note keeps the calls of a turn and the results of calls.
func (t *conversation) note(it llm.Item) {
	for _, c := range it.Calls {
		t.tries[c.Name+c.Arguments]++
	}
	if it.Role != llm.Result {
		return
	}
	key := it.Name + t.arguments(it.CallID)
	switch it.Name {
	case listTool:
		t.listed = true
		if t.files == nil {
			t.files = readFiles(it.Text)
		}
	default:
		// What is no JSON may be an answer that was cut out of a long dialog: the call is made once more.
		if out, ok := readOutput(it.Text); ok || it.Name != executeTool || t.tries[key] > 1 {
			t.outputs[key] = out
		}
	}
}

// arguments finds the arguments of a call by its id.
func (t *conversation) arguments(id string) string {
	for i := len(t.d.Items) - 1; i >= 0; i-- {
		for _, c := range t.d.Items[i].Calls {
			if c.ID == id {
				return c.Arguments
			}
		}
	}
	return ""
}

// readOutput reads the object that a result begins with. What follows it is a note for models that read.
func readOutput(text string) (out output, ok bool) {
	err := json.NewDecoder(strings.NewReader(text)).Decode(&out)
	out.raw = text
	return out, err == nil
}

// readFiles reads the answer of list_allowed_files, in whatever way it wraps the list.
func readFiles(text string) (list []llm.File) {
	var any json.RawMessage
	if json.NewDecoder(strings.NewReader(text)).Decode(&any) != nil {
		return nil
	}
	var wrapped struct {
		Files []llm.File `json:"files"`
	}
	if json.Unmarshal(any, &wrapped) == nil && wrapped.Files != nil {
		return wrapped.Files
	}
	if json.Unmarshal(any, &list) == nil {
		return list
	}
	return nil
}

const (
	executeTool = "execute"
	listTool    = "list_allowed_files"
	searchTool  = "web_search"
)

// may reports whether a tool can be called in this turn.
func (t *conversation) may(name string) bool {
	return !t.d.Choice.None && t.offered(name)
}

func (t *conversation) offered(name string) bool {
	return slices.ContainsFunc(t.d.Tools, func(tool llm.Tool) bool { return tool.Name == name })
}

// run returns the output of a command. It stops if that is not there yet, or the command failed.
func (t *conversation) run(p pipe) output { return t.runAll(p)[0] }

// runAll does so for commands that can be run in one turn.
func (t *conversation) runAll(pipes ...pipe) []output {
	outputs, ready := make([]output, len(pipes)), true
	for i, p := range pipes {
		out, ok := t.result(p.String())
		outputs[i], ready = out, ready && ok
	}
	if !ready {
		panic(stop{})
	}
	return outputs
}

// number runs a command that prints a number.
func (t *conversation) number(p pipe) int {
	out := t.run(p)
	return out.number()
}

// result returns the output of a command if it is there and good. Else the command is asked for, or the failure is
// kept.
func (t *conversation) result(command string) (out output, ok bool) {
	arguments := jsonText(map[string]string{"command": command})
	out, ok = t.outputs[executeTool+arguments]
	out.command = command
	switch {
	case !ok:
		t.want(executeTool, arguments)
	case out.failed():
		if t.failed == nil {
			t.failed = &out
		}
		return out, false
	}
	return out, ok
}

// extra is run for what is good to know but can be done without. It does not stop. The output is not known if the
// command failed, if no call is allowed any more, and as long as the command was not run.
func (t *conversation) extra(p pipe) (out output, known bool) {
	wanted, failed := len(t.wanted), t.failed
	if out, known = t.result(p.String()); known {
		return out, true
	}
	if t.failed != failed || !t.may(executeTool) {
		t.failed, t.wanted = failed, t.wanted[:wanted]
	}
	return output{}, false
}

// await stops if calls have to be made first.
func (t *conversation) await() {
	if len(t.wanted) > 0 {
		panic(stop{})
	}
}

// want asks for a call, once.
func (t *conversation) want(name, arguments string) {
	if slices.ContainsFunc(t.wanted, func(c llm.Call) bool { return c.Name == name && c.Arguments == arguments }) {
		return
	}
	id := "builtin-" + strconv.Itoa(t.calls+len(t.wanted)+1)
	t.wanted = append(t.wanted, llm.Call{ID: id, Name: name, Arguments: arguments})
}

// failed reports whether an output is no result. A command that found nothing exits with 1, as does diff for files that
// differ; errors of any command in the pipeline go to stderr.
func (o *output) failed() bool {
	return o.Error != nil || o.complained() || o.Exit > 1 || o.Exit == 0 && !o.OK
}

// complained reports whether a command wrote to stderr. Notes of execute itself, such as the one on the charset, begin
// with a bracket.
func (o *output) complained() bool {
	for line := range strings.Lines(o.Err) {
		if !strings.HasPrefix(line, "[") {
			return true
		}
	}
	return false
}

// lines returns the lines of the output. Of a page that was cut, the last line is left out if it is not whole.
func (o *output) lines() []string {
	text := o.Out
	if o.Cut {
		if at := strings.LastIndexByte(text, '\n'); at >= 0 {
			text = text[:at+1]
		}
	}
	text = strings.TrimSuffix(text, "\n")
	if text == "" && o.Out != "\n" {
		return nil
	}
	return strings.Split(text, "\n")
}

func jsonText(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // people read the commands
	if e.Encode(v) != nil {
		return "{}"
	}
	return strings.TrimSuffix(b.String(), "\n")
}
