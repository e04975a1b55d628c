package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path"
	"sort"
	"strings"
	"sync/atomic"

	"golang.org/x/term"
	"mvdan.cc/sh/v3/syntax"

	"hako/internal/app"
	"hako/run"
	"hako/run/fault"
)

// terminal is the screen and keyboard of an interactive session. It is raw only
// while a line is edited, so that commands print and Ctrl-C works as usual.
type terminal struct {
	in   *os.File
	keys *keyboard
	edit *term.Terminal
	was  atomic.Pointer[term.State] // before the line that is being edited
}

// restore ends the editing of a line from elsewhere.
func (t *terminal) restore() {
	if old := t.was.Swap(nil); old != nil {
		_ = term.Restore(int(t.in.Fd()), old)
	}
}

func newTerminal(in *os.File, typed io.Reader, out io.Writer) *terminal {
	keys := &keyboard{Reader: typed}
	screen := struct {
		io.Reader
		io.Writer
	}{keys, out}
	return &terminal{in: in, keys: keys, edit: term.NewTerminal(screen, "")}
}

// keyboard turns Ctrl-C into "delete the line and go on": the editor would
// take it for the end of input.
type keyboard struct {
	io.Reader
	dropped bool
}

const (
	ctrlC = 0x03
	ctrlU = 0x15
)

func (k *keyboard) Read(p []byte) (int, error) {
	if len(p) < 2 {
		return k.Reader.Read(p)
	}
	n, err := k.Reader.Read(p[:len(p)-1])
	if n > 0 && p[n-1] == ctrlC {
		k.dropped = true
		p[n-1], p[n] = ctrlU, '\r'
		n++
	}
	return n, err
}

// interrupted reports, once, that Ctrl-C was typed.
func (k *keyboard) interrupted() bool {
	was := k.dropped
	k.dropped = false
	return was
}

// line reads one line with editing, history and completion.
func (t *terminal) line(prompt string) (string, error) {
	old, err := term.MakeRaw(int(t.in.Fd()))
	if err != nil {
		return "", err
	}
	t.was.Store(old)
	defer t.restore()
	if w, h, err := term.GetSize(int(t.in.Fd())); err == nil && w > 0 {
		_ = t.edit.SetSize(w, h)
	}
	t.edit.SetPrompt(prompt)
	return t.edit.ReadLine()
}

// interact reads lines and runs them until the end of input or exit.
func interact(ctx context.Context, s streams, o *app.Shell) error {
	b := prompter{o}
	fmt.Fprintln(s.err, "hako sh: a closed shell; help lists the commands, exit or Ctrl-D leaves")
	t := newTerminal(s.in.(*os.File), s.keys, s.err)
	t.edit.AutoCompleteCallback = b.complete
	ctx = context.WithoutCancel(ctx) // Ctrl-C ends a command, not the session
	last := 0
	for {
		src, err := b.readScript(t)
		if err == io.EOF {
			fmt.Fprintln(s.err)
			return leaveWith(last)
		}
		if err != nil {
			return err
		}
		if strings.TrimSpace(src) == "" {
			continue
		}
		if word, rest, _ := strings.Cut(strings.TrimSpace(src), " "); word == "exit" {
			_, _ = fmt.Sscan(rest, &last)
			return leaveWith(last)
		}
		last = b.line(ctx, s, src)
	}
}

func leaveWith(status int) error {
	if status == 0 {
		return nil
	}
	return exitStatus(status)
}

// A prompter reads lines for a virtual shell and runs them.
type prompter struct{ *app.Shell }

// readScript reads lines until they make a whole script: an open quote or
// block asks for more.
func (b prompter) readScript(t *terminal) (string, error) {
	src := ""
	prompt := b.Session.WorkDir() + "$ "
	for {
		line, err := t.line(prompt)
		if err != nil {
			return "", err
		}
		if t.keys.interrupted() {
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
func (b prompter) line(ctx context.Context, s streams, src string) int {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	res, err := b.Runner.Run(ctx, &run.Request{
		Actor: "user", Script: src, Stdin: s.keys, Stdout: s.out, Stderr: s.err,
	})
	if err != nil && fault.KindOf(err) == fault.Other && ctx.Err() != nil {
		fmt.Fprintln(s.err, "hako: interrupted")
		return 130
	}
	if err != nil {
		return report(err, s.err)
	}
	return res.Exit
}

// complete finishes the word before the cursor: a command at the start, a file
// elsewhere. With several candidates it goes as far as they agree.
func (b prompter) complete(line string, pos int, key rune) (string, int, bool) {
	if key != '\t' {
		return "", 0, false
	}
	head := line[:pos]
	at := strings.LastIndexAny(head, " \t|;&(<>") + 1
	word := head[at:]
	var found []string
	if strings.TrimSpace(strings.TrimRight(head[:at], " \t")) == "" || strings.ContainsAny(lastOf(strings.TrimRight(head[:at], " \t")), "|;&(") {
		found = withPrefix(b.Session.Words(), word, " ")
	} else {
		found = b.files(word)
	}
	if len(found) == 0 {
		return "", 0, false
	}
	text := agreed(found)
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

// files returns the names that a word could become.
func (b prompter) files(word string) []string {
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

// agreed returns the longest start that all words share.
func agreed(words []string) string {
	sort.Strings(words)
	a, z := words[0], words[len(words)-1]
	i := 0
	for i < len(a) && i < len(z) && a[i] == z[i] {
		i++
	}
	return strings.ToValidUTF8(a[:i], "")
}
