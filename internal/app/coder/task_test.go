package coder

import (
	"slices"
	"testing"

	"hako/run/fault"
)

// TestMoves goes through all pairs of states.
func TestMoves(t *testing.T) {
	legal := map[[2]State]bool{
		{Pending, Processing}: true, {Pending, Failed}: true, {Pending, Paused}: true, {Pending, Stopped}: true,
		{Processing, Done}: true, {Processing, Failed}: true, {Processing, Paused}: true, {Processing, Stopped}: true,
		{Paused, Pending}: true, {Paused, Stopped}: true,
	}
	states := []State{Pending, Processing, Done, Failed, Paused, Stopped}
	all := append(slices.Clone(states), "", "odd")
	for _, from := range all {
		for _, to := range all {
			got, err := from.Move(to)
			if want := legal[[2]State{from, to}]; want != (err == nil) || want && got != to || !want && got != from {
				t.Errorf("%q to %q: %q, %v", from, to, got, err)
			}
			if err != nil && (fault.KindOf(err) != fault.Invalid || from.Final() && fault.Hint(err) == "") {
				t.Errorf("%q to %q: %v", from, to, err)
			}
		}
	}
	for _, s := range states {
		if want := slices.Contains([]State{Done, Failed, Stopped}, s); s.Final() != want {
			t.Errorf("%s is final: %v", s, s.Final())
		}
	}
}

func TestThread(t *testing.T) {
	a, b := exampleTask, exampleTask
	b.ID = "t2"
	if a.Thread() != b.Thread() {
		t.Error("two tasks on one issue have different threads")
	}
	b.Kind = Pull
	if a.Thread() == b.Thread() {
		t.Error("issue and pull request of one number have the same thread")
	}
}

// One name on two forges is two people.
func TestPayer(t *testing.T) {
	for want, task := range map[string]Task{"github/alice": {Provider: "github", Author: "alice"},
		"gitlab/bob": {Provider: "gitlab", Author: "alice", User: "bob"}, "alice": {Author: "alice"}} {
		if got := task.payer(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestCallBefore(t *testing.T) {
	for key, want := range map[string]bool{"call-1-abc": true, "call-2-abc": true, "call-3-abc": false, "call-12-x": false,
		"call-x-1": false, "plan-1": false, "push-1": false, "": false} {
		if got := CallBefore(key, 3); got != want {
			t.Errorf("%s: %v", key, got)
		}
	}
}
