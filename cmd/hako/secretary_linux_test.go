package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"hako/gate"
	"hako/internal/app/secretary"
	"hako/internal/fakes"
	"hako/internal/testload"
	"hako/llm"
	"hako/run"
)

// office starts a secretary at a terminal, over a model that plays a scenario.
func office(t *testing.T, scenario string, args ...string) (*screen, *fakes.Server) {
	t.Helper()
	sc, err := fakes.Parse(scenario)
	if err != nil {
		t.Fatal(err)
	}
	server := fakes.Start(sc)
	t.Cleanup(server.Close)
	dir := t.TempDir()
	root := filepath.Join(dir, "proj")
	if err := os.Mkdir(root, 0o700); err != nil {
		t.Fatal(err)
	}
	master, slave := openPty(t)
	s := &screen{t: t, keys: master}
	s.cmd = exec.Command(os.Args[0], append([]string{"secretary", "--no-config", "--root", root}, args...)...)
	s.cmd.Env = append([]string{asHako + "=1", raceSetting + "=" + raceValue, "TERM=xterm", "NO_COLOR=1",
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "XDG_STATE_HOME=" + dir}, server.Env()...)
	s.cmd.Dir = dir
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = slave, slave, slave
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	slave.Close()
	t.Cleanup(func() { _ = s.cmd.Process.Kill() })
	go s.watch()
	return s, server
}

// wentAsWritten fails if the model was not asked as its scenario says.
func wentAsWritten(t *testing.T, server *fakes.Server) {
	t.Helper()
	server.Close()
	for _, v := range server.Finish() {
		t.Error(v)
	}
}

// TestSecretaryTalks has a conversation: text that streams, a command, a to-do,
// what was said, a new beginning.
func TestSecretaryTalks(t *testing.T) {
	s, server := office(t, `
models: [qwen3]
steps:
- on: ollama
  pieces: ['{"text": "はい、', '少し', 'お待ちください。", ', '"todoActions": [{"action": "add", "title": "牛乳を買う"}], ', '"bashActions": [{"command": "mkdir -p sub && ls", "reason": "見る"}]}']
  piece_delay_ms: 30
- {on: ollama, new_dialog: true, want: {lacks: [こんにちは]}, text: '{"text": "はじめまして。"}'}
`, "--no-audio")
	s.waitFor("hako secretary: ollama qwen3")
	s.waitFor("> ")
	s.press("こんにちは\r")
	s.waitFor("はい、少しお待ちください。")
	s.waitFor("added to-do 1: 牛乳を買う")
	s.waitFor("$ mkdir -p sub && ls")
	s.waitFor("sub")
	s.waitFor("> ")
	s.press("/todo\r")
	s.waitFor("#1 牛乳を買う")
	s.waitFor("> ")
	s.press("/history\r")
	s.waitFor("user: こんにちは")
	s.waitFor("assistant: はい、少しお待ちください。")
	s.waitFor("標準出力:")
	s.waitFor("> ")
	s.press("/reset\r")
	s.waitFor("a new conversation")
	s.waitFor("> ")
	s.press("どなたですか\r")
	s.waitFor("はじめまして。")
	s.waitFor("> ")
	s.press("/nope\r") // a mistake does not end it
	s.waitFor("there is no such command")
	s.waitFor("> ")
	s.press("exit\r")
	s.leave(0)
	wentAsWritten(t, server)
}

