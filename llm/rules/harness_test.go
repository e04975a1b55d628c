package rules

import (
	"bufio"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hako/agent/tool"
	"hako/llm"
	"hako/policy"
	"hako/quota"
	"hako/shell"
	"hako/shell/command"
	"hako/shell/vfs"
)

// A box carries out calls of execute over the files in testdata, as hako run
// does.
type box struct {
	t testing.TB
	*tool.Executor
	tree     *vfs.FS
	tools    []llm.Tool
	commands []string // that were run
	refused  []string // why some were not
}

func newBox(t testing.TB) *box {
	t.Helper()
	limits := quota.Strict()
	limits.Output = 1 << 30
	gauge := quota.NewLimiter(limits)
	tree := vfs.New(vfs.Options{Limiter: gauge, Strict: true})
	names, err := filepath.Glob("testdata/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if info, err := os.Stat(name); err != nil || info.IsDir() {
			continue
		}
		if err := tree.Inject("/box/"+filepath.Base(name), name, false); err != nil {
			t.Fatal(err)
		}
	}
	runner := shell.New(shell.Options{FS: tree, Limiter: gauge, Commands: tool.Commands(command.All(), nil),
		Parse: policy.ParseScript})
	return &box{t: t, tree: tree, Executor: &tool.Executor{Runner: runner, Actor: "test"},
		tools: []llm.Tool{{Name: executeTool}}}
}

// grant lists files with their sizes.
func (b *box) grant(names []string) (list []llm.File) {
	for _, name := range names {
		f := llm.File{Name: name}
		if info, err := os.Stat(filepath.Join("testdata", name)); err == nil {
			f.Bytes = info.Size()
		}
		list = append(list, f)
	}
	return list
}

// ask has a request answered, in at most four turns.
func (b *box) ask(request string, files ...string) string {
	b.t.Helper()
	d := &llm.Dialog{Tools: b.tools,
		Items: []llm.Item{{Role: llm.User, Text: llm.Annotate(request, b.grant(files), "[turn 1 of 4]")}}}
	b.Files, b.commands, b.refused = files, nil, nil
	return b.converse(d, 4)
}

func (b *box) converse(d *llm.Dialog, turns int) string {
	b.t.Helper()
	for turn := 1; ; turn++ {
		var said strings.Builder
		d.OnText = func(s string) { said.WriteString(s) }
		d.Choice.None = turn == turns
		got, err := New().Next(b.t.Context(), d)
		if err != nil {
			b.t.Fatal(err)
		}
		if said.String() != got.Text || got.Model != "builtin" || got.Usage != (quota.Usage{}) {
			b.t.Errorf("said %q, but the turn is %+v", said.String(), got)
		}
		d.Items = append(d.Items, got.Item())
		if len(got.Calls) == 0 {
			return got.Text
		}
		if turn == turns {
			b.t.Fatalf("calls in the last turn: %v", got.Calls)
		}
		for _, c := range got.Calls {
			d.Items = append(d.Items, b.carryOut(c))
		}
	}
}

func (b *box) carryOut(c llm.Call) llm.Item {
	b.commands = append(b.commands, commandOf(c))
	text, err := b.Tool().Call(b.t.Context(), c.Arguments)
	if err != nil {
		b.refused = append(b.refused, err.Error())
	}
	if text == "" {
		b.t.Fatalf("%s: %v", c.Arguments, err)
	}
	return llm.Item{Role: llm.Result, CallID: c.ID, Name: c.Name, Text: text + "\n[turn 2 of 4]"}
}

// refusals are what begins an answer that has no result.
var refusals = []string{
	"hako doctor", "Which file", "どのファイル", "has no column or key", "という列やキーはありません", "Of which column", "どの列",
	"not granted", "only one question", "no columns",
}

// declined reports whether an answer is a refusal to answer.
func declined(text string) bool {
	return slices.ContainsFunc(refusals, func(s string) bool { return strings.Contains(text, s) })
}

// A question is a request with the files and what the answer must contain.
type question struct {
	files   []string
	request string
	want    []string
}

// questions reads a table: "files | request | fragment | fragment…".
func questions(t testing.TB, name string) (list []question) {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", "questions", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		line := strings.TrimSpace(s.Text())
		if line == "" || strings.HasPrefix(line, "//") {
			continue
		}
		parts := strings.Split(line, " | ")
		if len(parts) < 2 {
			t.Fatalf("%s: %s", name, line)
		}
		parts[0] = strings.TrimPrefix(parts[0], "-") // "-" stands for no file
		list = append(list, question{strings.Fields(parts[0]), parts[1], slices.Clone(parts[2:])})
	}
	return list
}

// sample returns all questions, or with -short, as under the race detector, one
// in ten: the model is one goroutine, and the shell that carries out its
// commands is the same for all.
func sample(all []question) (some []question) {
	for i, q := range all {
		if !testing.Short() || i%10 == 0 {
			some = append(some, q)
		}
	}
	return some
}
