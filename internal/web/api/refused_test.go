package api

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Who tries tokens is on record, at either door, but a flood of tries is not.
func TestWrongTokensAreOnRecord(t *testing.T) {
	for door, try := range map[string]func(*house){
		"/login": func(h *house) {
			h.client("").do(
				h.client("").request("POST", "/login", LoginRequest{Token: "x"}))
		},
		"/api/v1/events": func(h *house) { h.client("x").do(h.client("x").request("GET", "/api/v1/events", nil)) },
	} {
		h := build(t)
		for range 30 {
			try(h)
		}
		want := "stranger: was refused: wrong token at " + door +
			", from 127.0.0.1; stranger: was refused: too many tries, from 127.0.0.1"
		if _, record := h.was(); record != want {
			t.Errorf("%s: %s", door, record)
		}
		if err := h.stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		_, record := h.was()
		for _, want := range []string{"stranger: was refused 9 more times: wrong token, from 127.0.0.1",
			"stranger: was refused 19 more times: too many tries, from 127.0.0.1"} {
			if !strings.Contains(record, want) || strings.Count(record, ";") != 1 {
				t.Errorf("%s at the end: %s", door, record)
			}
		}
	}
}

// A reader who tries to change something is on record, with what it was.
func TestReadersWhoTryAreOnRecord(t *testing.T) {
	h := build(t, func(s *Server) { s.MCP = http.NotFoundHandler() })
	c := h.client(h.reader)
	c.refused(403, "POST", "/api/v1/tasks/a/stop", nil)
	c.refused(403, "DELETE", "/api/v1/boxes/b", nil)
	c.refused(403, "POST", "/mcp", "{}")
	if _, record := h.was(); record != "bob: was refused: stop task a, from 127.0.0.1" {
		t.Errorf("%s", record)
	}
	h.server.logRefused()
	c.refused(403, "POST", "/mcp", "{}")
	if _, record := h.was(); record != "bob: was refused 2 more times: a change, from 127.0.0.1; bob: was refused: /mcp, from 127.0.0.1" {
		t.Errorf("%s", record)
	}
}

// A record that is broken changes nothing about the refusal.
func TestRefusedWithoutRecord(t *testing.T) {
	h := build(t)
	h.broken = errInside
	h.client("").refused(401, "POST", "/login", LoginRequest{Token: "x"})
	h.client(h.reader).refused(403, "DELETE", "/api/v1/boxes/b", nil)
}

// However many addresses there are, the record of a minute stays short.
func TestFloodOfAddresses(t *testing.T) {
	w := new(world)
	s := &Server{Record: w.Record}
	s.limits.setDefaults()
	for n := range 10_000 {
		r := &http.Request{RemoteAddr: fmt.Sprintf("10.0.%d.%d:1", n/256, n%256)}
		s.refused(r, unknownActor, "wrong token", "wrong token")
	}
	s.logRefused()
	if len(w.record) > 2*s.limits.refusedAddresses+2 || !strings.HasSuffix(w.record[len(w.record)-1],
		"was refused 9979 more times: wrong token, from other addresses") {
		t.Errorf("%d events, the last is %s", len(w.record), w.record[len(w.record)-1])
	}
}

// Repetitions are told every minute, not only at the end.
func TestRefusalsAreToldEveryMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := new(world)
		s := &Server{Record: w.Record}
		s.limits.setDefaults()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go s.logRefusedRegularly(ctx)
		for range 300 { // one each second
			s.refused(&http.Request{RemoteAddr: "10.0.0.1:1"}, unknownActor, "wrong token", "wrong token")
			time.Sleep(time.Second)
		}
		synctest.Wait()
		if _, record := w.was(); strings.Count(record, ";") > 10 || strings.Count(record, "more times") < 4 {
			t.Errorf("%s", record)
		}
	})
}
