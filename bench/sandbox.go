package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"hako/host"
	"hako/host/sandbox"
	"hako/run"
)

// A start is one way to start a program and wait for its end.
type start struct {
	name string
	do   func() error
}

// overPlain is what a sandboxed start may cost over a plain one.
const overPlain = 5 * time.Millisecond

// startRounds is how often each way is measured.
const startRounds = 301

// A sandboxStarter starts programs in a sandbox.
type sandboxStarter struct {
	sandbox *sandbox.Sandbox
	runner  *host.Runner
	null    *os.File
	root    string
}

// sandboxStarts measures the ways to start a program, and the creation of a sandbox, and
// formats them as Markdown. Where no sandbox can be created it says so and measures nothing.
func sandboxStarts(dir string) (string, error) {
	s, err := newSandboxStarter(dir)
	if err != nil {
		fmt.Println("no sandbox is measured:", err)
		return "", nil
	}
	defer s.close()
	starts := s.starts()
	var functions []func() error
	for _, one := range starts {
		functions = append(functions, one.do)
	}
	times, err := interleave(startRounds, functions...)
	if err != nil {
		return "", err
	}
	creation, err := creationTime(s.root)
	return renderStarts(starts, times, creation), err
}

func newSandboxStarter(dir string) (*sandboxStarter, error) {
	s := &sandboxStarter{root: filepath.Join(dir, "yard")}
	temp := filepath.Join(dir, "yard-tmp")
	for _, name := range []string{s.root, temp} {
		if err := os.MkdirAll(name, 0o700); err != nil {
			return nil, err
		}
	}
	var err error
	if s.null, err = os.OpenFile(os.DevNull, os.O_RDWR, 0); err != nil {
		return nil, err
	}
	if s.sandbox, err = newSandbox(s.root, temp); err != nil {
		return nil, err
	}
	if s.runner, err = host.New(context.Background(), host.Options{Root: s.root}); err != nil {
		s.sandbox.Close()
		return nil, err
	}
	return s, nil
}

func newSandbox(root, temp string) (*sandbox.Sandbox, error) {
	return sandbox.New(context.Background(), sandbox.Plan{Root: root, Temp: temp}, sandbox.LandlockOnly)
}

func (s *sandboxStarter) close() {
	s.sandbox.Close()
	s.runner.Close()
	s.null.Close()
}

// starts lists the ways; the first is what the others are compared with.
func (s *sandboxStarter) starts() []start {
	list := []start{
		{"plain fork and exec of `/bin/true`", func() error { return exec.Command("/bin/true").Run() }},
		{"the same in the sandbox, level " + s.sandbox.Report.Level.String(), s.startProgram},
		{"`uname` by the host runner: shell, pipes, sweeping up", s.runScript},
	}
	if path, err := exec.LookPath("bwrap"); err == nil {
		list = append(list, start{"`bwrap --ro-bind / / --unshare-all /bin/true`", func() error {
			return exec.Command(path, "--ro-bind", "/", "/", "--unshare-all", "/bin/true").Run()
		}})
	}
	return list
}

func (s *sandboxStarter) startProgram() error {
	p, err := s.sandbox.Start(sandbox.Program{Path: "/bin/true", Argv: []string{"true"}, Dir: s.root, Stdin: s.null,
		Stdout: s.null, Stderr: s.null})
	if err != nil {
		return err
	}
	status, err := p.Status()
	return exitError(status, err)
}

func (s *sandboxStarter) runScript() error {
	res, err := s.runner.Run(context.Background(), &run.Request{Script: "uname", Stdout: io.Discard})
	return exitError(res.Exit, err)
}

func exitError(status int, err error) error {
	if err == nil && status != 0 {
		err = fmt.Errorf("exit status %d", status)
	}
	return err
}

// creationTime measures how long it takes to create a sandbox.
func creationTime(root string) (time.Duration, error) {
	var times []time.Duration
	for range 21 {
		temp, err := os.MkdirTemp("", "hako-bench")
		if err != nil {
			return 0, err
		}
		began := time.Now()
		c, err := newSandbox(root, temp)
		if err != nil {
			return 0, err
		}
		times = append(times, time.Since(began))
		c.Close()
		if err := os.RemoveAll(temp); err != nil {
			return 0, err
		}
	}
	return median(times), nil
}

func renderStarts(starts []start, times []time.Duration, creation time.Duration) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n## Start of a program in the sandbox\n\nThe median of %d, in turn. Building the sandbox, once for each runner, takes %s.\n\n", startRounds, round(creation))
	b.WriteString("| how | start to end | over plain | target | |\n|---|---|---|---|---|\n")
	for i, s := range starts {
		over, target, met := round(times[i]-times[0]).String(), overPlain.String(), mark(times[i]-times[0] <= overPlain)
		switch {
		case i == 0:
			over, target, met = "", "", ""
		case strings.HasPrefix(s.name, "`bwrap"):
			target, met = "", ""
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", s.name, round(times[i]), over, target, met)
	}
	return b.String()
}
