package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"hako/gate"
	"hako/internal/app"
	"hako/internal/app/access"
	"hako/internal/app/secretary/sessions"
	"hako/internal/app/secretary/store"
	"hako/internal/config"
	"hako/internal/fakes"
	"hako/internal/setup"
	"hako/internal/testload"
	"hako/run/fault"
)

// A salon is a session manager over a model that plays a scenario.
type salon struct {
	*sessions.Manager
	t      *testing.T
	conf   *config.Config
	server *fakes.Server
	root   string
	mu     sync.Mutex // guards asked
	asked  []string
}

func newSalon(t *testing.T, scenario string, settings ...string) *salon {
	t.Helper()
	sc, err := fakes.Parse(scenario)
	if err != nil {
		t.Fatal(err)
	}
	s := &salon{t: t, server: fakes.Start(sc), root: t.TempDir()}
	t.Cleanup(s.server.Close)
	s.conf = settingsFor(t, s.server.Env(), append(settings, "bash_executor.root="+s.root)...)
	st, err := store.Open(config.SecretaryDatabase.Of(s.conf).V)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	s.Manager = app.SecretarySessions(s.conf, app.SecretaryOptions{Store: st}, s.askIn)
	t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return s
}

// settingsFor are those of a home of its own.
func settingsFor(t *testing.T, env []string, settings ...string) *config.Config {
	t.Helper()
	home := t.TempDir()
	for _, pair := range append(env, "HOME="+home, "XDG_STATE_HOME="+home, "XDG_CONFIG_HOME="+home) {
		name, value, _ := strings.Cut(pair, "=")
		t.Setenv(name, value)
	}
	conf, err := setup.Settings{NoFile: true}.Load()
	for _, pair := range settings {
		name, value, _ := strings.Cut(pair, "=")
		err = errors.Join(err, conf.Set(name, "a test", value))
	}
	if err != nil {
		t.Fatal(err)
	}
	return conf
}

// touchRules is a file of rules by which a person is asked about touch.
func touchRules(t *testing.T) string {
	t.Helper()
	rules := filepath.Join(t.TempDir(), "rules")
	if err := os.WriteFile(rules, []byte(asksAboutTouch), 0o600); err != nil {
		t.Fatal(err)
	}
	return rules
}

// askIn agrees to what is harmless.
func (s *salon) askIn(session string) app.Asker {
	return func(_ context.Context, q gate.Question) (gate.Answer, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.asked = append(s.asked, session+": "+q.Command+": "+q.Reason)
		if strings.Contains(q.Command, "no.txt") {
			return gate.No, nil
		}
		return gate.Once, nil
	}
}

// talk has a turn and returns what was told, a line each.
func (s *salon) talk(ctx context.Context, text string) (string, error) {
	var b strings.Builder
	err := s.Chat(ctx, access.Actor{Name: "ann", Role: access.Operator}, "work", text, func(t sessions.Turn) {
		fmt.Fprintf(&b, "%s: %s%s", t.Type, t.Text, t.Action)
		if r := t.Result; r != nil {
			fmt.Fprintf(&b, "%s exit %d out %q denied %q", r.Command, r.Exit, r.Stdout, r.Denied)
		}
		b.WriteByte('\n')
	})
	return b.String(), err
}

func (s *salon) hears(text string, all ...string) {
	s.t.Helper()
	told, err := s.talk(s.t.Context(), text)
	if err != nil {
		s.t.Errorf("%s: %v", text, err)
	}
	for _, want := range all {
		if !strings.Contains(told, want) {
			s.t.Errorf("%s: %s\nwant %q", text, told, want)
		}
	}
}

