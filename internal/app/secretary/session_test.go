package secretary

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"hako/internal/redact"
	"hako/policy"
	"hako/run"
	"hako/run/fault"
)

// looks is a secretary who believes that ls and cat only look.
func looks(t *testing.T, answers ...string) (*Secretary, *hands) {
	s, _, h := newSecretary(t, answers...)
	s.ReadOnly = func(script string) bool {
		return script == "ls" || strings.HasPrefix(script, "ls ") || strings.HasPrefix(script, "cat ")
	}
	s.Declares = func(script string) bool {
		file, err := policy.ParseScript(script)
		return err != nil || policy.Declares(file)
	}
	for _, c := range []string{"ls", "ls a", "cat $x", "touch a", "git add .", "ls(){ rm x; }"} {
		h.does[c] = outcome{out: c + "\n"}
	}
	return s, h
}

func TestNoCacheWhileAJobRuns(t *testing.T) {
	s, h := looks(t, wants("ls", "ls"), wants("@bg make"), wants("ls", "ls"), wants("ls", "ls"))
	d := &desk{}
	s.Jobs = d
	if a := chat(t, s, "before"); a.CacheHits != 1 {
		t.Errorf("%+v", a)
	}
	chat(t, s, "begin")
	d.busy = true
	if a := chat(t, s, "meanwhile"); a.CacheHits != 0 || len(h.reqs) != 3 {
		t.Errorf("%d runs, %+v", len(h.reqs), a)
	}
	d.busy = false
	if a := chat(t, s, "after"); a.CacheHits != 1 || len(h.reqs) != 4 {
		t.Errorf("%d runs, %+v", len(h.reqs), a)
	}
}

// A job that somebody else began makes what was seen before worthless, also when
// it has ended.
func TestJobsOfOthers(t *testing.T) {
	s, h := looks(t, wants("ls"), wants("ls"), wants("ls"), wants("ls"))
	d := &desk{}
	s.Jobs = d
	for i, busy := range []bool{false, true, false, false} {
		d.busy = busy
		if a := chat(t, s, "x"); (a.CacheHits == 1) != (i == 3) {
			t.Errorf("%d: %d runs, %+v", i, len(h.reqs), a)
		}
	}
}

// A job that ends while something is looked at may have changed it.
func TestJobEndsWhileLooking(t *testing.T) {
	s, h := looks(t, wants("ls"), wants("ls"))
	d := &desk{busy: true}
	s.Jobs = d
	h.does["ls"] = outcome{out: "half\n", do: func(context.Context) { d.busy = false }}
	chat(t, s, "x")
	if a := chat(t, s, "y"); a.CacheHits != 0 {
		t.Errorf("%+v", a)
	}
}

func TestJobTimeout(t *testing.T) {
	for _, c := range []struct {
		set, want time.Duration
		said      string
	}{{0, time.Hour, ""}, {time.Minute, time.Minute, ""}, {time.Minute, 7 * time.Second, `,"timeout":7`}} {
		s, _, _ := newSecretary(t, `{"text":"a","bashActions":[{"command":"@bg make"`+c.said+`}]}`)
		d := &desk{}
		s.Jobs, s.JobTimeout = d, c.set
		if chat(t, s, "x"); len(d.started) != 1 || d.started[0].Timeout != c.want {
			t.Errorf("%+v", d.started)
		}
	}
}

func TestNothingOnlyLooksAfterADeclaration(t *testing.T) {
	for script, want := range map[string]int{ // to how many results were not run for
		"touch a": 1, "git add .": 1, "ls(){ rm x; }": 0, "function ls { rm x; }": 0, "alias ls='rm x'": 0, "e'v'al x": 0,
		". lib": 0, "if . lib; then :; fi": 0, "source lib": 0, "true && export GIT_DIR=x": 0,
	} {
		s, h := looks(t, wants(script), wants("ls", "ls a", "ls"), wants("cat a", "cat b"))
		chat(t, s, "x")
		if a := chat(t, s, "y"); a.CacheHits != want {
			t.Errorf("%s: %+v", script, a)
		}
		lent := 0
		s.SpareRunner = func() (run.Runner, func(), error) { lent = 1; return h, func() {}, nil }
		s.Parallel = 2
		release := make(chan struct{})
		for _, c := range []string{"cat a", "cat b"} {
			h.does[c] = outcome{do: func(context.Context) {
				if want == 1 {
					both(release)
				}
			}}
		}
		if chat(t, s, "z"); lent != want {
			t.Errorf("%s: %d spare hands", script, lent)
		}
	}
}

