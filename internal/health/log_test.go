package health

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"hako/internal/redact"
	"hako/run/fault"
)

const (
	told    = "correct horse battery"                    // known by its value
	spelled = "ghp_0123456789abcdefghijABCDEFGHIJ012345" // known by its spelling
)

type (
	secretive struct {
		Name string
		Pin  []byte
	}
	named []byte
	state string
)

type lazy string

func (l lazy) LogValue() slog.Value { return slog.GroupValue(slog.String("inner", string(l))) }

type loud string

func (l loud) String() string { return "loud " + string(l) }

// logged returns what a logger writes of what use does with it.
func logged(format string, use func(*slog.Logger)) string {
	secrets := new(redact.Set)
	secrets.Add(told)
	var b bytes.Buffer
	use(Logger(&b, format, slog.LevelDebug, secrets))
	return b.String()
}

// object reads a line of JSON.
func object(t *testing.T, line string) map[string]any {
	t.Helper()
	var all map[string]any
	if err := json.Unmarshal([]byte(line), &all); err != nil {
		t.Fatalf("%v: %q", err, line)
	}
	return all
}

func TestNoSecretIsLogged(t *testing.T) {
	for _, secret := range []string{told, spelled} {
		for name, use := range map[string]func(*slog.Logger){
			"message":       func(l *slog.Logger) { l.Info("see " + secret) },
			"attribute":     func(l *slog.Logger) { l.Info("see", "what", "it is "+secret+" indeed") },
			"with":          func(l *slog.Logger) { l.With("what", secret).Info("see") },
			"group":         func(l *slog.Logger) { l.WithGroup("g").Info("see", slog.Group("h", "what", secret)) },
			"lazy":          func(l *slog.Logger) { l.Info("see", "what", lazy(secret)) },
			"error":         func(l *slog.Logger) { l.Info("see", "error", errors.New(secret)) },
			"wrapped error": func(l *slog.Logger) { l.With("error", fmt.Errorf("x: %w", errors.New(secret))).Info("see") },
			"list":          func(l *slog.Logger) { l.Info("see", "argv", []string{"a", secret}) },
			"bytes":         func(l *slog.Logger) { l.Info("see", "body", []byte(secret)) },
			"raw JSON":      func(l *slog.Logger) { l.Info("see", "body", json.RawMessage(`{"a":"`+secret+`"}`)) },
			"named bytes":   func(l *slog.Logger) { l.Info("see", "body", named(secret)) },
			"map":           func(l *slog.Logger) { l.Info("see", "who", map[string]string{"a": secret}) },
			"stringer":      func(l *slog.Logger) { l.Info("see", "who", loud(secret)) },
			"hint": func(l *slog.Logger) {
				l.Info("see", "error", &fault.Error{Op: secret, Hint: "use " + secret})
			},
		} {
			for _, format := range []string{Text, JSON} {
				out := logged(format, use)
				if strings.Contains(out, secret) || !strings.Contains(out, redact.Mark) || strings.Count(out, "\n") != 1 {
					t.Errorf("%s as %s: %s", name, format, out)
				}
			}
		}
	}
}

// What its key or the word before it calls a secret is one, however plain it looks.
func TestNamedSecret(t *testing.T) {
	for _, key := range []string{"password", "api_key", "github_token", "client-secret"} {
		out := logged(Text, func(l *slog.Logger) { l.Info("see", key, "hunter two") })
		if strings.Contains(out, "hunter") || !strings.Contains(out, key+"="+redact.Mark) {
			t.Errorf("%s", out)
		}
	}
	argv := []string{"login", "--password", "hunter"}
	out := logged(JSON, func(l *slog.Logger) { l.Info("see", "argv", argv, "password", argv[:1]) })
	if strings.Contains(out, "hunter") || argv[0] != "login" || argv[2] != "hunter" {
		t.Errorf("%s", out)
	}
}

func TestOrdinaryAttributes(t *testing.T) {
	use := func(l *slog.Logger) {
		l.With("worker", "w-1").WithGroup("task").Info("task ended", "id", "issue-12-k3j9x2ab", "took", 90*time.Second,
			"turns", 7,
			"ok", true, "url", "https://github.com/a/b/issues/12", "cost", 0.25, "argv", []string{"go", "test"}, "nothing", nil,
			slog.Group("tokens", "input", 3))
	}
	out := logged(Text, use)
	want := `level=INFO msg="task ended" worker=w-1 task.id=issue-12-k3j9x2ab task.took=1m30s task.turns=7 task.ok=true ` +
		`task.url=https://github.com/a/b/issues/12 task.cost=0.25 task.argv="[go test]" task.nothing=<nil> task.tokens.input=3` + "\n"
	if _, rest, _ := strings.Cut(out, " "); rest != want {
		t.Errorf("got  %swant %s", rest, want)
	}
	all := object(t, logged(JSON, use))
	task := all["task"].(map[string]any)
	if all["worker"] != "w-1" || task["turns"] != 7.0 || task["ok"] != true || fmt.Sprint(task["argv"]) != "[go test]" ||
		task["nothing"] != nil {
		t.Errorf("%v", all)
	}
}

