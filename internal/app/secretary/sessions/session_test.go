package sessions

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"hako/internal/app/secretary"
	"hako/run/fault"
)

// waits has her say something, and then wait until the turn is over or somebody
// lets her answer.
func (h *house) waits() (began chan string, answer chan struct{}) {
	began, answer = make(chan string, 100), make(chan struct{})
	h.say = func(ctx context.Context, t *talk, text string) error {
		t.Observe(secretary.Event{Type: "text", Text: "well"})
		began <- t.Session
		select {
		case <-answer:
			t.answer(text)
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return began, answer
}

// TestOneTurn refuses a second turn in a conversation, and has one in another.
func TestOneTurn(t *testing.T) {
	h := build(t)
	began, answer := h.waits()
	ended := make(chan error, 2)
	for _, session := range []string{"work", "home"} {
		go func() {
			_, err := h.try(session, "x")
			ended <- err
		}()
		<-began
	}
	_, err := h.try("work", "y")
	want(t, err, fault.Unavailable, "another message of this conversation is being answered")
	_, err = h.try("1", "y") // which is the same
	want(t, err, fault.Unavailable, "another message of this conversation")
	close(answer)
	for range 2 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	h.chat(t, "work", "y")
	if got := h.was(); got != "opened [1 2] closed []" {
		t.Error(got)
	}
}

// TestGoesOn: who leaves hears nothing more, and she goes on to the end.
func TestGoesOn(t *testing.T) {
	h := build(t)
	began, answer := h.waits()
	why := errors.New("the page was closed")
	ctx, cancel := context.WithCancelCause(t.Context())
	var told atomic.Int32
	ended := make(chan error)
	go func() { ended <- h.Chat(ctx, ann, "work", "x", func(Turn) { told.Add(1) }) }()
	<-began
	cancel(why)
	if err := <-ended; err != why || told.Load() != 1 {
		t.Errorf("%v, %d", err, told.Load())
	}
	if !h.isBusy(t, "work") {
		t.Error("she does not go on")
	}
	_, err := h.try("work", "y")
	want(t, err, fault.Unavailable, "another message of this conversation")
	close(answer)
	for h.isBusy(t, "work") {
		time.Sleep(time.Millisecond)
	}
	if all, err := h.Messages(t.Context(), "work", 0); err != nil || len(all) != 1 || told.Load() != 1 {
		t.Errorf("%v, %v, told %d times", all, err, told.Load())
	}
	h.chat(t, "work", "y")
	if got := h.was(); got != "opened [1] closed []" {
		t.Error(got)
	}
}

// isBusy tells whether the list of conversations says so.
func (h *house) isBusy(t *testing.T, session string) bool {
	t.Helper()
	all, err := h.Sessions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		if s.ID == session {
			return s.Busy
		}
	}
	return false
}

// TestStop ends a turn, not the conversation, and says why. Only an operator may.
func TestStop(t *testing.T) {
	h := build(t)
	began, answer := h.waits()
	ended := make(chan error)
	go func() {
		_, err := h.try("work", "x")
		ended <- err
	}()
	<-began
	want(t, h.Stop(t.Context(), bob, "work"), fault.Denied, "a reader may look")
	if err := h.Stop(t.Context(), ann, "none"); fault.KindOf(err) != fault.NotFound {
		t.Error(err)
	}
	for range 2 {
		if err := h.Stop(t.Context(), ann, "work"); err != nil {
			t.Error(err)
		}
	}
	want(t, <-ended, fault.Denied, "a person has stopped the answer")
	if err := h.Stop(t.Context(), ann, "work"); err != nil {
		t.Errorf("nothing to stop: %v", err)
	}
	close(answer)
	h.chat(t, "work", "y")
	if got := h.was(); got != "opened [1] closed []" {
		t.Error(got)
	}
}

// TestStopWhileOpening gives up what comes too late.
func TestStopWhileOpening(t *testing.T) {
	h := build(t)
	h.slow = func(life context.Context) {
		h.Stop(t.Context(), ann, "work")
		<-life.Done()
		h.slow = nil
	}
	h.Open = func(ctx context.Context, o OpenOptions) (Conversation, error) {
		opened, err := h.open(ctx, o)
		return &late{opened.(*talk)}, err
	}
	_, err := h.try("work", "x")
	want(t, err, fault.Denied, "a person has stopped the answer")
	h.Open = h.open
	h.chat(t, "work", "x")
	if got := h.was(); got != "opened [1 1] closed [1]" {
		t.Error(got)
	}
}

// late is a talk whose context has ended before it was used.
type late struct{ *talk }

func (l *late) Close() {
	l.change(func() { l.shut, l.closed = true, append(l.closed, l.Session) })
}

// TestMost closes what was used least recently, but nobody who talks.
func TestMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := build(t)
		h.MaxOpen = 3
		for i := range 3 {
			h.chat(t, fmt.Sprint("s", i+1), "x")
		}
		h.chat(t, "s1", "x")
		h.chat(t, "s4", "x")
		synctest.Wait()
		if got := h.was(); got != "opened [1 2 3 4] closed [2]" {
			t.Error(got)
		}
		// one with a job is kept if there is another, and not if there is none
		h.change(func() { h.talks["3"].busy = true })
		h.chat(t, "s5", "x")
		synctest.Wait()
		if got := h.was(); got != "opened [5] closed [1]" {
			t.Error(got)
		}
		h.change(func() { h.talks["4"].busy, h.talks["5"].busy = true, true })
		h.chat(t, "s6", "x")
		synctest.Wait()
		if got := h.was(); got != "opened [6] closed [3]" {
			t.Error(got)
		}

		began, answer := h.waits()
		for _, session := range []string{"s4", "s5", "s6"} {
			go h.try(session, "x")
			<-began
		}
		_, err := h.try("s7", "x")
		want(t, err, fault.Unavailable, "3 conversations are being answered already")
		close(answer)
		synctest.Wait()
		h.chat(t, "s7", "x")
	})
}

