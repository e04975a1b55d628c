// Bench measures hako's virtual shell against bash with the GNU tools, interleaved in one
// run, and the start of programs in the host sandbox against a plain start and
// bubblewrap. It writes RESULTS.md.
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

// build builds a command of hako and returns its path.
func build(dir, name string) (string, error) {
	path := filepath.Join(dir, name)
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", path, "./cmd/"+name)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %s", name, text)
	}
	return path, nil
}

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
	files := filepath.Join(dir, "files") // hako does not grant the directory of its own audit log
	log, err := makeLog(files, size)
	if err != nil {
		return err
	}
	if hako == "" {
		if hako, err = build(dir, "hako"); err != nil {
			return err
		}
	}
	shells := shellsFor(hako, dir, files)
	var rows []row
	for _, c := range cases {
		if !strings.Contains(c.name, only) {
			continue
		}
		r, err := measure(c, shells, files, log, runs)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		fmt.Println(r.line(shells))
		rows = append(rows, r)
	}
	figures, err := figuresWithoutPeer(hako, dir)
	if err != nil {
		return err
	}
	for _, f := range figures {
		fmt.Println(f)
	}
	starts, err := sandboxStarts(dir)
	if err != nil {
		return err
	}
	fmt.Print(starts)
	report := render(rows, figures, shells, size, runs) + starts
	if out == "" || only != "" {
		return nil
	}
	return os.WriteFile(out, []byte(report), 0o666)
}
