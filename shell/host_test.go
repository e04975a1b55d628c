package shell_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"hako/run"
	"hako/shell"
	"hako/shell/command"
)

// programs stands for what a shell with real programs finds by name.
func programs(name string) (shell.Command, bool) {
	if name != "prog" && name != "peek" {
		return shell.Command{}, false
	}
	return shell.Command{Name: name, Run: func(_ context.Context, c *shell.Call) error {
		if name == "peek" {
			return peek(c)
		}
		fmt.Fprintf(c.Stdout, "ran %s %q", c.Name, c.Args)
		return c.Stdout.WriteByte('\n')
	}}, true
}

// peek does what a process does that looks at its input and takes a byte: the
// kernel has taken more, which is given back.
func peek(c *shell.Call) error {
	var kernel bytes.Buffer
	if c.Stdin.Await() == nil {
		_, _ = c.Stdin.Feed(&kernel)
	}
	b := kernel.Next(1)
	c.Stdin.Push(kernel.Bytes())
	fmt.Fprintf(c.Stdout, "[%s]", b)
	return nil
}

func hosted(o shell.Options) *shell.Session {
	o.Commands, o.Find = command.All(), programs
	o.Names = func() []string { return []string{"prog", "peek"} }
	return shell.New(o)
}

func TestFind(t *testing.T) {
	s := hosted(shell.Options{})
	for script, want := range map[string]string{
		"prog a 'b c'":              "ran prog [\"a\" \"b c\"]\n",
		"prog --help":               "ran prog [\"--help\"]\n",
		"/usr/bin/prog x":           "ran prog [\"x\"]\n",
		"command prog x":            "ran prog [\"x\"]\n",
		"echo a | xargs prog":       "ran prog [\"a\"]\n",
		"builtin prog || echo no":   "builtin: prog: not a shell builtin\nno\n",
		"command -v prog":           "/usr/bin/prog\n",
		"type -t prog":              "file\n",
		"type prog":                 "prog is /usr/bin/prog\n",
		"which prog":                "/usr/bin/prog\n",
		"command -v nope || echo 1": "1\n",
		"prog() { echo mine; }; prog; unset -f prog": "mine\n",
		"prgo": "prgo: command not found\nhint: did you mean prog? help lists the commands\n",
	} {
		if got := say(t, s, script); got != want {
			t.Errorf("%s:\n got %q\nwant %q", script, got, want)
		}
	}
	if words := strings.Join(s.Words(), " "); !strings.Contains(words, " prog ") {
		t.Errorf("completion does not know prog: %s", words)
	}
	res, err := s.Run(t.Context(), &run.Request{Script: "prog; prog"})
	if err != nil || res.Commands["prog"] != 2 {
		t.Errorf("%v, %v", res.Commands, err)
	}
}

func TestUnknown(t *testing.T) {
	s := hosted(shell.Options{Unknown: func(name string) string {
		if name == "quiet" {
			return ""
		}
		return "ask for " + name
	}})
	for script, want := range map[string]string{
		"curl x":             "curl: command not found\nhint: ask for curl\n",
		"quiet":              "quiet: command not found\n",
		"echo > f; ./f":      "./f: files are not run as programs here\nhint: ask for ./f\n",
		"./none":             "./none: No such file or directory\n",
		"/usr/bin/nope":      "nope: command not found\nhint: ask for nope\n",
		"/opt/bin/prog; :":   "/opt/bin/prog: No such file or directory\n",
		"mkdir d; ./d || :":  "./d: Is a directory\n",
		"sh -c 'curl x' ; :": "curl: command not found\nhint: ask for curl\n",
	} {
		if got := say(t, s, script); got != want {
			t.Errorf("%s:\n got %q\nwant %q", script, got, want)
		}
	}
}

func TestEnvWins(t *testing.T) {
	env := []string{"HOME=/w", "PATH=/opt/bin", "USER=me", "TMPDIR=/w/tmp", "LANG=ja_JP.UTF-8", "SHELL=/bin/hako"}
	s := hosted(shell.Options{Env: env})
	if got, want := say(t, s,
		`echo $HOME ~ $PATH $USER $TMPDIR $LANG $SHELL; env | grep -c -e ^HOME=/w -e ^SHELL= -e ^TMPDIR=/w/tmp`),
		"/w /w /opt/bin me /w/tmp ja_JP.UTF-8 /bin/hako\n3\n"; got != want {
		t.Errorf("got %q", got)
	}
	if got := say(t, s, "echo $UID $EUID $HOSTNAME"); got != "1000 1000 hako\n" {
		t.Errorf("got %q", got)
	}
}

// TestLinesAreNotLost has a loop whose body starts something that looks at the
// same input without wanting it.
func TestLinesAreNotLost(t *testing.T) {
	s := hosted(shell.Options{})
	for script, want := range map[string]string{
		"printf 'a1\\na2\\na3\\n' > f; while read l; do prog $l; done < f": "ran prog [\"a1\"]\nran prog [\"a2\"]\nran prog [\"a3\"]\n",
		"seq 11 15 | while read l; do peek; echo $l; done":                 "[1]11\n[1]2\n[1]3\n[1]4\n[]5\n",
		"seq 2 | { peek; peek; peek; peek; peek; }":                        "[1][\n][2][\n][]",
		"peek < /dev/null; peek <<< x":                                     "[][x]",
	} {
		if got := say(t, s, script); got != want {
			t.Errorf("%s:\n got %q\nwant %q", script, got, want)
		}
	}
}

// TestMerged checks what a command is told about its streams.
func TestMerged(t *testing.T) {
	told := ""
	cmd := shell.Command{Name: "streams", Run: func(_ context.Context, c *shell.Call) error {
		told = fmt.Sprint(c.Merged)
		_, _ = io.WriteString(c.Stdout, "1")
		_ = c.Stdout.Flush()
		_, _ = io.WriteString(c.Out, "2")
		_, _ = io.WriteString(c.Stderr, "3")
		_, err := io.WriteString(c.Out, "4")
		return err
	}}
	one, two := new(bytes.Buffer), new(bytes.Buffer)
	for _, c := range []struct {
		script        string
		err           *bytes.Buffer
		merged        bool
		first, second string
	}{
		{"streams", two, false, "124", "3"}, {"streams 2>&1", two, true, "1234", ""}, {"streams", one, true, "1234", ""},
		{"streams &>f; cat f", two, true, "1234", ""}, {"streams |& cat", two, true, "1234", ""},
		{"streams >f 2>g; cat f", two, false, "124", ""},
		{"streams 3>&1 1>&2 2>&3", two, false, "3", "124"}, {"x=$(streams 2>&1); echo -n $x", two, true, "1234", ""},
		{"streams >&-", two, false, "", "3streams: Write error: Bad file descriptor\n"},
		{"streams 2>&-", two, false, "124", ""},
	} {
		one.Reset()
		two.Reset()
		s := shell.New(shell.Options{Commands: command.All(), Find: func(name string) (shell.Command, bool) {
			return cmd,
				name == "streams"
		}})
		if _, err := s.Run(t.Context(), &run.Request{Script: c.script, Stdout: one, Stderr: c.err}); err != nil {
			t.Error(err)
		}
		if told != fmt.Sprint(c.merged) || one.String() != c.first || two.String() != c.second {
			t.Errorf("%s: merged %s, %q and %q", c.script, told, one, two)
		}
	}
}