// TestUsualMost has sixteen open.
func TestUsualMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := build(t)
		for i := range 17 {
			h.chat(t, fmt.Sprint("s", i), "x")
		}
		synctest.Wait()
		if len(h.Manager.open) != 16 || len(h.closed) != 1 {
			t.Errorf("%d are open, %v closed", len(h.Manager.open), h.closed)
		}
	})
}

// TestIdle closes a conversation after a quarter of an hour in which nobody talks.
func TestIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := build(t)
		h.chat(t, "work", "x")
		time.Sleep(14 * time.Minute)
		h.chat(t, "work", "x")
		time.Sleep(14 * time.Minute)
		if got := h.was(); got != "opened [1] closed []" {
			t.Error(got)
		}
		h.change(func() { h.talks["1"].busy = true }) // a job goes on
		time.Sleep(20 * time.Minute)
		if got := h.was(); got != "opened [] closed []" {
			t.Error(got)
		}
		h.change(func() { h.talks["1"].busy = false })
		time.Sleep(15 * time.Minute)
		synctest.Wait()
		if got := h.was(); got != "opened [] closed [1]" {
			t.Error(got)
		}
		h.chat(t, "work", "x")
		if got := h.was(); got != "opened [1] closed []" {
			t.Error(got)
		}
	})
}

// TestLongTurn is not idle.
func TestLongTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := build(t)
		h.chat(t, "work", "x")
		began, answer := h.waits()
		go h.try("work", "x")
		<-began
		time.Sleep(time.Hour)
		close(answer)
		synctest.Wait()
		time.Sleep(14 * time.Minute)
		if got := h.was(); got != "opened [1] closed []" {
			t.Error(got)
		}
	})
}

// TestSpent gives up a secretary who has used up her budget, and one whose time is
// over.
func TestSpent(t *testing.T) {
	h := build(t)
	h.say = func(context.Context, *talk, string) error {
		return &fault.Error{Kind: fault.Exhausted, Op: "charge", Why: "50 calls"}
	}
	if _, err := h.try("work", "x"); fault.KindOf(err) != fault.Exhausted {
		t.Error(err)
	}
	h.say = nil
	h.chat(t, "work", "x")
	if got := h.was(); got != "opened [1 1] closed [1]" {
		t.Error(got)
	}
	h.talks["1"].over = true
	h.chat(t, "work", "x")
	if got := h.was(); got != "opened [1] closed [1]" {
		t.Error(got)
	}
}

// TestPanic leaves the conversation usable.
func TestPanic(t *testing.T) {
	h := build(t)
	h.say = func(context.Context, *talk, string) error { panic("oh") }
	_, err := h.try("work", "x")
	want(t, err, fault.Other, "failed unexpectedly", "oh")
	h.say = nil
	h.chat(t, "work", "x")
	if got := h.was(); got != "opened [1 1] closed [1]" {
		t.Error(got)
	}
}

// TestClose ends turns and conversations, and nobody can talk afterwards.
func TestClose(t *testing.T) {
	h := build(t)
	h.chat(t, "idle", "x")
	began, _ := h.waits()
	ended := make(chan error)
	go func() {
		_, err := h.try("work", "x")
		ended <- err
	}()
	<-began
	closed := make(chan error, 2)
	for range cap(closed) {
		go func() { closed <- h.Manager.Close(t.Context()) }()
	}
	want(t, <-ended, fault.Unavailable, "the conversations are being closed")
	for range cap(closed) {
		if err := <-closed; err != nil {
			t.Error(err)
		}
	}
	if len(h.closed) != 2 {
		t.Errorf("closed %v", h.closed)
	}
	_, err := h.try("work", "x")
	want(t, err, fault.Unavailable, "the conversations are being closed")
	if _, err := h.Sessions(t.Context()); err != nil {
		t.Error(err)
	}
	h.talks["1"].Observe(secretary.Event{Type: "text"})
}

// TestCloseUnused needs nothing to have happened.
func TestCloseUnused(t *testing.T) {
	p := new(Manager)
	if err := p.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestCloseInTime does not wait for who does not listen.
func TestCloseInTime(t *testing.T) {
	h := build(t)
	began, answer := make(chan struct{}), make(chan struct{})
	h.say = func(context.Context, *talk, string) error {
		close(began)
		<-answer
		return nil
	}
	go h.try("work", "x")
	<-began
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := h.Manager.Close(ctx); fault.KindOf(err) != fault.Timeout {
		t.Error(err)
	}
	close(answer)
}

// TestCrowd has many talk, listen and leave at the same time.
func TestCrowd(t *testing.T) {
	h := build(t)
	h.MaxOpen, h.Idle = 4, time.Millisecond
	var all sync.WaitGroup
	var had atomic.Int32
	for i := range 200 {
		all.Go(func() {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			err := h.Chat(ctx, ann, fmt.Sprint("s", i%8), "x", func(Turn) {
				if i%5 == 0 {
					cancel()
				}
			})
			switch {
			case err == nil:
				had.Add(1)
			case fault.KindOf(err) != fault.Unavailable && !errors.Is(err, context.Canceled):
				t.Error(err)
			}
			h.Speaks(t.Context())
			h.Voice(t.Context(), i%2 == 0)
		})
	}
	all.Wait()
	if had.Load() == 0 {
		t.Error("nobody had a turn")
	}
}
