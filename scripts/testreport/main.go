// Testreport reads the output of "go test -json" and prints a line for each package,
// the output of failures, and at the end a list of skipped tests, by reason.
//
//	go test -json ./... | go run ./scripts/testreport
//
// It exits with 1 if a test failed, or if there was no input.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
)

// An event is one line of go test -json.
type event struct {
	Action, Package, Test, Output, ImportPath string
	Elapsed                                   float64
}

// A report collects events.
type report struct {
	out      io.Writer
	output   map[string][]string // of what has not ended, by package and test
	packages int
	passed   int
	failed   []string
	skipped  map[string][]string // tests by reason
	long     int
}

func main() {
	r := &report{out: os.Stdout, output: map[string][]string{}, skipped: map[string][]string{}}
	if err := r.read(os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, "testreport:", err)
		os.Exit(1)
	}
	if !r.close() {
		os.Exit(1)
	}
}

func (r *report) read(in io.Reader) error {
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			r.line(line)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// line handles one line; one that is no event is printed.
func (r *report) line(line []byte) {
	var e event
	if json.Unmarshal(line, &e) != nil || e.Action == "" {
		r.out.Write(line)
		return
	}
	key := e.Package + " " + e.Test
	switch e.Action {
	case "output":
		r.output[key] = append(r.output[key], e.Output)
	case "build-output":
		io.WriteString(r.out, e.Output)
	case "build-fail":
		r.failed = append(r.failed, e.ImportPath+" (build)")
	case "pass", "fail", "skip":
		r.end(e, r.output[key])
		delete(r.output, key)
	}
}

// end takes the end of a test or, without a name, of a package in.
func (r *report) end(e event, output []string) {
	switch {
	case e.Test == "" && e.Action == "skip": // no test files
	case e.Test == "":
		r.packages++
		r.packageEnd(e, output)
	case e.Action == "pass":
		r.passed++
	case e.Action == "skip":
		r.skip(e, strings.Join(output, ""))
	case e.Action == "fail":
		r.failed = append(r.failed, e.Package+" "+e.Test)
		fmt.Fprint(r.out, strings.Join(output, ""))
	}
}

func (r *report) packageEnd(e event, output []string) {
	if e.Action == "pass" {
		fmt.Fprintf(r.out, "ok    %-44s %6.1fs\n", e.Package, e.Elapsed)
		return
	}
	fmt.Fprintf(r.out, "FAIL  %-44s %6.1fs\n%s", e.Package, e.Elapsed, strings.Join(output, ""))
	if !slices.ContainsFunc(r.failed, func(f string) bool { return strings.HasPrefix(f, e.Package+" ") }) {
		r.failed = append(r.failed, e.Package+" (package)")
	}
}

// reason finds what a test said when it skipped itself.
var reason = regexp.MustCompile(`(?m)^\s+\S+\.go:\d+: (.*)$`)

// longTest begins the reason of tests that are left out because they take long.
const longTest = "long: "

func (r *report) skip(e event, output string) {
	why := "no reason given"
	if m := reason.FindAllStringSubmatch(output, -1); m != nil {
		why = m[len(m)-1][1]
	}
	if strings.HasPrefix(why, longTest) {
		r.long++
		return
	}
	r.skipped[why] = append(r.skipped[why], e.Package+"."+e.Test)
}

// close prints the summary and reports whether all is well.
func (r *report) close() bool {
	if len(r.skipped) > 0 {
		fmt.Fprintln(r.out, "\nskipped on this machine, and why:")
	}
	count := r.long
	for _, why := range slices.Sorted(maps.Keys(r.skipped)) {
		tests := r.skipped[why]
		count += len(tests)
		fmt.Fprintf(r.out, "  %-60s %3d test(s), as %s\n", why, len(tests), tests[0])
	}
	if r.long > 0 {
		fmt.Fprintf(r.out, "left to make test-all because they take long: %d tests\n", r.long)
	}
	for _, name := range r.failed {
		fmt.Fprintln(r.out, "failed:", name)
	}
	verdict := "ok"
	if len(r.failed) > 0 || r.packages == 0 {
		verdict = "FAIL"
	}
	fmt.Fprintf(r.out, "%s: %d packages, %d tests passed, %d failed, %d skipped\n",
		verdict, r.packages, r.passed, len(r.failed), count)
	return verdict == "ok"
}
