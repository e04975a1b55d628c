package tool

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"

	"hako/internal/websearch"
	"hako/policy"
	"hako/quota"
	"hako/run"
	"hako/run/fault"
	"hako/shell"
	"hako/shell/command"
	"hako/shell/vfs"
)

// counted is a runner that tells how often it ran and what.
type counted struct {
	run.Runner
	scripts []string
}

func (c *counted) Run(ctx context.Context, req *run.Request) (run.Result, error) {
	c.scripts = append(c.scripts, req.Script)
	return c.Runner.Run(ctx, req)
}

// newExecutor returns an executor over real files with the given contents, and
// its runner.
func newExecutor(t testing.TB, files map[string]string, web *websearch.Fetcher) (*Executor, *counted) {
	t.Helper()
	limits := quota.Strict()
	limits.Output = 1 << 30
	gauge := quota.NewLimiter(limits)
	tree := vfs.New(vfs.Options{Limiter: gauge, Strict: true})
	e := &Executor{Actor: "test", Web: web, Cache: NewCache()}
	dir := t.TempDir()
	for name, contents := range files {
		real := filepath.Join(dir, filepath.Base(name))
		if err := os.WriteFile(real, []byte(contents), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := tree.Inject("/box/"+name, real, false); err != nil {
			t.Fatal(err)
		}
		e.Files = append(e.Files, name)
	}
	e.Fingerprint = Fingerprint(e.Files)
	c := &counted{Runner: shell.New(shell.Options{
		FS: tree, Limiter: gauge, Commands: Commands(command.All(), web), Parse: policy.ParseScript,
	})}
	e.Runner = c
	return e, c
}

const log = "INFO start\nERROR disk\nINFO 日本語の行\nERROR net\n"

func TestExecute(t *testing.T) {
	e, _ := newExecutor(t, map[string]string{"app.log": log, "a b.txt": "x\n", "d.json": `{"a":[1,2]}`,
		"dir/n.csv": "b,2\na,1\n"}, nil)
	tests := []struct{ command, want string }{
		{"cat app.log", log},
		{"cat ./app.log | wc -l", "4\n"},
		{"cat /box/app.log | head -n1", "INFO start\n"},
		{"cat dir/../app.log | tail -1", "ERROR net\n"},
		{"grep -n ERROR app.log", "2:ERROR disk\n4:ERROR net\n"},
		{"grep -c -e ERROR -- app.log", "2\n"},
		{"grep 日本 app.log", "INFO 日本語の行\n"},
		{"grep 'a|b;c > d && $(e)' app.log | wc -c", "0\n"},
		{`grep "a|b \$x" app.log | wc -c`, "0\n"},
		{"sed -n '2p;3{p;q}' app.log", "ERROR disk\nINFO 日本語の行\n"},
		{"sed 's/ERROR/E/g' app.log | head -n 2", "INFO start\nE disk\n"},
		{"cut -d' ' -f1 app.log | sort | uniq -c | tr -s ' '", " 2 ERROR\n 2 INFO\n"},
		{"sort -t, -k2,2n dir/n.csv", "a,1\nb,2\n"},
		{"cat 'a b.txt' a\\ b.txt", "x\nx\n"},
		{"head -n 2 app.log | tr $'\\n' ';'", "INFO start;ERROR disk;"},
		{"tac app.log | nl -ba | head -n 1", "     1\tERROR net\n"},
		{"wc -c app.log\n", "53 app.log\n"},
		{"head -2 app.log # the first two", "INFO start\nERROR disk\n"},
	}
	for _, tt := range tests {
		out := e.Call(t.Context(), Input{Command: tt.command})
		if !out.OK || out.StdoutText != tt.want || out.Error != nil {
			t.Errorf("%s: %+v, %v; want %q", tt.command, out, out.Error, tt.want)
		}
	}
}

func TestExecuteRefuses(t *testing.T) {
	e, ran := newExecutor(t, map[string]string{"a.txt": "1\n"}, nil)
	tests := []struct{ command, why string }{
		{"", "empty"},
		{"# nothing", "empty"},
		{"cat a.txt > b", "redirections"},
		{"cat < a.txt", "redirections"},
		{"cat a.txt 2>&1", "redirections"},
		{"cat <<E\nx\nE", "redirections"},
		{"cat a.txt; id", "several"},
		{"cat a.txt\nid", "several"},
		{"cat a.txt;", "separator ;"},
		{"cat a.txt && id", "&&"},
		{"cat a.txt || id", "||"},
		{"cat a.txt |& wc", "|&"},
		{"cat a.txt &", "background"},
		{"! cat a.txt", "negation"},
		{"(cat a.txt)", "subshell"},
		{"{ cat a.txt; }", "block"},
		{"for i in 1; do cat a.txt; done", "loop"},
		{"while cat a.txt; do :; done", "loop"},
		{"if cat a.txt; then cat a.txt; fi", "condition"},
		{"[[ -f a.txt ]]", "condition"},
		{"f() { cat a.txt; }", "function"},
		{"export x=1", "declaration"},
		{"x=1", "assignments"},
		{"x=1 cat a.txt", "assignments"},
		{"cat $HOME", "variables"},
		{`cat "$HOME"`, "variables"},
		{`cat "a$(id)"`, "command substitution"},
		{"cat `id`", "command substitution"},
		{"cat $((1+1))", "arithmetic"},
		{"cat <(id)", "process substitution"},
		{"cat *.txt", "patterns"},
		{"cat a.tx?", "patterns"},
		{"tr [a-z] [A-Z]", "patterns"},
		{"cat {a,b}.txt", "braces"},
		{"cat ~/a.txt", "~"},
		{"cat $'\\x61.txt'", "escapes"},
		{"rm a.txt", "the command rm"},
		{"cat a.txt | tee b", "the command tee"},
		{"perl -ne print a.txt", "the command perl"},
		{"/bin/cat a.txt", "the command /bin/cat"},
		{"'' a.txt", "the command"},
		{"cat b.txt", "b.txt was not granted"},
		{"cat /etc/passwd", "/etc/passwd was not granted"},
		{"cat ../etc/passwd", "was not granted"},
		{"cat /dev/stdin", "was not granted"},
		{"grep x b.txt", "b.txt was not granted"},
		{"grep -f b.txt a.txt", "b.txt was not granted"},
		{"grep -fb.txt a.txt", "b.txt was not granted"},
		{"grep --file=b.txt a.txt", "b.txt was not granted"},
		{"grep -e x y", "y was not granted"},
		{"grep -r x", "searches directories"},
		{"sort -o a.txt a.txt", "writes a file"},
		{"sort -oa.txt a.txt", "writes a file"},
		{"sort -no a.txt a.txt", "writes a file"},
		{"sort --output=a.txt a.txt", "writes a file"},
		{"sort --outp=a.txt a.txt", "not known to be read-only"},
		{"sort --files0-from=x", "not known"},
		{"sort --compress-program=sh a.txt", "not known"},
		{"uniq a.txt a.txt", "more than 1"},
		{"tail -f a.txt", "never ends"},
		{"sed -i s/1/2/ a.txt", "writes the file"},
		{"sed -ni p a.txt", "writes the file"},
		{"sed --in-place=x p a.txt", "writes the file"},
		{"sed -n 'w out' a.txt", "sed command w"},
		{"sed -n '1,2!w out' a.txt", "sed command w"},
		{"sed -n -e p -e 'w out' a.txt", "sed command w"},
		{"sed -n p -e p", "p was not granted"},
		{"sed 's/a/b/w out' a.txt", "sed command w"},
		{"sed 's/a/b/gw out' a.txt", "sed command w"},
		{"sed 's/1/id/e' a.txt", "sed command e"},
		{"sed '1e id' a.txt", "sed command e"},
		{"sed 'r /etc/passwd' a.txt", "sed command r"},
		{"sed '/[/]/w out/p' a.txt", "not understood"},
		{"sed 's/[]]/x/w out' a.txt", "sed command w"},
		{"sed '# \\\nw out' a.txt", "sed command w"},
		{"sed 'a\\\\\\\nw out' a.txt", "not understood"},
		{"sed -f a.txt a.txt", "unseen"},
		{"jq . b.json", "b.json was not granted"},
		{"jq --slurpfile x b.json . a.txt", "b.json was not granted"},
		{"jq -L /x . a.txt", "-L"},
		{"curl https://example.com/", "no URL prefix is allowed"},
		{"curl -o x https://example.com/", "-o"},
		{"cat a.txt |", ""},
		{"cat 'a.txt", ""},
		{"cat a.txt\x00", "NUL"},
		{"cat " + strings.Repeat("x", maxCommand), "8192"},
	}
	for _, tt := range tests {
		out := e.Call(t.Context(), Input{Command: tt.command})
		switch {
		case out.OK || out.Error == nil:
			t.Errorf("%s: was run: %+v", brief(tt.command), out)
		case !strings.Contains(out.Error.Error(), tt.why):
			t.Errorf("%s: %v, want %q", brief(tt.command), out.Error, tt.why)
		case out.Error.Hint == "":
			t.Errorf("%s: no hint", brief(tt.command))
		case out.Error.Kind != fault.Denied && out.Error.Kind != fault.Invalid && out.Error.Kind != fault.TooLarge:
			t.Errorf("%s: kind %v", brief(tt.command), out.Error.Kind)
		}
	}
	if len(ran.scripts) != 0 {
		t.Errorf("refused but run: %q", ran.scripts)
	}
}

// TestExecuteSpells tells what is handed to the runner: exactly the words that
// were checked.
func TestExecuteSpells(t *testing.T) {
	e := &Executor{Files: []string{"a.json", "b c.txt"}}
	tests := []struct{ command, want string }{
		{"cat   a.json|wc  -l", "cat a.json | wc -l"},
		{`"cat" a.js'on'`, "cat a.json"},
		{`cat b\ c.txt`, "cat 'b c.txt'"},
		{"sed -n '1,3p' a.json", "sed --sandbox -n 1,3p a.json"},
		{"sed -n -e '/a[/;]/d' -e 's,x,y,gp' a.json", "not understood"},
		{"sed -ne 's,[/;]x,y,gp' -- a.json", "sed --sandbox -ne 's,[/;]x,y,gp' -- a.json"},
		{"jq -r .a a.json", "jq -r .a a.json"},
		{"jq -n --arg x 1 --argjson y 2 '$x' a.json", "jq -n --arg x 1 --argjson y 2 '$x' a.json"},
		{"jq --slurpfile x a.json '$x' --args p q", "jq --slurpfile x a.json '$x' --args p q"},
		{"jq -f a.json a.json", "jq -f a.json a.json"},
		{"jq -f a.json --args p q", "jq -f a.json --args p q"},
		{"jq . --args p -- q", "q was not granted"},
		{"grep -A3 -n -m 2 x a.json", "grep -A3 -n -m 2 x a.json"},
		{"grep -3 x a.json", "grep -3 x a.json"},
		{"grep --color=never -fa.json 'b c.txt'", "grep '--color=never' -fa.json 'b c.txt'"},
		{"sort -t '\t' -k1,1 -rn --stable a.json -", "sort -t '\t' -k1,1 -rn --stable a.json -"},
		{"tail --help", "tail --help"},
		{"tr -dc 'a-z\\n'", "tr -dc 'a-z\\n'"},
		{"tr '日' '月'", "tr '日' '月'"},
		{"cut -f", "cut -f"},
		{"head -\xff a.json", "invalid UTF-8"},
	}
	for _, tt := range tests {
		prog, err := e.check(Input{Command: tt.command})
		got := prog.script
		if err != nil {
			got = err.Error()
		}
		if got != tt.want && (err == nil || !strings.Contains(got, tt.want)) {
			t.Errorf("%s: %s, want %s", tt.command, got, tt.want)
		}
	}
}

func TestExecuteBounds(t *testing.T) {
	e, _ := newExecutor(t, map[string]string{"a.txt": "1\n"}, nil)
	zero, big, one := int64(0), int64(4097), int64(1)
	tests := []struct {
		in  Input
		why string
	}{
		{Input{Command: "cat a.txt", Size: &zero}, "1 to 4096"},
		{Input{Command: "cat a.txt", Size: &big}, "1 to 4096"},
		{Input{Command: "cat a.txt", Start: -1}, "below 0"},
		{Input{Command: "cat a.txt", File: "b.txt"}, "b.txt was not granted"},
		{Input{Command: "cat a.txt", File: "a.txt", Size: &one}, ""},
	}
	for _, tt := range tests {
		out := e.Call(t.Context(), tt.in)
		if tt.why == "" {
			if !out.OK {
				t.Errorf("%+v: %v", tt.in, out.Error)
			}
		} else if out.Error == nil || !strings.Contains(out.Error.Error(), tt.why) {
			t.Errorf("%+v: %v, want %q", tt.in, out.Error, tt.why)
		}
	}
}

func TestExecutePaging(t *testing.T) {
	long := strings.Repeat("日本語の行 and more\n", 2000)
	e, _ := newExecutor(t, map[string]string{"a.txt": long}, nil)
	var all strings.Builder
	pages := 0
	for start := int64(0); ; pages++ {
		out := e.Call(t.Context(), Input{Command: "cat a.txt", Start: start})
		if !out.OK || out.TotalBytes != int64(len(long)) || len(out.StdoutText) > MaxPage {
			t.Fatalf("at %d: %+v %v", start, out, out.Error)
		}
		all.WriteString(out.StdoutText)
		if out.Truncated != (out.NextStart != nil) {
			t.Fatalf("truncated %v, next %v", out.Truncated, out.NextStart)
		}
		if out.NextStart == nil {
			break
		}
		start = *out.NextStart
	}
	if all.String() != long || pages < len(long)/MaxPage {
		t.Errorf("%d pages of %d bytes, want %d", pages, all.Len(), len(long))
	}
	if out := e.Call(t.Context(), Input{Command: "cat a.txt", Start: int64(len(long))}); out.StdoutText != "" ||
		out.NextStart != nil || !out.OK {
		t.Errorf("beyond the end: %+v", out)
	}
}

func TestExecuteCache(t *testing.T) {
	e, ran := newExecutor(t, map[string]string{"a.txt": log}, nil)
	ask := func(in Input) Output {
		in.Command = "cat a.txt"
		return e.Call(t.Context(), in)
	}
	five := int64(5)
	for i, in := range []Input{{Idempotency: "k"}, {Idempotency: "j"}, {Idempotency: "k", Start: 1},
		{Idempotency: "k", Size: &five}, {}, {}} {
		if out := ask(in); out.CacheHit || len(ran.scripts) != i+1 {
			t.Errorf("%d: hit %v, ran %d", i, out.CacheHit, len(ran.scripts))
		}
	}
	before := len(ran.scripts)
	if out := ask(Input{Idempotency: "k"}); !out.CacheHit || out.StdoutText != log || len(ran.scripts) != before {
		t.Errorf("not from memory: %+v", out)
	}
	e.Fingerprint = Fingerprint(e.Files, []string{"https://example.com"})
	if out := ask(Input{Idempotency: "k"}); out.CacheHit {
		t.Error("another allow-list, the same answer")
	}
}

func TestCacheIsBounded(t *testing.T) {
	c := NewCache()
	page := Output{StdoutText: strings.Repeat("x", 3*MaxPage)}
	for i := range 1000 {
		c.add(fmt.Sprint(i), page)
		c.add(fmt.Sprint(i), page)
	}
	if c.bytes > cacheBytes || c.bytes != c.lru.Len()*weight(page) || c.lru.Len() > cacheEntries {
		t.Errorf("%d bytes in %d entries", c.bytes, c.lru.Len())
	}
	if _, ok := c.get("999"); !ok {
		t.Error("the newest is gone")
	}
}

func TestExecuteStderrAndStatus(t *testing.T) {
	e, _ := newExecutor(t, map[string]string{"a.txt": "1\n"}, nil)
	if out := e.Call(t.Context(), Input{Command: "grep x a.txt"}); out.OK || out.ExitCode != 1 || out.Error != nil {
		t.Errorf("no match: %+v %v", out, out.Error)
	}
	out := e.Call(t.Context(), Input{Command: "cut a.txt"})
	if out.OK || out.ExitCode == 0 || out.StderrText == "" || out.Error != nil {
		t.Errorf("usage: %+v %v", out, out.Error)
	}
}

// talker is a runner that says what it is told to.
type talker struct {
	out, err string
	fail     error
}

func (r talker) Run(_ context.Context, req *run.Request) (run.Result, error) {
	io.WriteString(req.Stdout, r.out)
	io.WriteString(req.Stderr, r.err)
	return run.Result{}, r.fail
}

func TestExecuteCutsStderr(t *testing.T) {
	e := &Executor{Runner: talker{err: strings.Repeat("語", 2000)}}
	out := e.Call(t.Context(), Input{Command: "cat"})
	if len(out.StderrText) > MaxPage || !strings.Contains(out.StderrText, "2001 more bytes") {
		t.Errorf("%d bytes: …%s", len(out.StderrText), out.StderrText[len(out.StderrText)-80:])
	}
}

func TestExecuteCutShort(t *testing.T) {
	cause := &fault.Error{Kind: fault.Exhausted, Op: "stop script", Why: "too much"}
	e := &Executor{Runner: talker{out: "half", fail: cause}, Cache: NewCache()}
	for range 2 {
		out := e.Call(t.Context(), Input{Command: "cat", Idempotency: "k"})
		if out.OK || out.Error != cause || out.StdoutText != "half" || out.ExitCode == 0 || out.CacheHit {
			t.Errorf("%+v", out)
		}
	}
}

func TestExecuteTool(t *testing.T) {
	call := (&Executor{Runner: talker{out: "日本 <a> & \n"}}).Tool().Call
	got, err := call(t.Context(), `{"command":"cat","start":0,"size":0,"file":""}`)
	want := `{"ok":true,"stdout_text":"日本 <a> & \n","stderr_text":"","exit_code":0,"total_bytes":14,"next_start":null,"truncated":false,"cache_hit":false,"redacted":0}`
	if got != want || err != nil {
		t.Errorf("got  %s %v\nwant %s", got, err, want)
	}
	got, err = call(t.Context(), `{"command":"rm -rf x"}`)
	for _, part := range []string{`"ok":false`, `"error":{"kind":"denied","command":"rm -rf x"`, `"retryable":false`,
		`cat, column`} {
		if !strings.Contains(got, part) || fault.KindOf(err) != fault.Denied {
			t.Errorf("%s lacks %s, %v", got, part, err)
		}
	}
	for _, bad := range []string{`{"cmd":"x"}`, `{"command":1}`, `[`, `{}`, `{"command":"cat","size":1.5}`,
		`{"command":"cat","size":-1}`, `{"command":"cat","size":5000}`} {
		if _, err := call(t.Context(), bad); fault.KindOf(err) != fault.Invalid || fault.Hint(err) == "" {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// TestExecuteToolErrors tells what the loop gets to see: a fault for what did
// not run to its end, none for a status.
func TestExecuteToolErrors(t *testing.T) {
	spent := &fault.Error{Kind: fault.Exhausted, Op: "stop script", Why: "too much"}
	got, err := (&Executor{Runner: talker{out: "half", fail: spent}}).Tool().Call(t.Context(), `{"command":"cat"}`)
	if err != spent || !strings.Contains(got, `"stdout_text":"half"`) {
		t.Errorf("%s, %v", got, err)
	}
	e, _ := newExecutor(t, map[string]string{"a.txt": "1\n"}, nil)
	got, err = e.Tool().Call(t.Context(), `{"command":"grep x a.txt"}`)
	if err != nil || !strings.Contains(got, `"ok":false`) || !strings.Contains(got, `"exit_code":1`) {
		t.Errorf("%s, %v", got, err)
	}
}

func TestExecuteRealPath(t *testing.T) {
	ran := &counted{Runner: talker{}}
	e := &Executor{Runner: ran, Files: []string{"link.txt"}, Dir: "/home/u", Real: func(p string) string {
		if p == "/home/u/link.txt" {
			return "/data/real.txt"
		}
		return p
	}}
	for _, name := range []string{"/data/real.txt", "/home/u/link.txt", "../u/link.txt"} {
		if out := e.Call(t.Context(), Input{Command: "wc -l " + name}); !out.OK {
			t.Errorf("%s: %v", name, out.Error)
		}
	}
	if ran.scripts[0] != "wc -l /home/u/link.txt" {
		t.Errorf("run as %q", ran.scripts[0])
	}
	if out := e.Call(t.Context(), Input{Command: "wc -l /data/other.txt"}); out.OK {
		t.Error("another file was read")
	}
}

func TestTextNamesEveryCommand(t *testing.T) {
	if want := "Commands: " + strings.Join(Names(), ", ") + "."; !strings.Contains(executeText, want) {
		t.Errorf("execute.md lacks %q", want)
	}
}

// FuzzCheck makes sure that nothing panics, and that the tree of what is let
// through is the one that the parser makes of its text.
func FuzzCheck(f *testing.F) {
	for _, s := range []string{"cat a.txt | head -n 3", `grep "a b" a.txt`, "sed -n '1,2p' a.txt", "tr $'\\n' \\;",
		"sort -t'\xff' a.txt", "jq --arg a b .x a.txt", "awk -F, '$2 > 1' x=1 a.txt", "diff -U 3 -C 2 -- a.txt -"} {
		f.Add(s)
	}
	e := &Executor{Files: []string{"a.txt"}}
	f.Fuzz(func(t *testing.T, command string) {
		prog, err := e.check(Input{Command: command})
		if err != nil {
			return
		}
		again, err := policy.ParseScript(prog.script)
		if err != nil {
			t.Fatalf("%q became %q: %v", command, prog.script, err)
		}
		if !reflect.DeepEqual(prog.file, again) {
			t.Fatalf("%q became %q, whose tree is another:\n%s\n%s", command, prog.script, dump(prog.file), dump(again))
		}
	})
}

func dump(file *syntax.File) string {
	var b strings.Builder
	_ = syntax.DebugPrint(&b, file)
	return b.String()
}

// BenchmarkExecute is the whole way of a small command, without a gate.
func BenchmarkExecute(b *testing.B) {
	e, ran := newExecutor(b, map[string]string{"a.txt": strings.Repeat("a line\n", 100)}, nil)
	e.Runner = ran.Runner
	b.ReportAllocs()
	for b.Loop() {
		if out := e.Call(b.Context(), Input{Command: "wc -l a.txt"}); out.StdoutText != "100 a.txt\n" {
			b.Fatalf("%+v", out)
		}
	}
}