// What is neither text nor numbers is named, not shown: bytes in it would be
// written in a way in which no secret is found.
func TestStructures(t *testing.T) {
	pin := secretive{"a", []byte(told)}
	for want, v := range map[string]any{
		"(health.secretive)": pin, "(*health.secretive)": &pin, "([]health.secretive)": []secretive{pin},
		"(map[string][]uint8)": map[string][]byte{"a": pin.Pin}, "([21]uint8)": [21]byte(pin.Pin),
		"([]interface {})": []any{pin.Pin},
		"done":             state("done"), "[1 2]": []int{1, 2}, "map[done:1]": map[state]int{"done": 1},
		"(func())": func() {},
	} {
		all := object(t, logged(JSON, func(l *slog.Logger) { l.Info("m", "v", v) }))
		if all["v"] != want {
			t.Errorf("want %s: %v", want, all["v"])
		}
	}
}

func TestFaultInLog(t *testing.T) {
	cause := &fault.Error{Kind: fault.Unavailable, Op: "ask docker", Why: "no answer", Hint: "start docker"}
	for _, err := range []error{cause, fmt.Errorf("begin: %w", cause), errors.Join(errors.New("x"), cause)} {
		all := object(t, logged(JSON, func(l *slog.Logger) { l.Error("stuck", "error", err, "n", 1) }))
		if all["error"] != err.Error() || all["error_kind"] != "unavailable" || all["error_op"] != "ask docker" ||
			all["error_hint"] != "start docker" || all["n"] != 1.0 {
			t.Errorf("%v", all)
		}
	}
	out := logged(Text, func(l *slog.Logger) { l.Error("stuck", "error", cause) })
	if !strings.HasSuffix(out,
		`error="ask docker: no answer" error_kind=unavailable error_op="ask docker" error_hint="start docker"`+"\n") {
		t.Errorf("%s", out)
	}
	out = logged(Text, func(l *slog.Logger) { l.Error("stuck", "error", errors.New("plain")) })
	if !strings.HasSuffix(out, "error=plain\n") {
		t.Errorf("%s", out)
	}
}

type broken struct{ p *int }

func (b *broken) Error() string { return fmt.Sprint(*b.p) }

func TestLoggingNeverPanics(t *testing.T) {
	out := logged(Text, func(l *slog.Logger) {
		l.Info("a", "error", (*fault.Error)(nil))
		l.Info("b", "error", (*broken)(nil))
		l.Info("c", "error", error(nil))
		l.Info("d", []any{"odd"}...)
		l.Info("e", "f", func() {}, "ch", make(chan int))
	})
	if strings.Count(out, "\n") != 5 || strings.Count(out, "(cannot be shown)") != 2 {
		t.Errorf("%s", out)
	}
}

// No text can begin a line of its own or give orders to a terminal.
func TestControlCharacters(t *testing.T) {
	evil := "a\nlevel=ERROR msg=forged\r\x1b[2J\x1b]0;t\x07\x00\x7f\u009b2J\u0085\u2028\u202e\u2066\u200b\U000e0001\xff\t=\"b"
	for _, format := range []string{Text, JSON} {
		out := logged(format, func(l *slog.Logger) {
			l.Info(evil, "key", evil, "error", errors.New(evil), "list",
				[]string{evil})
		})
		if bad := strings.IndexFunc(strings.TrimSuffix(out, "\n"), dangerous); bad >= 0 {
			t.Errorf("%s: %q", format, out[bad:])
		}
	}
	for _, r := range evil {
		out := logged(Text, func(l *slog.Logger) { l.Info("m", "key", string(r)) })
		if strings.IndexFunc(strings.TrimSuffix(out, "\n"), dangerous) >= 0 && r != utf8.RuneError {
			t.Errorf("%U alone: %q", r, out)
		}
	}
	all := object(t, logged(JSON, func(l *slog.Logger) { l.Info(evil, "key", evil) }))
	if want := strings.ToValidUTF8(evil, "\ufffd"); all["msg"] != want || all["key"] != want {
		t.Errorf("not faithful: %q", all["key"])
	}
}