// TestSecretaryAsks has two commands approved and refused where they come up.
func TestSecretaryAsks(t *testing.T) {
	rules := filepath.Join(t.TempDir(), "rules")
	if err := os.WriteFile(rules, []byte("ask touch # it makes files\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, server := office(t, `
models: [qwen3]
steps:
- {on: ollama, text: '{"text": "作ります。", "bashActions": [{"command": "touch yes.txt", "reason": "試す"}, {"command": "touch no.txt", "reason": "試す"}, {"command": "mkdir sure", "reason": "念のため", "confirm": true}]}'}
- on: ollama
  compacted: true
  want:
    contains: ["✅ コマンド: touch yes.txt", "❌ コマンド: touch no.txt\n   理由: 試す\n   エラー: SecurityError: a person said no", "✅ コマンド: mkdir sure"]
  text: '{"text": "一つだけ作りました。"}'
`, "--no-audio", "--rules", rules, "--requery")
	s.waitFor("> ")
	s.press("作って\r")
	s.waitFor("wants to run: touch yes.txt")
	s.waitFor("it says: 試す")
	s.waitFor("it makes files")
	s.waitFor("allow?")
	s.press("y\r")
	s.waitFor("wants to run: touch no.txt")
	s.waitFor("allow?")
	s.press("n\r")
	s.waitFor("a person said no")
	s.waitFor("wants to run: mkdir sure")
	s.waitFor("confirmation")
	s.waitFor("allow?")
	s.press("y\r")
	s.waitFor("一つだけ作りました。")
	s.waitFor("> ")
	s.press(pressD)
	s.leave(0)
	wentAsWritten(t, server)
	proj := filepath.Join(s.cmd.Dir, "proj")
	for name, want := range map[string]bool{"yes.txt": true, "no.txt": false, "sure": true} {
		if _, err := os.Stat(filepath.Join(proj, name)); (err == nil) != want {
			t.Errorf("%s is there: %v, want %v", name, err == nil, want)
		}
	}
}

// TestSecretaryInterrupted presses Ctrl-C: during an answer, during a command
// and at the prompt. The conversation goes on, with hands and voice.
func TestSecretaryInterrupted(t *testing.T) {
	sound := filepath.Join(t.TempDir(), "said.wav")
	s, server := office(t, `
models: [qwen3]
speech: {says: [待ちます。, 並べます。]}
steps:
- on: ollama
  pieces: ['{"text": "長い話を', 'します。昔々', 'あるところに"}']
  piece_delay_ms: 1500
- on: ollama
  compacted: true
  want: {contains: ["長い話を", "[…]"]}
  text: '{"text": "待ちます。", "bashActions": [{"command": "sleep 97561", "reason": "待つ", "timeout": 60}]}'
- on: ollama
  compacted: true
  want: {contains: ["❌ コマンド: sleep 97561", "中断されました"]}
  text: '{"text": "並べます。", "bashActions": [{"command": "ls -d .", "reason": ""}, {"command": "pwd", "reason": ""}, {"command": "@bg echo later", "reason": ""}]}'
`, "--speech-file", sound)
	s.waitFor("> ")
	s.press("話して\r")
	s.waitFor("長い話を")
	s.press(pressC)
	s.waitFor("interrupted")
	s.waitFor("> ")
	s.press("待って\r")
	s.waitFor("$ sleep 97561")
	s.press(pressC)
	s.waitFor("interrupted")
	s.waitFor("> ")
	s.press("half a line" + pressC) // is dropped
	s.waitFor("> ")
	s.press("並べて\r")
	s.waitFor("並べます。")
	s.waitFor("$ pwd")
	s.waitFor("/proj")
	s.waitFor("job-")
	s.waitFor("> ")
	s.press("exit\r")
	s.leave(0)
	wentAsWritten(t, server)
	if b, err := os.ReadFile(sound); err != nil || !bytes.HasPrefix(b, []byte("RIFF")) {
		t.Errorf("what she said is not there: %v", err)
	}
}

// thinker is a model that says the same each time, once it is let to.
type thinker struct {
	text  string
	asked chan *llm.Dialog
	speak chan struct{}
}

func (m *thinker) Next(ctx context.Context, d *llm.Dialog) (*llm.Turn, error) {
	m.asked <- d
	select {
	case <-m.speak:
		return &llm.Turn{Text: m.text}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// board is the news of jobs.
type board struct{ secretary.Jobs }

func (board) Ask(_ context.Context, verb, _ string, _ int64) (string, error) {
	return verb + ": job-1 done", nil
}

// TestSecretaryTerminated ends a conversation from outside: in order, and with
// the terminal as it was.
func TestSecretaryTerminated(t *testing.T) {
	s, server := office(t, "models: [qwen3]", "--no-audio", "--model", "ollama:qwen3")
	s.waitFor("> ")
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.cmd.Wait() }()
	select {
	case <-ended:
	case <-time.After(testload.Bound(10 * time.Second)):
		t.Fatal("it talks on")
	}
	if got := s.cmd.ProcessState.ExitCode(); got != 130 {
		t.Errorf("status %d", got)
	}
	wentAsWritten(t, server)
}

// TestSecretarySpeaksUp lets ten minutes pass: she says something beside the
// line that is typed, and stops as soon as somebody else speaks.
func TestSecretarySpeaksUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &thinker{text: `{"text": "牛乳の期限は今日です。", "bashActions": [{"command": "ls", "reason": ""}]}`,
			asked: make(chan *llm.Dialog), speak: make(chan struct{})}
		f := newSecretaryTerminal(streams{err: io.Discard}, nil, false)
		f.Conversation = secretary.NewConversation(f.event)
		f.Use(&secretary.Secretary{Model: m, Jobs: board{}, Runner: noHands{t}})
		lines, heard := make(chan inputLine), make(chan inputLine)
		var screen bytes.Buffer
		began := time.Now()
		go func() {
			line, err := f.waitForLine(t.Context(), lines, 10*time.Minute, &screen)
			heard <- inputLine{line, err}
		}()
		d := <-m.asked
		if waited := time.Since(began); waited != 10*time.Minute {
			t.Errorf("she spoke after %v", waited)
		}
		if last := d.Items[len(d.Items)-1].Text; !strings.Contains(last, "しばらく誰も話していません") ||
			!strings.Contains(last, "list: job-1 done") {
			t.Errorf("she was told %q", last)
		}
		if answer, err := f.Attended(agree)(t.Context(), gate.Question{}); answer != gate.No || err != nil {
			t.Errorf("meanwhile a person was asked: %v, %v", answer, err)
		}
		m.speak <- struct{}{}
		synctest.Wait()
		if screen.String() != "牛乳の期限は今日です。\n" {
			t.Errorf("she said %q", screen.String())
		}
		<-m.asked // ten minutes later again, but now somebody types before she has made up her mind
		lines <- inputLine{line: "hello"}
		if got := <-heard; got.line != "hello" || got.err != nil {
			t.Errorf("heard %v", got)
		}
		if answer, _ := f.Attended(agree)(t.Context(), gate.Question{}); answer != gate.Once {
			t.Errorf("afterwards nobody was asked: %v", answer)
		}
	})
}

// TestSecretaryKeepsSilent never speaks up unless she is told to.
func TestSecretaryKeepsSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &secretaryTerminal{}
		lines := make(chan inputLine, 1)
		time.AfterFunc(100*time.Hour, func() { lines <- inputLine{err: io.EOF} })
		if _, err := f.waitForLine(t.Context(), lines, 0, nil); err != io.EOF {
			t.Error(err)
		}
	})
}

func agree(context.Context, gate.Question) (gate.Answer, error) { return gate.Once, nil }

// noHands fails a test in which something is run.
type noHands struct{ t *testing.T }

func (n noHands) Run(context.Context, *run.Request) (run.Result, error) {
	n.t.Error("something was run though nobody had asked for anything")
	return run.Result{}, nil
}
