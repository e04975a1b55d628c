package main

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"hako/internal/app/coder/dispatch"
)

// Who runs hako agent once is told what it waits for.
func TestAgentSaysWhatItWaitsFor(t *testing.T) {
	var out, messages strings.Builder
	v := &view{s: streams{out: &out, err: &messages}}
	v.printEvent(dispatch.Event{Type: "waiting", Thread: "github/o/r/issue/1", Attempt: 4, Why: "ask model m:\nit is away"})
	if got := messages.String(); got != "github/o/r/issue/1: waiting for try 4; the last came to nothing: ask model m: it is away\n" || out.Len() > 0 {
		t.Errorf("got %q, %q", got, out.String())
	}
}

// Another try is promised only where one is made, and with its time.
func TestAgentSaysWhatFollows(t *testing.T) {
	for _, c := range []struct {
		event dispatch.Event
		want  string
	}{
		{dispatch.Event{Attempt: 1, Wait: time.Second}, "try 1 came to nothing, it is tried again in 1s: it is away"},
		{dispatch.Event{Attempt: 3, Wait: 30 * time.Second},
			"try 3 came to nothing; it stays in the queue, and try 4 may come in 30s: it is away"},
		{dispatch.Event{Attempt: 25}, "try 25 came to nothing: it is away"},
	} {
		var messages strings.Builder
		v := &view{s: streams{err: &messages}}
		c.event.Type, c.event.Thread, c.event.Why = "failed", "github/o/r/issue/1", "it is away"
		v.printEvent(c.event)
		if got := messages.String(); got != "github/o/r/issue/1: "+c.want+"\n" {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// A wait has an end, which is told with what is waited for.
func TestAgentSaysUntilWhenItWaits(t *testing.T) {
	for _, c := range []struct {
		event dispatch.Event
		want  string
	}{
		{dispatch.Event{Worker: "vm/12", Wait: 20 * time.Second},
			`until \d\d:\d\d:\d\d for a sign of vm/12, which has the task; if none comes, it is taken over`},
		{dispatch.Event{Worker: "vm/12"}, `for a sign of vm/12, which has the task; if none comes, it is taken over`},
		{dispatch.Event{Attempt: 4, Wait: time.Minute, Why: "it is away"},
			`until \d\d:\d\d:\d\d for try 4; the last came to nothing: it is away`},
	} {
		var messages strings.Builder
		v := &view{s: streams{err: &messages}}
		c.event.Type, c.event.Thread = "waiting", "github/o/r/issue/1"
		v.printEvent(c.event)
		if got := messages.String(); !regexp.MustCompile(`^github/o/r/issue/1: waiting ` + c.want + `\n$`).MatchString(got) {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}
