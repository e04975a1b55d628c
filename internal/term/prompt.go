package term

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path"
	"sort"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"hako/run"
	"hako/run/fault"
	"hako/shell"
)

// A Prompt is an interactive shell at a terminal.
type Prompt struct {
	Streams
	Name    string // of the program, for the greeting
	Session *shell.Session
	Runner  run.Runner // the gate before Session
}

// Run reads lines and runs them until the end of input or exit. It returns the
// exit status.
func (b *Prompt) Run(ctx context.Context) (status int, err error) {
	fmt.Fprintf(b.Err, "%s: a closed shell; help lists the commands, exit or Ctrl-D leaves\n", b.Name)
	t := NewEditor(fileOf(b.In), b.Keys, b.Err)
	t.edit.AutoCompleteCallback = b.complete
	ctx = context.WithoutCancel(ctx) // Ctrl-C ends a command, not the session
	for {
		src, err := b.readScript(t)
		if err == io.EOF {
			fmt.Fprintln(b.Err)
			return status, nil
		}
		if err != nil {
			return 1, err
		}
		if strings.TrimSpace(src) == "" {
			continue
		}
		if word, rest, _ := strings.Cut(strings.TrimSpace(src), " "); word == "exit" {
			_, _ = fmt.Sscan(rest, &status)
			return status, nil
		}
		status = b.line(ctx, src)
	}
}

// readScript reads lines until they are a complete script, without an open quote or block.
func (b *Prompt) readScript(t *Editor) (string, error) {
	src := ""
	prompt := b.Session.WorkDir() + "$ "
	for {
		line, err := t.Line(prompt)
		if err != nil {
			return "", err
		}
		if t.Interrupted() {
			return "", nil
		}
		src += line + "\n"
		if _, err := syntax.NewParser().Parse(strings.NewReader(src), ""); !syntax.IsIncomplete(err) {
			return src, nil
		}
		prompt = "> "
	}
}

// line runs one line; Ctrl-C ends the command, not the session.
func (b *Prompt) line(ctx context.Context, src string) int {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	res, err := b.Runner.Run(ctx, &run.Request{
		Actor: "user", Script: src, Stdin: b.Keys, Stdout: b.Out, Stderr: b.Err,
	})
	if err != nil && fault.KindOf(err) == fault.Other && ctx.Err() != nil {
		fmt.Fprintln(b.Err, "hako: interrupted")
		return 130
	}
	if err != nil {
		return Report(err, b.Err)
	}
	return res.Exit
}

// complete completes the word before the cursor: a command at the start, a file elsewhere. Several candidates are
// completed to their common prefix.
func (b *Prompt) complete(line string, pos int, key rune) (string, int, bool) {
	if key != '\t' {
		return "", 0, false
	}
	head := line[:pos]
	at := strings.LastIndexAny(head, " \t|;&(<>") + 1
	word := head[at:]
	var found []string
	if strings.TrimSpace(strings.TrimRight(head[:at], " \t")) == "" ||
		strings.ContainsAny(lastOf(strings.TrimRight(head[:at], " \t")), "|;&(") {
		found = withPrefix(b.Session.Words(), word, " ")
	} else {
		found = b.files(word)
	}
	if len(found) == 0 {
		return "", 0, false
	}
	text := commonPrefix(found)
	return head[:at] + text + line[pos:], at + len(text), true
}

func lastOf(s string) string {
	if s == "" {
		return ""
	}
	return s[len(s)-1:]
}

func withPrefix(words []string, prefix, end string) []string {
	var out []string
	for _, w := range words {
		if strings.HasPrefix(w, prefix) {
			out = append(out, w+end)
		}
	}
	return out
}

// files returns the files that complete a word.
func (b *Prompt) files(word string) []string {
	dir, base := path.Split(word)
	full := dir
	if !path.IsAbs(dir) {
		full = path.Join(b.Session.WorkDir(), dir)
	}
	entries, err := b.Session.FS.ReadDir(path.Clean(full))
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range entries {
		end := " "
		if e.IsDir() {
			end = "/"
		}
		out = append(out, withPrefix([]string{e.Name()}, base, end)...)
	}
	for i := range out {
		out[i] = dir + out[i]
	}
	return out
}

func commonPrefix(words []string) string {
	sort.Strings(words)
	a, z := words[0], words[len(words)-1]
	i := 0
	for i < len(a) && i < len(z) && a[i] == z[i] {
		i++
	}
	return strings.ToValidUTF8(a[:i], "")
}