// TestSecretarySessions has a conversation from elsewhere: commands that are run,
// asked about and refused, to-dos, what is for no model, and what is remembered.
func TestSecretarySessions(t *testing.T) {
	s := newSalon(t, `
models: [qwen3]
steps:
- on: ollama
  text: '{"text": "作ります。", "todoActions": [{"action": "add", "title": "牛乳を買う"}], "bashActions": [{"command": "touch yes.txt", "reason": "試す"}, {"command": "touch no.txt", "reason": "試す"}, {"command": "ls", "reason": "見る"}, {"command": "rm -rf yes.txt", "reason": ""}]}'
- {on: ollama, compacted: true, want: {contains: [作って, 作ります。, "✅ コマンド: touch yes.txt"]}, text: '{"text": "はい。"}'}
- {on: ollama, compacted: true, want: {contains: [作って, 作ります。, "はい。"]}, text: '{"text": "覚えています。"}'}
`, "policy.rules="+touchRules(t), "speech.enabled=false")
	s.hears("作って", "text: 作ります。", "todo: added to-do 1: 牛乳を買う\n", `action: {"command":"touch yes.txt","reason":"試す"}`,
		`result: touch yes.txt exit 0 out "" denied ""`, `result: touch no.txt exit 0 out "" denied "a person said no`,
		`result: ls exit 0 out "yes.txt\n"`, "denied \"コマンドがホワイトリストに登録されていません: rm", "done: 作ります。\n")
	if len(s.asked) != 2 || s.asked[0] != "work: touch yes.txt: 試す" {
		t.Errorf("asked %q", s.asked)
	}
	s.hears("いいですか", "done: はい。")
	s.hears("/todo", "text: #1 牛乳を買う\n", "done: #1 牛乳を買う")
	s.hears(" @todo complete 1 ", "completed to-do 1")
	s.hears("/history", "user: 作って\n")
	s.hears("/help", "/todo")
	for line, says := range map[string]string{"/reset": "start another conversation", "/hlp": "did you mean /help?"} {
		if _, err := s.talk(t.Context(), line); fault.KindOf(err) != fault.Invalid ||
			!strings.Contains(fault.Hint(err), says) {
			t.Errorf("%s: %v", line, err)
		}
	}
	all, err := s.Messages(t.Context(), "work", 100)
	if err != nil || len(all) < 5 || all[0].Text != "作って" || all[1].Text != "作ります。" {
		t.Errorf("%+v, %v", all, err)
	}

	// another hako goes on with it
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	next := app.SecretarySessions(s.conf, app.SecretaryOptions{Store: s.Store}, func(string) app.Asker { return nil })
	defer next.Close(context.Background())
	s.Manager = next
	s.hears("覚えていますか", "done: 覚えています。")
	wentAsWritten(t, s.server)
}

// TestSecretarySessionsAsksForJobs: who talks to her is asked about what she has in
// the background, too.
func TestSecretarySessionsAsksForJobs(t *testing.T) {
	s := newSalon(t, `
models: [qwen3]
steps:
- {on: ollama, text: '{"text": "はい。", "bashActions": [{"command": "@bg touch yes.txt", "reason": "試す"}]}'}
- {on: ollama, compacted: true, text: '{"text": "はい。"}'}
`, "policy.rules="+touchRules(t), "speech.enabled=false")
	s.hears("作って", "job-")
	waitFor(t, func() bool { _, err := os.Stat(filepath.Join(s.root, "yes.txt")); return err == nil })
	s.hears("@bg touch no.txt", "job-")
	waitFor(t, func() bool { told, _ := s.talk(t.Context(), "@job list"); return strings.Contains(told, "denied") })
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.asked) != 2 || s.asked[0] != "work: touch yes.txt: 試す" || s.asked[1] != "work: touch no.txt: " {
		t.Errorf("asked %q", s.asked)
	}
}

