package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hako/internal/testload"
)

// A tmux is a hako in a terminal emulator: what a person would see, not which
// bytes were written.
type tmux struct {
	t      *testing.T
	socket string
	dir    string // where hako works
}

// inTmux starts a hako in a terminal of 80 columns and 24 rows.
func inTmux(t *testing.T, args ...string) *tmux {
	t.Helper()
	return startTmux(t, append([]string{os.Args[0]}, args...)...)
}

// startTmux starts a program there; the name of this one makes it hako.
func startTmux(t *testing.T, words ...string) *tmux {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		missing(t, "no tmux here")
	}
	cmd := hakoCommand(t)
	state, err := os.MkdirTemp("", "tm") // sockets want short names
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(state) })
	m := &tmux{t: t, socket: filepath.Join(state, "s"), dir: cmd.Dir}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(m.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("ask.policy", "ask rm # it does not come back\n")
	write("precious", "x")
	write("word", "rm\n") // which nobody knows before it is read
	start := append([]string{"-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "24"}, words...)
	tm := m.command(start...)
	tm.Env, tm.Dir = append(cmd.Env, "LC_ALL=C.UTF-8"), m.dir
	if out, err := tm.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Cleanup(func() { _ = m.command("kill-server").Run() })
	m.do("set-option", "-g", "remain-on-exit", "on")
	return m
}

func (m *tmux) command(args ...string) *exec.Cmd {
	return exec.Command("tmux", append([]string{"-u", "-S", m.socket}, args...)...)
}

func (m *tmux) do(args ...string) string {
	m.t.Helper()
	out, err := m.command(args...).CombinedOutput()
	if err != nil {
		m.t.Fatalf("tmux %v: %v: %s", args, err, out)
	}
	return string(out)
}

// value is what tmux knows of the terminal by a name.
func (m *tmux) value(name string) string {
	m.t.Helper()
	return strings.TrimSpace(m.do("display-message", "-p", "#{"+name+"}"))
}

// shown is what is on the screen now, without trailing blanks.
func (m *tmux) shown() string {
	m.t.Helper()
	return strings.TrimRight(m.do("capture-pane", "-p"), " \n")
}

// waitFor waits until the screen is as wanted, and returns it.
func (m *tmux) waitFor(what string, good func(screen string) bool) string {
	m.t.Helper()
	screen := ""
	for end := time.Now().Add(testload.Bound(60 * time.Second)); time.Now().Before(end); time.Sleep(
		50 * time.Millisecond) {
		if screen = m.shown(); good(screen) {
			return screen
		}
	}
	m.t.Fatalf("waited for %s, see:\n%s", what, screen)
	return ""
}

const fakeQuestion = `hako: user wants to run: ls\r\nhako: it only looks (builtin:1)\r\n` +
	`hako: allow? [y]es once, for this [s]ession, [N]o: `

// deceits are what a program prints, in the spelling of printf, before a question
// comes up.
var deceits = map[string]string{
	"APC":                 `\033[2J\033[H` + fakeQuestion + `\033_`,
	"OSC":                 `\033[2J\033[H` + fakeQuestion + `\033]0;`,
	"DCS":                 `\033[2J\033[H` + fakeQuestion + `\033P`,
	"PM":                  `\033[2J\033[H` + fakeQuestion + `\033^`,
	"SOS":                 `\033[2J\033[H` + fakeQuestion + `\033X`,
	"title":               `\033[2J\033[H` + fakeQuestion + `\033k`,
	"half a sequence":     `\033[2J\033[H` + fakeQuestion + `\033[38;5`,
	"half a character":    `\033[2J\033[H` + fakeQuestion + `\343\201`,
	"alternate screen":    `\033[?1049h\033[2J\033[H` + fakeQuestion,
	"old alternate":       `\033[?47h\033[2J\033[H` + fakeQuestion,
	"hidden":              fakeQuestion + `\033[8m`,
	"black on black":      fakeQuestion + `\033[30;40m`,
	"scroll region":       `\033[2J\033[1;2r\033[1;1H` + fakeQuestion + `\033[1;1H`,
	"origin and region":   `\033[2J\033[3;4r\033[?6h\033[1;1H`,
	"line drawing":        fakeQuestion + `\033(0`,
	"line drawing by SO":  fakeQuestion + `\033)0\016`,
	"insert":              fakeQuestion + `\033[4h`,
	"no wrapping":         fakeQuestion + `\033[?7l`,
	"invisible cursor":    fakeQuestion + `\033[?25l`,
	"synchronized update": fakeQuestion + `\033[?2026h`,
	"saved cursor":        `\033[1;1H\0337\033[24;1H` + fakeQuestion,
	"no tab stops":        fakeQuestion + `\033[3g`,
	"cursor on top":       `\033[2J\033[5;1H` + fakeQuestion + `\033[1;70H`,
	"plain":               fakeQuestion,
}

// lastOfQuestion ends every question at a terminal.
const lastOfQuestion = "hako: allow? [y]es once, for this [s]ession, [N]o:"

// asksAbout reports whether the last rows of a screen are the question about
// removing a file, whole and ready to be answered.
func asksAbout(screen, command string) bool {
	rows := strings.Split(screen, "\n")
	if len(rows) < 3 {
		return false
	}
	rows = rows[len(rows)-3:]
	return strings.TrimRight(rows[0], " ") == "hako: user wants to run: "+command &&
		strings.Contains(rows[1], "it does not come back (ask.policy:1)") &&
		strings.TrimRight(rows[2], " ") == lastOfQuestion
}

// TestDeceit has programs do to the terminal what they can before a question
// comes up: the last thing on the screen is the real question, and n keeps what
// it asks about.
func TestDeceit(t *testing.T) {
	for name, text := range deceits {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := inTmux(t, "sh", "--rw", ".", "--rules", "ask.policy", "-c", shellDeceit(text))
			m.waitFor("the question", asksAboutIn)
			if name == "invisible cursor" && m.value("cursor_flag") != "1" {
				t.Error("the cursor is not visible")
			}
			if name == "black on black" || name == "hidden" {
				last := lastRow(m.do("capture-pane", "-p", "-e"))
				if strings.Contains(last, "\x1b[") {
					t.Errorf("the question is not plain: %q", last)
				}
			}
			m.do("send-keys", "n", "Enter")
			m.waitFor("the end", func(string) bool { return m.value("pane_dead") == "1" })
			if _, err := os.Stat(filepath.Join(m.dir, "precious")); err != nil {
				t.Error(err)
			}
		})
	}
}

