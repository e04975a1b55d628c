package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hako/host"
	"hako/host/sandbox"
	"hako/run"
)

// A start is one way to start a program and wait for its end.
type start struct {
	name   string
	do     func() error
	median time.Duration
}

// overPlain is what a sandboxed start may cost over a plain one.
const overPlain = 5 * time.Millisecond

// startRounds is how often each way is gone; the median counts.
const startRounds = 301

// A sandboxStarter is where programs are started in a sandbox.
type sandboxStarter struct {
	cage   *sandbox.Sandbox
	runner *host.Runner
	null   *os.File
	root   string
}

// startTimes measures the ways to start a program, in turn, and what it takes to
// build a sandbox. Where none can be built, it says so and measures nothing.
func startTimes(dir string) (starts []start, build time.Duration, err error) {
	y, err := newYard(dir)
	if err != nil {
		fmt.Println("no sandbox is measured:", err)
		return nil, 0, nil
	}
	defer y.close()
	starts = y.ways()
	if err := inTurn(starts); err != nil {
		return nil, 0, err
	}
	build, err = buildTime(y.root)
	return starts, build, err
}

func newYard(dir string) (*sandboxStarter, error) {
	y := &sandboxStarter{root: filepath.Join(dir, "yard")}
	temp := filepath.Join(dir, "yard-tmp")
	for _, name := range []string{y.root, temp} {
		if err := os.MkdirAll(name, 0o700); err != nil {
			return nil, err
		}
	}
	var err error
	if y.null, err = os.OpenFile(os.DevNull, os.O_RDWR, 0); err != nil {
		return nil, err
	}
	if y.cage, err = sandbox.New(context.Background(), sandbox.Plan{Root: y.root, Temp: temp},
		sandbox.LandlockOnly); err != nil {
		return nil, err
	}
	if y.runner, err = host.New(context.Background(), host.Options{Root: y.root}); err != nil {
		y.cage.Close()
		return nil, err
	}
	return y, nil
}

func (y *sandboxStarter) close() {
	y.cage.Close()
	y.runner.Close()
	y.null.Close()
}

// ways lists the ways; the first is what the others are compared with.
func (y *sandboxStarter) ways() []start {
	list := []start{
		{name: "plain fork and exec of `/bin/true`", do: func() error { return exec.Command("/bin/true").Run() }},
		{name: "the same in the sandbox, level " + y.cage.Report.Level.String(), do: y.bare},
		{name: "`uname` by the host runner: shell, pipes, sweeping up", do: y.whole},
	}
	if path, err := exec.LookPath("bwrap"); err == nil {
		list = append(list, start{name: "`bwrap --ro-bind / / --unshare-all /bin/true`", do: func() error {
			return exec.Command(path, "--ro-bind", "/", "/", "--unshare-all", "/bin/true").Run()
		}})
	}
	return list
}

func (y *sandboxStarter) bare() error {
	p, err := y.cage.Start(sandbox.Program{Path: "/bin/true", Argv: []string{"true"}, Dir: y.root, Stdin: y.null,
		Stdout: y.null, Stderr: y.null})
	if err != nil {
		return err
	}
	status, err := p.Status()
	return ended(status, err)
}

func (y *sandboxStarter) whole() error {
	res, err := y.runner.Run(context.Background(), &run.Request{Script: "uname", Stdout: io.Discard})
	return ended(res.Exit, err)
}

func ended(status int, err error) error {
	if err == nil && status != 0 {
		err = fmt.Errorf("it ended with %d", status)
	}
	return err
}

// inTurn goes all ways again and again, so that a slow minute of the machine
// hits all of them.
func inTurn(starts []start) error {
	took := make([][]time.Duration, len(starts))
	for range startRounds {
		for i, s := range starts {
			began := time.Now()
			if err := s.do(); err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			took[i] = append(took[i], time.Since(began))
		}
	}
	for i := range starts {
		starts[i].median = medianOf(took[i])
	}
	return nil
}

func medianOf(list []time.Duration) time.Duration {
	slices.Sort(list)
	return list[len(list)/2]
}

// buildTime measures what has to be done once: building a sandbox.
func buildTime(root string) (time.Duration, error) {
	var took []time.Duration
	for range 21 {
		temp, err := os.MkdirTemp("", "hako-bench")
		if err != nil {
			return 0, err
		}
		began := time.Now()
		c, err := sandbox.New(context.Background(), sandbox.Plan{Root: root, Temp: temp}, sandbox.LandlockOnly)
		if err != nil {
			return 0, err
		}
		took = append(took, time.Since(began))
		c.Close()
		if err := os.RemoveAll(temp); err != nil {
			return 0, err
		}
	}
	return medianOf(took), nil
}

// renderStarts writes them as Markdown.
func renderStarts(starts []start, build time.Duration) string {
	if len(starts) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n## Start of a program in the sandbox\n\nThe median of %d, in turn. Building the sandbox, once for each runner, takes %s.\n\n", startRounds, round(build))
	b.WriteString("| how | start to end | over plain | target | |\n|---|---|---|---|---|\n")
	for i, s := range starts {
		over := s.median - starts[0].median
		switch {
		case i == 0:
			fmt.Fprintf(&b, "| %s | %s | | | |\n", s.name, round(s.median))
		case strings.HasPrefix(s.name, "`bwrap"):
			fmt.Fprintf(&b, "| %s | %s | %s | | |\n", s.name, round(s.median), round(over))
		default:
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", s.name, round(s.median), round(over), overPlain,
				mark(over <= overPlain))
		}
	}
	return b.String()
}
