package descriptors

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/tools/txtar"

	"hako/policy"
	"hako/quota"
	"hako/run/fault"
	"hako/shell"
	"hako/shell/command"
	"hako/shell/vfs"
)

var update = flag.Bool("update", false, "write what was answered into the transcripts")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A box is a table with real shells behind it.
type box struct {
	*Table
	t        testing.TB
	out, err safeBuffer
	calls    map[string]func(context.Context, string) (string, error)
}

// safeBuffer is a buffer that scripts may write to while a test reads it.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// shells makes workers that share the files of a tree.
func shells(tree *vfs.FS) func(context.Context) (Worker, error) {
	commands := command.All()
	return func(context.Context) (Worker, error) {
		sight, err := tree.Child([]string{"/box", "/tmp"})
		if err != nil {
			return Worker{}, err
		}
		limits := quota.Lenient()
		limits.Time = 2 * time.Minute // the machine may be busy
		gauge := quota.NewLimiter(limits)
		s := shell.New(shell.Options{FS: sight, Limiter: gauge, Commands: commands, Parse: policy.ParseScript})
		return Worker{Runner: s, Pause: gauge.Pause, Close: s.Close}, nil
	}
}

func newBox(t testing.TB, o Options) *box {
	t.Helper()
	b := &box{t: t, calls: map[string]func(context.Context, string) (string, error){}}
	if o.Files == nil {
		o.Files = vfs.New(vfs.Options{Limiter: quota.NewLimiter(quota.Lenient())})
	}
	if o.Spawn == nil {
		o.Spawn = shells(o.Files)
	}
	if o.Stdout.Writer == nil {
		o.Stdout.Writer = &b.out
	}
	if o.Stderr.Writer == nil {
		o.Stderr.Writer = &b.err
	}
	b.Table = New(context.Background(), o)
	t.Cleanup(func() { _ = b.Close() })
	for _, tool := range b.Tools() {
		b.calls[tool.Name] = tool.Call
	}
	return b
}

// try makes a call as a model does.
func (b *box) try(name, format string, args ...any) (string, error) {
	b.t.Helper()
	return b.calls[name](b.t.Context(), fmt.Sprintf(format, args...))
}

// call is try for what must succeed.
func (b *box) call(name, format string, args ...any) string {
	b.t.Helper()
	text, err := b.try(name, format, args...)
	if err != nil {
		b.t.Fatalf("%s "+format+": %v", append(append([]any{name}, args...), err)...)
	}
	return text
}

// fails is try for what must fail with the given words. It wants a hint too.
func (b *box) fails(want, name, format string, args ...any) {
	b.t.Helper()
	_, err := b.try(name, format, args...)
	var f *fault.Error
	if !errors.As(err, &f) || !strings.Contains(err.Error(), want) || fault.Hint(err) == "" {
		b.t.Errorf("%s "+format+": %v, hint %q; want %q", append(append([]any{name}, args...), err, fault.Hint(err), want)...)
	}
}

func input(name, text string) Input {
	return Input{Name: name, Reader: strings.NewReader(text), Size: int64(len(text))}
}

// TestTranscripts runs the sessions in testdata. A file of the archive is
// standard input if it is called stdin, the output that is expected if it is
// called stdout, a file of the tree if it is in box/, and an input otherwise.
func TestTranscripts(t *testing.T) {
	files, _ := filepath.Glob("testdata/*.txtar")
	if len(files) == 0 {
		t.Fatal("no transcripts")
	}
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) { transcript(t, name) })
	}
}

func transcript(t *testing.T, name string) {
	ar, err := txtar.ParseFile(name)
	if err != nil {
		t.Fatal(err)
	}
	o, want := setting(t, ar)
	b := newBox(t, o)
	got := b.replay(string(ar.Comment))
	out := b.out.String()
	if *update {
		ar.Comment = []byte(got)
		for i := range ar.Files {
			if ar.Files[i].Name == "stdout" {
				ar.Files[i].Data = []byte(out)
			}
		}
		if err := os.WriteFile(name, txtar.Format(ar), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got != string(ar.Comment) {
		t.Errorf("got\n%s\nwant\n%s", got, ar.Comment)
	}
	if out != want {
		t.Errorf("output %q, want %q", out, want)
	}
}

// setting turns the files of an archive into options.
func setting(t *testing.T, ar *txtar.Archive) (o Options, want string) {
	o.Files = vfs.New(vfs.Options{Limiter: quota.NewLimiter(quota.Lenient()), Strict: true})
	for _, f := range ar.Files {
		text := string(f.Data)
		switch {
		case f.Name == "stdin":
			o.Stdin = input("stdin", text)
		case f.Name == "stdout":
			want = text
		case strings.HasPrefix(f.Name, "box/"):
			if err := o.Files.WriteFile("/"+f.Name, f.Data, 0o644); err != nil {
				t.Fatal(err)
			}
		default:
			o.Inputs = append(o.Inputs, input(f.Name, text))
		}
	}
	return o, want
}

// replay makes the calls of a session and writes them down with their answers.
func (b *box) replay(session string) string {
	var got strings.Builder
	for line := range strings.Lines(session) {
		if strings.HasPrefix(line, "#") || line == "\n" {
			got.WriteString(line)
		}
		if !strings.HasPrefix(line, "> ") {
			continue
		}
		name, arguments, _ := strings.Cut(strings.TrimSpace(line[2:]), " ")
		got.WriteString(line)
		if name == "map" {
			got.WriteString(b.Map())
			continue
		}
		text, err := b.try(name, "%s", arguments)
		if err != nil {
			text = fmt.Sprintf("! %s: %v\nhint: %s", fault.KindOf(err), err, fault.Hint(err))
		}
		got.WriteString(indent(text))
	}
	return got.String()
}

// indent keeps answers apart from calls.
func indent(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString("  " + strings.TrimSuffix(line, "\n") + "\n")
	}
	return b.String()
}

// sessionWith returns a shell over a tree with a gauge of its own.
func sessionWith(tree *vfs.FS, gauge *quota.Limiter) *shell.Session {
	sight, err := tree.Child([]string{"/box", "/tmp"})
	if err != nil {
		panic(err)
	}
	return shell.New(shell.Options{FS: sight, Limiter: gauge, Commands: command.All(), Parse: policy.ParseScript})
}
