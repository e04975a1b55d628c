// Bench measures hako's virtual shell against bash with the GNU tools, in the
// same run and interleaved, and the start of programs in the host sandbox against
// a plain start and bubblewrap, and writes RESULTS.md.
//
//	go run ./bench [-size 100] [-runs 5] [-only grep]
//
// The environment variable PEERS adds other shells: PEERS='name=cmd {S}', where
// {S} stands for the script; several are separated by semicolons.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"hako/host/sandbox"
)

func main() {
	sandbox.Main(os.Args[0]) // programs in a sandbox are started from another process of ours
	size := flag.Int("size", 100, "size of the log in `MB`")
	runs := flag.Int("runs", 5, "how often each is run; the median counts")
	only := flag.String("only", "", "run only cases whose name contains `TEXT`")
	hako := flag.String("hako", "", "the hako to measure; empty builds one")
	out := flag.String("out", "bench/RESULTS.md", "where the table goes; empty means nowhere")
	flag.Parse()
	if err := bench(*size, *runs, *only, *hako, *out); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func bench(size, runs int, only, hako, out string) error {
	dir, err := filepath.Abs("bench/data")
	if err != nil {
		return err
	}
	log, err := makeLog(dir, size)
	if err != nil {
		return err
	}
	if hako == "" {
		hako = filepath.Join(dir, "hako")
		build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", hako, "./cmd/hako")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if text, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("build hako: %s", text)
		}
	}
	shells := shellsFor(hako, dir)
	var rows []row
	for _, c := range cases {
		if !strings.Contains(c.name, only) {
			continue
		}
		r, err := measure(c, shells, dir, log, runs)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		fmt.Println(r.line(shells))
		rows = append(rows, r)
	}
	inside, err := alone(hako, dir)
	if err != nil {
		return err
	}
	for _, m := range inside {
		fmt.Println(m)
	}
	starts, build, err := startTimes(dir)
	if err != nil {
		return err
	}
	started := renderStarts(starts, build)
	fmt.Print(started)
	report := render(rows, inside, shells, size, runs) + started
	if out == "" || only != "" {
		return nil
	}
	return os.WriteFile(out, []byte(report), 0o666)
}
