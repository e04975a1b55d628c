package command

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

	"hako/quota"
	"hako/run"
	"hako/shell"
	"hako/shell/vfs"
)

var update = flag.Bool("update", false, "write what hako answers into the transcripts")

// A transcript is testdata/name.txtar: before the first file, lines that begin
// with "$ " are scripts ("> " continues one), and what follows is the expected
// standard output, then standard error, then "[exit N]" unless N is 0. Scripts
// of one transcript share one tree, which starts out with the archive's files
// in the current directory, and nothing else. "# differs: why" directly before
// a script exempts it from the oracle.
type transcript struct {
	head  string // text before the first script
	cases []transcriptCase
	files []transcriptFile
	tail  string // the archive part, as it stands
}

type transcriptCase struct {
	notes   string // comment lines before the script
	script  string
	want    string
	differs bool
}

type transcriptFile struct {
	name string
	data []byte
}

var fileMark = regexp.MustCompile(`(?m)^-- (.+) --\n`)

func readTranscript(t *testing.T, file string) *transcript {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	tr := &transcript{}
	text := string(data)
	if at := fileMark.FindStringIndex(text); at != nil {
		text, tr.tail = text[:at[0]], text[at[0]:]
	}
	marks := fileMark.FindAllStringSubmatchIndex(tr.tail, -1)
	for i, m := range marks {
		end := len(tr.tail)
		if i+1 < len(marks) {
			end = marks[i+1][0]
		}
		tr.files = append(tr.files, transcriptFile{tr.tail[m[2]:m[3]], []byte(tr.tail[m[1]:end])})
	}
	tr.parse(strings.SplitAfter(text, "\n"))
	return tr
}

func (tr *transcript) parse(lines []string) {
	notes := ""
	for _, line := range lines {
		switch n := len(tr.cases); {
		case strings.HasPrefix(line, "$ "):
			tr.cases = append(tr.cases, transcriptCase{notes: notes, script: line[2:], differs: strings.Contains(notes, "# differs:")})
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

// String spells the transcript again.
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

// answer spells what a script printed the way transcripts do.
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

// TestTranscripts runs every transcript in the virtual shell.
func TestTranscripts(t *testing.T) {
	for _, file := range transcripts(t) {
		t.Run(nameOf(file), func(t *testing.T) {
			tr := readTranscript(t, file)
			fs := plant(t, tr.files)
			for i := range tr.cases {
				c := &tr.cases[i]
				got := runWithin(t, fs, c.script, limitsFor(c.want))
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

func plant(t *testing.T, files []transcriptFile) *vfs.FS {
	t.Helper()
	fs := vfs.New(vfs.Options{Limiter: quota.NewLimiter(quota.Lenient())})
	for _, f := range files {
		name := path.Join("/box", f.name)
		if err := fs.MkdirAll(path.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := fs.WriteFile(name, f.data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return fs
}

func runHako(t *testing.T, fs *vfs.FS, script string) string {
	t.Helper()
	return runWithin(t, fs, script, quota.Lenient())
}

// limitsFor gives a script that is to be stopped by another limit the time to get
// there, also on a busy machine.
func limitsFor(want string) quota.ScriptLimits {
	limits := quota.Lenient()
	if strings.Contains(want, "went over the limit memory") {
		limits.Time = 40 * time.Second
	}
	return limits
}

// runWithin is runHako with other limits.
func runWithin(t *testing.T, fs *vfs.FS, script string, limits quota.ScriptLimits) string {
	t.Helper()
	ses := shell.NewSession(shell.Options{
		FS: fs, Commands: All(), Limiter: quota.NewLimiter(limits), Dir: "/box",
		Env: []string{"LC_ALL=C.UTF-8", "TZ=UTC", "HOME=/box", "PATH=/usr/bin:/bin"},
	})
	var stdout, stderr bytes.Buffer
	res, err := ses.Run(context.Background(), &run.Request{Script: script, Stdout: &stdout, Stderr: &stderr})
	if err != nil {
		fmt.Fprintln(&stderr, err)
	}
	return answer(stdout.String(), stderr.String(), res.Exit)
}

// TestOracle runs the same transcripts by bash and the real tools: what we
// claim must be what they say.
func TestOracle(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		missing(t, "bash")
	}
	for _, file := range transcripts(t) {
		t.Run(nameOf(file), func(t *testing.T) {
			tr := readTranscript(t, file)
			if !slices.ContainsFunc(tr.cases, func(c transcriptCase) bool { return !c.differs }) {
				return // nobody else has such a command
			}
			if _, err := exec.LookPath(nameOf(file)); err != nil && !inBash[nameOf(file)] {
				missing(t, nameOf(file))
			}
			dir := t.TempDir()
			for _, f := range tr.files {
				plantReal(t, filepath.Join(dir, f.name), f.data)
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

// missing skips, visibly; where the tools must be there it fails.
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

// plainQuotes makes 'x' and ‘x’ equal: which one GNU writes depends on the locale.
func plainQuotes(s string) string { return strings.NewReplacer("‘", "'", "’", "'").Replace(s) }

// sharedTranscripts names the commands that are another by a second name and
// appear in its transcript.
var sharedTranscripts = map[string]string{
	"egrep": "grep", "fgrep": "grep", "gawk": "awk", "mawk": "awk",
	"gunzip": "gzip", "zcat": "gzip", "bunzip2": "bzip2", "bzcat": "bzip2", "unxz": "xz", "xzcat": "xz",
	"uudecode": "uuencode", "sha1sum": "sha256sum", "sha224sum": "sha256sum", "sha384sum": "sha256sum", "sha512sum": "sha256sum",
	"base32": "base64",
}

// TestEveryCommandHasTranscript keeps the list of commands and testdata in step.
func TestEveryCommandHasTranscript(t *testing.T) {
	for name := range All() {
		file := "testdata/" + name + ".txtar"
		if _, err := os.Stat(file); err == nil {
			continue
		}
		if other, ok := sharedTranscripts[name]; ok && mentions(t, "testdata/"+other+".txtar", name) {
			continue
		}
		t.Errorf("%s has no transcript: write %s", name, file)
	}
}

func mentions(t *testing.T, file, name string) bool {
	t.Helper()
	if _, err := os.Stat(file); err != nil {
		return false
	}
	word := regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\b`)
	for _, c := range readTranscript(t, file).cases {
		if word.MatchString(c.script) {
			return true
		}
	}
	return false
}