func dangerous(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) || r == utf8.RuneError
}

func TestJapaneseStaysReadable(t *testing.T) {
	text := "課題　１２：テストが失敗する（ｶﾞ・葛󠄀）「引用\"」"
	for _, format := range []string{Text, JSON} {
		out := logged(format, func(l *slog.Logger) { l.Info(text, "題", text) })
		want := strings.ReplaceAll(text, `"`, `\"`)
		if strings.Count(out, want) != 2 || !strings.Contains(out, "題") {
			t.Errorf("%s: %s", format, out)
		}
	}
}

// Only the escapes that quoting made are undone, not what looks like them.
func TestBackslashes(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{`C:\u3000`, `v=C:\u3000`},
		{`C:\u3000 x`, `v="C:\\u3000 x"`},
		{"\\\u3000 \"", "v=\"\\\\\u3000 \\\"\""},
		{"a\u3000b", "v=\"a\u3000b\""},
	} {
		out := logged(Text, func(l *slog.Logger) { l.Info("m", "v", c.text, "w", "a\u3000b") })
		if !strings.Contains(out, " "+c.want+" ") || !strings.HasSuffix(out, "w=\"a\u3000b\"\n") {
			t.Errorf("%s", out)
		}
	}
}

func TestLongText(t *testing.T) {
	out := logged(Text, func(l *slog.Logger) { l.Info("m", "v", strings.Repeat("箱", 1<<20)) })
	if utf8.RuneCountInString(out) > maxText+200 || !strings.Contains(out, "箱…") || !utf8.ValidString(out) {
		t.Errorf("%d bytes", len(out))
	}
}

func TestLevel(t *testing.T) {
	var b bytes.Buffer
	l := Logger(&b, Text, slog.LevelWarn, nil)
	l.Info("no")
	l.With("a", "b").WithGroup("g").Debug("no")
	l.Warn("yes")
	if strings.Count(b.String(), "\n") != 1 {
		t.Errorf("%s", b.String())
	}
	b.Reset()
	Logger(&b, "", nil, nil).Info("yes")
	if !strings.Contains(b.String(), "level=INFO msg=yes") {
		t.Errorf("%s", b.String())
	}
}

func TestConcurrentLogging(t *testing.T) {
	out := logged(JSON, func(l *slog.Logger) {
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				for range 50 {
					l.With("i", i).Info("箱\u202e", "error", errors.New("x"))
				}
			})
		}
		all.Wait()
	})
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	if len(lines) != 400 {
		t.Errorf("%d lines", len(lines))
	}
	for _, line := range lines {
		object(t, line)
	}
}

func TestWriteError(t *testing.T) {
	l := Logger(closed{}, Text, nil, nil)
	if err := l.Handler().Handle(t.Context(), slog.Record{}); !errors.Is(err, errClosed) {
		t.Errorf("%v", err)
	}
}

var errClosed = errors.New("closed")

type closed struct{}

func (closed) Write([]byte) (int, error) { return 0, errClosed }

// Whatever is logged is one line, harmless, and in JSON what it was.
func FuzzLogger(f *testing.F) {
	for _, seed := range []string{"", "a b", "箱\u3000\\u3000\"", "\x1b[0m\r\n", "\\", "\"", "\u009b\U000e0001",
		"password=x", "\xff\\\u3000"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		use := func(l *slog.Logger) { l.Info(text, "key", text) }
		for _, format := range []string{Text, JSON} {
			out, ended := strings.CutSuffix(logged(format, use), "\n")
			if !ended || strings.IndexFunc(out, dangerous) >= 0 && !strings.Contains(text, "\ufffd") {
				t.Errorf("%q", out)
			}
		}
		if len(text) > maxText || redact.Text("key="+text) != "key="+text || strings.Contains(text, told) {
			return
		}
		if got := object(t, logged(JSON, use))["key"]; got != strings.ToValidUTF8(text, "\ufffd") && utf8.ValidString(text) {
			t.Errorf("%q became %q", text, got)
		}
	})
}

func BenchmarkLogger(b *testing.B) {
	l := Logger(new(discard), Text, nil, nil)
	for b.Loop() {
		l.Info("task ended", "id", "issue-12-k3j9x2ab", "state", "done", "took", time.Second)
	}
}

type discard struct{}

func (*discard) Write(p []byte) (int, error) { return len(p), nil }
