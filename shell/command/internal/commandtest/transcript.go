// Package commandtest runs the transcripts of commands in the closed shell, and in bash
// with the real tools. Both must print the same.
package commandtest

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // as hako itself has it

	"hako/internal/lazyregexp"
	"hako/quota"
	"hako/run"
	"hako/shell"
	"hako/shell/vfs"
)

var update = flag.Bool("update", false, "write what hako answers into the transcripts")

// A transcript is a file testdata/name.txtar. Before the first file, lines that begin with
// "$ " are scripts ("> " continues one), followed by the expected standard output, then
// standard error, then "[exit N]" unless N is 0. The scripts of one transcript share one
// tree, which initially has the files of the archive in the current directory.
// "# differs: why" directly before a script exempts it from [Oracle].
type transcript struct {
	head  string // text before the first script
	cases []transcriptCase
	files []File
	tail  string // the archive, unparsed
}

type transcriptCase struct {
	notes   string // comment lines before the script
	script  string
	want    string
	differs bool
}

// A File is one file of the tree in which a transcript runs.
type File struct {
	Name string
	Data []byte
}

var fileMark = lazyregexp.New(`(?m)^-- (.+) --\n`)

func readTranscript(t *testing.T, file string) *transcript {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	tr := &transcript{}
	text := string(data)
	if at := fileMark.Get().FindStringIndex(text); at != nil {
		text, tr.tail = text[:at[0]], text[at[0]:]
	}
	marks := fileMark.Get().FindAllStringSubmatchIndex(tr.tail, -1)
	for i, m := range marks {
		end := len(tr.tail)
		if i+1 < len(marks) {
			end = marks[i+1][0]
		}
		tr.files = append(tr.files, File{tr.tail[m[2]:m[3]], []byte(tr.tail[m[1]:end])})
	}
	tr.parse(strings.SplitAfter(text, "\n"))
	return tr
}

func (tr *transcript) parse(lines []string) {
	notes := ""
	for _, line := range lines {
		switch n := len(tr.cases); {
		case strings.HasPrefix(line, "$ "):
			tr.cases = append(tr.cases, transcriptCase{notes: notes, script: line[2:],
				differs: strings.Contains(notes, "# differs:")})
			notes = ""
		case strings.HasPrefix(line, "# "):
			notes += line
		case n == 0:
			tr.head += line
		case strings.HasPrefix(line, "> ") && tr.cases[n-1].want == "":
			tr.cases[n-1].script += line[2:]
		default:
			tr.cases[n-1].want += notes + line
			notes = ""
		}
	}
	for i := range tr.cases {
		tr.cases[i].want = strings.TrimRight(tr.cases[i].want, "\n")
	}
}

// String returns the text of the transcript.
func (tr *transcript) String() string {
	var b strings.Builder
	b.WriteString(tr.head)
	for _, c := range tr.cases {
		script := strings.ReplaceAll(strings.TrimSuffix(c.script, "\n"), "\n", "\n> ")
		fmt.Fprintf(&b, "%s$ %s\n", c.notes, script)
		if c.want != "" {
			b.WriteString(c.want + "\n")
		}
		b.WriteString("\n")
	}
	return b.String() + tr.tail
}

// answer returns the output of a script in the form of transcripts.
func answer(stdout, stderr string, status int) string {
	text := stdout
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	text += stderr
	if status != 0 {
		text = strings.TrimRight(text, "\n")
		if text != "" {
			text += "\n"
		}
		text += fmt.Sprintf("[exit %d]", status)
	}
	return strings.TrimRight(text, "\n")
}

func transcripts(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no transcripts", err)
	}
	return files
}

func nameOf(file string) string { return strings.TrimSuffix(filepath.Base(file), ".txtar") }

