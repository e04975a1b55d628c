package app

import (
	"context"
	"testing"

	"hako/gate"
	"hako/internal/app/asksocket"
	"hako/internal/config"
)

func agree(context.Context, gate.Question) (gate.Answer, error) { return gate.Once, nil }

// TestApproverOfTasks: an agent in a process of its own asks at the page while
// that is there.
func TestApproverOfTasks(t *testing.T) {
	state := t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	conf, err := config.Load(config.Source{NoFile: true})
	if err != nil {
		t.Fatal(err)
	}
	w := &Coder{TaskQueue: &TaskQueue{Conf: conf}}
	if w.approver("t") != nil {
		t.Error("somebody is there")
	}
	shut, err := (&asksocket.Server{Dir: askSocketDir(conf), Ask: agree,
		Record: func(string, string) (func(string, error) error, error) {
			return func(string, error) error { return nil }, nil
		}}).Open()
	if err != nil {
		t.Fatal(err)
	}
	if ask := w.approver("t"); ask == nil {
		t.Error("nobody is there")
	} else if a, err := ask(t.Context(), gate.Question{Actor: "agent:t", Command: "git push"}); a != gate.Once ||
		err != nil {
		t.Errorf("%v, %v", a, err)
	}
	shut()
	if w.o.Ask = agree; w.approver("t") == nil {
		t.Error("who was named is not asked")
	}
}
