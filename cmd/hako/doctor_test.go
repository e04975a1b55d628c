package main

import (
	"bytes"
	"context"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hako/internal/app"
	"hako/internal/testload"
)

// What hangs is said to hang, and nothing waits for it: not even what notices
// nothing at all.
func TestDoctorDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		forever := make(chan struct{})
		defer close(forever)
		began := time.Now()
		found := runAll(t.Context(), []check{
			{part: "deaf", run: func(context.Context, app.ModelSource) finding { <-forever; return good("") }},
			{part: "slow", run: func(ctx context.Context, _ app.ModelSource) finding {
				<-ctx.Done()
				return off("not running",
					"")
			}},
			{part: "long", run: func(context.Context, app.ModelSource) finding { <-forever; return good("") },
				lateHint: "look elsewhere"},
			{part: "quick", run: func(context.Context, app.ModelSource) finding { return good("%d", 7) }},
		}, app.ModelSource{})
		if took := time.Since(began); took >= 2*time.Second {
			t.Errorf("it took %v", took)
		}
		for i, want := range []finding{
			{Part: "deaf", State: stateFail}, {Part: "slow", State: stateOff, What: "not running"},
			{Part: "long", State: stateWarn, Hint: "look elsewhere"}, {Part: "quick", State: stateOK, What: "7"},
		} {
			got := found[i]
			if got.Part != want.Part || got.State != want.State || want.What != "" && got.What != want.What || want.Hint != "" &&
				got.Hint != want.Hint {
				t.Errorf("%+v, want %+v", got, want)
			}
		}
	})
}

// Services that take a connection and say nothing do not keep the doctor.
func TestDoctorAmongTheDead(t *testing.T) {
	atHome(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() // nobody ever accepts: connections wait in the queue of the system
	at := l.Addr().String()
	for name, value := range map[string]string{
		"OLLAMA_HOST": at, "DOCKER_HOST": "tcp://" + at, "OPENAI_BASE_URL": "http://" + at + "/v1",
		"OPENAI_API_KEY": "sk-test-0123456789abcdef",
		"HAKO_QUEUE_URL": "nats://" + at,
	} {
		t.Setenv(name, value)
	}
	var out bytes.Buffer
	began := time.Now()
	got := Main([]string{"hako", "doctor"}, strings.NewReader(""), &out, new(bytes.Buffer))
	if took := time.Since(began); took > testload.Bound(4*time.Second) { // two, on a machine that does nothing else
		t.Errorf("it took %v", took)
	}
	text := out.String()
	if got != 1 || !strings.Contains(text, "fail openai") || !strings.Contains(text, "ok   policy") ||
		strings.Contains(text, "sk-test") {
		t.Errorf("status %d: %s", got, text)
	}
}
