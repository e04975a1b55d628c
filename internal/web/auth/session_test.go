package auth

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"hako/run/fault"
)

func TestSession(t *testing.T) {
	var s Sessions
	key := Key{digestOf("token")}
	secret, made, err := s.Open(key)
	if err != nil || len(secret) < 43 || made.CSRF == secret || made.Key != key {
		t.Fatalf("%q, %+v, %v", secret, made, err)
	}
	if got, ok := s.Use(secret); !ok || got != made {
		t.Errorf("%+v, %v", got, ok)
	}
	for _, wrong := range []string{"", secret + "x", made.CSRF} {
		if _, ok := s.Use(wrong); ok {
			t.Errorf("%q is a session", wrong)
		}
	}
	if !made.Allows(made.CSRF) || made.Allows("") || made.Allows("x") || (Session{}).Allows("") {
		t.Error("CSRF")
	}
	s.Close(secret)
	if _, ok := s.Use(secret); ok {
		t.Error("closed, but it goes on")
	}
}

func TestSessionEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s Sessions
		used, _, _ := s.Open(Key{})
		idle, _, _ := s.Open(Key{})
		for range 11 {
			time.Sleep(time.Hour)
			if _, ok := s.Use(used); !ok {
				t.Fatal("it ended though it was used")
			}
		}
		if _, ok := s.Use(idle); ok {
			t.Error("nobody used it for 11 hours")
		}
		time.Sleep(time.Hour)
		if _, ok := s.Use(used); ok {
			t.Error("it lasts longer than 12 hours")
		}
		if len(s.all) != 0 {
			t.Errorf("%d are kept", len(s.all))
		}
	})
}

func TestSessionsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := Sessions{Most: 2}
		s.Open(Key{})
		s.Open(Key{})
		if _, _, err := s.Open(Key{}); fault.KindOf(err) != fault.Exhausted {
			t.Errorf("a third: %v", err)
		}
		time.Sleep(2 * time.Hour)
		if _, _, err := s.Open(Key{}); err != nil {
			t.Errorf("after the others ended: %v", err)
		}
	})
}

func TestTries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tries Throttle
		for i := range 10 {
			if w := tries.Wait("a"); w != 0 {
				t.Fatalf("try %d waits %v", i, w)
			}
			tries.Wrong("a")
		}
		w := tries.Wait("a")
		if w <= 0 || w > 6*time.Second {
			t.Errorf("the eleventh waits %v", w)
		}
		if tries.Wait("b") != 0 {
			t.Error("another address waits too")
		}
		time.Sleep(w)
		if w := tries.Wait("a"); w != 0 {
			t.Errorf("after waiting it waits %v", w)
		}
		tries.Wrong("a")
		if tries.Wait("a") == 0 {
			t.Error("one try came back, and there are two")
		}
	})
}

func TestTriesOfAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tries Throttle
		for i := range 100 {
			tries.Wrong(fmt.Sprint(i))
		}
		if tries.Wait("new") == 0 {
			t.Error("many addresses have no limit together")
		}
		time.Sleep(time.Minute)
		tries.Wrong("x")
		if tries.Wait("new") != 0 || len(tries.each) != 1 {
			t.Errorf("after a minute %v, %d addresses", tries.Wait("new"), len(tries.each))
		}
	})
}

// One token cannot take the sessions of all: what it has and uses least gives way.
func TestSessionsOfOneToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s Sessions
		one, other := Key{digestOf("one")}, Key{digestOf("other")}
		kept, _, _ := s.Open(one)
		idle, _, _ := s.Open(one)
		for range 2000 {
			time.Sleep(time.Second)
			s.Use(kept)
			if _, _, err := s.Open(one); err != nil {
				t.Fatal(err)
			}
		}
		if _, _, err := s.Open(other); err != nil || len(s.all) != 51 {
			t.Errorf("%v, %d sessions", err, len(s.all))
		}
		if _, ok := s.Use(kept); !ok {
			t.Error("the one in use has gone")
		}
		if _, ok := s.Use(idle); ok {
			t.Error("the oldest is still there")
		}
	})
}