// both waits until two have come.
func both(meet chan struct{}) {
	select {
	case meet <- struct{}{}:
	case <-meet:
	}
}

func TestDeclares(t *testing.T) {
	s, h := looks(t, wants("touch a", "ls", "ls"), wants("ls a", "ls", "ls"))
	s.Declares = func(script string) bool { return script == "ls a" }
	if a := chat(t, s, "x"); a.CacheHits != 1 || len(h.reqs) != 2 {
		t.Errorf("%d runs, %+v", len(h.reqs), a)
	}
	if a := chat(t, s, "y"); a.CacheHits != 0 || len(h.reqs) != 5 {
		t.Errorf("%d runs, %+v", len(h.reqs), a)
	}
}

// SpareRunner hands do not know the variables of the session.
func TestVariablesNeedHerOwnHands(t *testing.T) {
	s, h := looks(t, wants("cat $x", "cat $x y", "cat $x z"))
	s.SpareRunner = func() (run.Runner, func(), error) {
		t.Error("spare hands were asked for")
		return nil, nil, errors.New("none")
	}
	if chat(t, s, "x"); len(h.reqs) != 3 {
		t.Errorf("%d runs", len(h.reqs))
	}
}

// Wherever an output is cut, no part of a secret stands at the edge.
func TestNoHalfSecrets(t *testing.T) {
	const secret = "correct-horse-battery-staple"
	for before := range 64 {
		s, _, h := newSecretary(t, wants("ok", "slow", "bad"))
		s.Output, s.Secrets = 64, &redact.Set{}
		s.Secrets.Add(secret)
		text := strings.Repeat("a", before) + secret + strings.Repeat("b", 200) + secret + strings.Repeat("c", 63-before)
		h.does["ok"] = outcome{out: text, errs: text}
		h.does["slow"] = outcome{out: text, errs: text, timedOut: true}
		h.does["bad"] = outcome{out: text, err: &fault.Error{Op: "run", Subject: secret, Why: "of " + secret,
			Hint: "without " + secret}}
		a := chat(t, s, "x")
		shown := s.items[2].Text + jsonText(a)
		for n := 0; n+6 <= len(secret); n++ {
			if strings.Contains(shown, secret[n:n+6]) {
				t.Fatalf("after %d letters: %s", before, shown)
			}
		}
		if a.Results[1].Output == nil || !strings.Contains(a.Results[1].Output.Stdout, "省略") {
			t.Errorf("%+v", a.Results[1])
		}
	}
}

// A program that is still writing when its time is over does not get through.
func TestLateWriters(t *testing.T) {
	s, _, _ := newSecretary(t)
	c := s.capture()
	c.Write([]byte("in time\n"))
	if got := s.captured(c); got != "in time\n" {
		t.Errorf("got %q", got)
	}
	if n, err := c.Write([]byte("too late")); n != 8 || err != nil || s.captured(c) != "in time\n" {
		t.Errorf("%d, %v: %q", n, err, s.captured(c))
	}
}

func TestTodosHaveNoSecrets(t *testing.T) {
	s, _, _ := newSecretary(t,
		`{"text":"a","todoActions":[{"action":"add","title":"use hunter22x","note":"it is hunter22x"}],"bashActions":[{"command":"@todo add hunter22x --note hunter22x"}]}`)
	list := &errands{}
	s.Todos, s.Secrets = list, &redact.Set{}
	s.Secrets.Add("hunter22x")
	chat(t, s, "x")
	if _, err := s.Command(t.Context(), "@todo add 'of mine: hunter22x' --note=hunter22x"); err != nil {
		t.Fatal(err)
	}
	if len(list.did) != 3 || slices.ContainsFunc(list.did, func(a TodoAction) bool {
		return strings.Contains(a.Title+a.Note, "hunter22x") || !strings.Contains(a.Note, redact.Mark)
	}) {
		t.Errorf("%+v", list.did)
	}
}

// What she is asked to say again does not show half a secret either.
func TestSayingAgainHasNoHalfSecrets(t *testing.T) {
	const secret = "correct-horse-battery-staple"
	for before := 980; before < 1002; before++ {
		s, m, _ := newSecretary(t, strings.Repeat("a", before)+secret+strings.Repeat("b", 3000), `{"text":"b"}`)
		s.Secrets = &redact.Set{}
		s.Secrets.Add(secret)
		chat(t, s, "x")
		if got := m.last(2); strings.Contains(got, "correc") {
			t.Fatal(got)
		}
	}
}