// Transcripts runs every transcript of the current directory in the closed shell.
func Transcripts(t *testing.T, commands shell.Set) {
	for _, file := range transcripts(t) {
		t.Run(nameOf(file), func(t *testing.T) {
			tr := readTranscript(t, file)
			fs := Plant(t, tr.files)
			for i := range tr.cases {
				c := &tr.cases[i]
				got := runWithin(t, commands, fs, c.script, limitsFor(c.want))
				if *update {
					c.want = got
				}
				if got != c.want {
					t.Errorf("$ %sgot:\n%s\nwant:\n%s", c.script, got, c.want)
				}
			}
			if *update {
				if err := os.WriteFile(file, []byte(tr.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// Plant returns a tree with the files in /box.
func Plant(t *testing.T, files []File) *vfs.FS {
	t.Helper()
	fs := vfs.New(vfs.Options{Limiter: quota.NewLimiter(quota.Lenient())})
	for _, f := range files {
		name := path.Join("/box", f.Name)
		if err := fs.MkdirAll(path.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := fs.WriteFile(name, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return fs
}

// Run runs a script in /box and returns its output in the form of transcripts.
func Run(t *testing.T, commands shell.Set, fs *vfs.FS, script string) string {
	t.Helper()
	return runWithin(t, commands, fs, script, quota.Lenient())
}

// limitsFor returns the limits of a script. One that must exceed another limit gets more
// time, for busy machines.
func limitsFor(want string) quota.ScriptLimits {
	limits := quota.Lenient()
	if strings.Contains(want, "went over the limit memory") {
		limits.Time = 40 * time.Second
	}
	return limits
}

// runWithin is Run with other limits.
func runWithin(t *testing.T, commands shell.Set, fs *vfs.FS, script string, limits quota.ScriptLimits) string {
	t.Helper()
	ses := shell.New(shell.Options{
		FS: fs, Commands: commands, Limiter: quota.NewLimiter(limits), Dir: "/box",
		Env: []string{"LC_ALL=C.UTF-8", "TZ=UTC", "HOME=/box", "PATH=/usr/bin:/bin"},
	})
	var stdout, stderr bytes.Buffer
	res, err := ses.Run(context.Background(), &run.Request{Script: script, Stdout: &stdout, Stderr: &stderr})
	if err != nil {
		fmt.Fprintln(&stderr, err)
	}
	return answer(stdout.String(), stderr.String(), res.Exit)
}

// Oracle runs the same transcripts in bash with the real tools, which must print the
// expected output.
func Oracle(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		missing(t, "bash")
	}
	for _, file := range transcripts(t) {
		t.Run(nameOf(file), func(t *testing.T) {
			tr := readTranscript(t, file)
			if !slices.ContainsFunc(tr.cases, func(c transcriptCase) bool { return !c.differs }) {
				return // there is no real tool
			}
			if _, err := exec.LookPath(nameOf(file)); err != nil && !inBash[nameOf(file)] {
				missing(t, nameOf(file))
			}
			dir := t.TempDir()
			for _, f := range tr.files {
				plantReal(t, filepath.Join(dir, f.Name), f.Data)
			}
			for _, c := range tr.cases {
				if c.differs {
					continue
				}
				if got := runBash(t, bash, dir, c.script); plainQuotes(got) != plainQuotes(c.want) {
					t.Errorf("$ %sthe real tool says:\n%s\nthe transcript:\n%s", c.script, got, c.want)
				}
			}
		})
	}
}

// inBash are commands that bash has without a program of that name.
var inBash = map[string]bool{"help": true}

// missing skips the test, or fails if the tools are required.
func missing(t *testing.T, tool string) {
	t.Helper()
	if os.Getenv("HAKO_REQUIRE_TOOLS") == "1" {
		t.Fatalf("%s is not installed", tool)
	}
	t.Skipf("%s is not installed: its transcript was not checked against it", tool)
}

func plantReal(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

func runBash(t *testing.T, bash, dir, script string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, bash, "-c", script)
	cmd.Dir = dir
	cmd.Env = []string{"LC_ALL=C.UTF-8", "TZ=UTC", "HOME=" + dir, "PATH=" + os.Getenv("PATH")}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	status := 0
	if err := cmd.Run(); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			t.Fatal(err)
		}
		status = exit.ExitCode()
	}
	return strings.ReplaceAll(answer(stdout.String(), stderr.String(), status), dir, "/box")
}

// plainQuotes replaces ‘x’ by 'x', because the quotes of GNU depend on the locale.
func plainQuotes(s string) string { return strings.NewReplacer("‘", "'", "’", "'").Replace(s) }

// Mentions reports whether a script of a transcript uses a command.
func Mentions(t *testing.T, file, name string) bool {
	t.Helper()
	if _, err := os.Stat(file); err != nil {
		return false
	}
	word := regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\b`)
	return slices.ContainsFunc(readTranscript(t, file).cases,
		func(c transcriptCase) bool { return word.MatchString(c.script) })
}
