package awk

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"
	"time"

	"hako/internal/testload"
	"hako/shell/stream"
)

// people is the input of most programs below.
const people = "Beth 4.00 0\nDan 3.75 0\nKathy 4.00 10\nMark 5.00 20\nMary 5.50 22\nSusie 4.25 18\n"

// A case is a program that gawk must agree about.
type oracleCase struct {
	prog  string
	input string   // empty: people
	args  []string // before the program
}

// files are what programs find when they open one.
var testFiles = map[string]string{
	"a.txt": "one\ntwo\nthree\n", "b.csv": "x,1\ny,2\n\"z,z\",3\n", "empty": "", "jp": "東京 タワー\n大阪 城\n",
}

func runAwk(prog, input string, vars []string, operands ...string) (string, int) {
	var out, errs bytes.Buffer
	w := stream.NewWriter(&out)
	cfg := &Config{
		Stdin: stream.NewReader(strings.NewReader(input)), Output: w, Error: &errs, Args: operands,
		Now:     func() time.Time { return time.Unix(1700000000, 0).UTC() },
		Environ: []string{"HOME=/box", "N=12"},
		Open: func(name string) (io.ReadCloser, error) {
			if s, ok := testFiles[name]; ok {
				return io.NopCloser(strings.NewReader(s)), nil
			}
			return nil, errors.New("No such file or directory")
		},
	}
	for _, v := range vars {
		if fs, ok := strings.CutPrefix(v, "-F"); ok {
			cfg.FS, cfg.HasFS = fs, true
		} else {
			cfg.Vars = append(cfg.Vars, v)
		}
	}
	p, err := Parse("awk", []Source{{Text: prog}}, &errs)
	if err != nil {
		return errs.String() + err.Error() + "\n", err.(*Error).Status
	}
	ctx, cancel := context.WithTimeout(context.Background(), testload.Bound(10*time.Second))
	defer cancel()
	status, err := Run(ctx, p, cfg)
	_ = w.Flush()
	if err != nil {
		errs.WriteString(err.Error() + "\n")
	}
	return out.String() + errs.String(), status
}

func runGawk(t *testing.T, dir, prog, input string, vars []string, operands ...string) (string, int) {
	var args []string
	for _, v := range vars {
		if strings.HasPrefix(v, "-F") {
			args = append(args, v)
		} else {
			args = append(args, "-v", v)
		}
	}
	cmd := exec.Command("gawk", append(append(args, "--", prog), operands...)...)
	cmd.Args[0] = "awk"
	cmd.Dir = dir
	cmd.Env = []string{"LC_ALL=C.UTF-8", "TZ=UTC", "HOME=/box", "N=12", "PATH=/usr/bin:/bin"}
	cmd.Stdin = strings.NewReader(input)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	_ = cmd.Run() // the status is compared
	return out.String() + errs.String(), cmd.ProcessState.ExitCode()
}

func TestAgainstGawk(t *testing.T) {
	if _, err := exec.LookPath("gawk"); err != nil {
		t.Skip("gawk is not installed")
	}
	dir := t.TempDir()
	writeTestFiles(t, dir)
	for _, c := range oracleCases {
		input := c.input
		if input == "" {
			input = people
		}
		vars, operands := c.args, []string(nil)
		for i, a := range c.args {
			if a == "--" {
				vars, operands = c.args[:i], c.args[i+1:]
			}
		}
		want, wantStatus := runGawk(t, dir, c.prog, input, vars, operands...)
		got, status := runAwk(c.prog, input, vars, operands...)
		if got != want || status != wantStatus {
			t.Errorf("awk %q %q\n got %q [%d]\nwant %q [%d]", c.args, c.prog, got, status, want, wantStatus)
		}
	}
}