// TestSecretarySessionsEnds ends an answer and a command when nobody waits for them.
func TestSecretarySessionsEnds(t *testing.T) {
	s := newSalon(t, `
models: [qwen3]
steps:
- {on: ollama, text: '{"text": "待ちます。", "bashActions": [{"command": "sleep 97562", "reason": "待つ", "timeout": 60}]}'}
- {on: ollama, compacted: true, want: {contains: ["❌ コマンド: sleep 97562", "中断されました"]}, text: '{"text": "はい。", "bashActions": [{"command": "@bg sleep 97563", "reason": ""}]}'}
`, "speech.enabled=false")
	operator, ended := access.Actor{Role: access.Operator}, make(chan error, 1)
	err := s.Chat(t.Context(), operator, "work", "待って", func(turn sessions.Turn) {
		if turn.Type == "action" {
			time.AfterFunc(50*time.Millisecond, func() { _ = s.Stop(t.Context(), operator, "work") })
		}
	})
	if err == nil || !strings.Contains(err.Error(), "a person has stopped the answer") {
		t.Error(err)
	}
	s.hears("続けて", "done: はい。", "job-")
	go func() { ended <- s.Close(context.Background()) }() // the job with it
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(testload.Bound(10 * time.Second)):
		t.Error("she does not leave")
	}
	wentAsWritten(t, s.server)
}

// TestSecretarySessionsSpeaks is heard as long as somebody wants to hear her.
func TestSecretarySessionsSpeaks(t *testing.T) {
	sound := filepath.Join(t.TempDir(), "said.wav")
	s := newSalon(t, `
models: [qwen3]
speech: {says: [二。]}
steps:
- {on: ollama, text: '{"text": "一。"}'}
- {on: ollama, compacted: true, text: '{"text": "二。"}'}
- {on: ollama, compacted: true, text: '{"text": "三。"}'}
`, "speech.file="+sound, "bash_executor.enabled=false")
	speak := func(on bool) {
		t.Helper()
		if got, err := s.Voice(t.Context(), on); err != nil || got != on {
			t.Errorf("%v, %v", got, err)
		}
	}
	if on, err := s.Speaks(t.Context()); on || err != nil {
		t.Errorf("a server speaks by itself: %v", err)
	}
	s.hears("一", "done: 一。")
	speak(true)
	s.hears("二", "done: 二。")
	for deadline := time.Now().Add(testload.Bound(5 * time.Second)); ; time.Sleep(10 * time.Millisecond) {
		if b, err := os.ReadFile(sound); err == nil && bytes.HasPrefix(b, []byte("RIFF")) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("what she said is not there")
		}
	}
	speak(false)
	s.hears("三", "done: 三。")
	wentAsWritten(t, s.server)
}

// TestSecretarySessionsWithoutModel says what is missing, each time.
func TestSecretarySessionsWithoutModel(t *testing.T) {
	s := newSalon(t, "steps: []", "speech.enabled=false")
	for range 2 {
		if _, err := s.talk(t.Context(), "x"); fault.KindOf(err) != fault.Unavailable || fault.Hint(err) == "" {
			t.Error(err)
		}
	}
}

// TestSecretarySessionsWarns tells of what does not work, with what to do about it.
func TestSecretarySessionsWarns(t *testing.T) {
	s := newSalon(t, `
models: [qwen3]
steps:
- {on: ollama, text: '{"text": "はい。"}'}
- {on: ollama, compacted: true, text: '{"text": "はい。"}'}
`, "speech.enabled=false", "secretary.system=/nowhere/at/all", "quota.wall=4m")
	s.hears("x", "warning: read instructions /nowhere/at/all", "(secretary.system names a text file)", "done: はい。")
	s.hears("y", "warning: read instructions") // her time was up: she is another
}

func TestVoiceless(t *testing.T) {
	for says, settings := range map[string][]string{
		"speak: speech is disabled in the settings | set speech.enabled to true": {"speech.enabled=false"},
		"<nil> | ": {"speech.enabled=true", "speech.file=x.wav"},
	} {
		err := app.SecretarySessions(settingsFor(t, nil, settings...), app.SecretaryOptions{}, nil).NoVoice
		if got := fmt.Sprint(err, " | ", fault.Hint(err)); got != says {
			t.Errorf("%v: %s", settings, got)
		}
	}
	if err := app.SecretarySessions(settingsFor(t, nil, "speech.player=afplay"), app.SecretaryOptions{},
		nil).NoVoice; fault.KindOf(err) != fault.Unavailable || !strings.Contains(err.Error(),
		"no program here that plays sound") {
		t.Error(err)
	}
}