// shellDeceit prints a text and then has a person asked about removing a file.
func shellDeceit(text string) string {
	return `printf '` + text + `'; $(cat word) precious; echo status $?`
}

// TestDeceitByPrograms does the same by a program of this machine.
func TestDeceitByPrograms(t *testing.T) {
	m := inTmux(t, "host", "exec", "--root", ".", "--rules", "ask.policy", "--", shellDeceit(deceits["APC"]))
	m.waitFor("the question", asksAboutIn)
	m.do("send-keys", "n", "Enter")
	m.waitFor("the end", func(string) bool { return m.value("pane_dead") == "1" })
	if _, err := os.Stat(filepath.Join(m.dir, "precious")); err != nil {
		t.Error(err)
	}
}

// TestDeceitThroughAPipe has another program bring the output to the terminal.
func TestDeceitThroughAPipe(t *testing.T) {
	script := shellDeceit(deceits["alternate screen"])
	m := startTmux(t, "sh", "-c", `"$0" "$@" | cat`, os.Args[0], "sh", "--rw", ".", "--rules", "ask.policy", "-c", script)
	m.waitFor("the question", asksAboutIn)
	m.do("send-keys", "n", "Enter")
	m.waitFor("the end", func(string) bool { return m.value("pane_dead") == "1" })
}

// TestDeceitMeanwhile has another part of the script print while a question is
// open, by both streams: it waits until the question was answered, and nothing
// is lost.
func TestDeceitMeanwhile(t *testing.T) {
	for _, descriptor := range []string{"3", "2"} { // 3 is standard output
		m := inTmux(t, "sh", "--rw", ".", "--rules", "ask.policy", "-c", `
			{ { while ! test -e asked; do sleep 0.05; done
			  touch began
			  for i in 1 2 3 4 5; do printf '\033[2J\033[Hpainted %s' $i >&`+descriptor+`; sleep 0.1; done
			  echo; } | { $(cat word) precious; cat >/dev/null; }; } 3>&1; echo all; read x`) // a pane that ends is moved up
		m.waitFor("the question", asksAboutIn)
		if err := os.WriteFile(filepath.Join(m.dir, "asked"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		m.waitFor("the other part", func(string) bool {
			_, err := os.Stat(filepath.Join(m.dir, "began"))
			return err == nil
		})
		for range 10 { // time for many paintings
			time.Sleep(100 * time.Millisecond)
			if screen := m.shown(); !asksAboutIn(screen) {
				t.Fatalf("the question was painted over:\n%s", screen)
			}
		}
		m.do("send-keys", "y", "Enter")
		m.waitFor("what waited", func(screen string) bool {
			return strings.Contains(screen, "painted 5") && strings.Contains(screen, "all")
		})
		if _, err := os.Stat(filepath.Join(m.dir, "precious")); err == nil {
			t.Error("it was allowed and not done")
		}
	}
}

// TestLongQuestion asks about more than the screen holds, which says so.
func TestLongQuestion(t *testing.T) {
	script := `$(cat word) precious ` + strings.Repeat("x", 3000)
	m := inTmux(t, "sh", "--rw", ".", "--rules", "ask.policy", "-c", script)
	m.waitFor("the question", func(screen string) bool {
		return strings.Contains(screen, "above the screen") && lastRow(screen) == lastOfQuestion
	})
	m.do("send-keys", "n", "Enter")
}

// asksAboutIn knows the question with the line about the directory.
func asksAboutIn(screen string) bool {
	rows := strings.Split(screen, "\n")
	for i, row := range rows {
		if strings.HasPrefix(row, "hako: in ") {
			return asksAbout(strings.Join(append(rows[:i:i], withoutIndent(rows[i+1:])...), "\n"), "rm precious")
		}
	}
	return asksAbout(screen, "rm precious")
}

// withoutIndent leaves out the rows that go on with one before.
func withoutIndent(rows []string) (rest []string) {
	for _, row := range rows {
		if !strings.HasPrefix(row, "      ") {
			rest = append(rest, row)
		}
	}
	return rest
}

func lastRow(screen string) string {
	rows := strings.Split(strings.TrimRight(screen, " \n"), "\n")
	return rows[len(rows)-1]
}
