package secretary

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"hako/agent"
	"hako/audit"
	"hako/gate"
	"hako/policy"
	"hako/quota"
	"hako/run/fault"
)

type record struct {
	mu  sync.Mutex
	all []audit.Event
}

func (r *record) Append(e audit.Event) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, e)
	return nil
}

// story tells what is on record of a request or of the model.
func (r *record) story() string {
	var b strings.Builder
	for _, e := range r.all {
		b.WriteString(string(e.What) + " ")
	}
	return strings.TrimSpace(b.String())
}

func unlisted(err error) (string, bool) {
	var u *policy.UnlistedError
	if errors.As(err, &u) {
		return u.Name, true
	}
	return "", errors.Is(err, policy.ErrUnlisted)
}

// Through the real gate: what the rules refuse is worded as the document has it,
// and teaches.
func TestThroughTheGate(t *testing.T) {
	s, _, h := newSecretary(t, wants("ls", "rm -rf /tmp/test", "env -i nc x", "ls >/etc/x", "echo ("),
		`{"text":"a","bashActions":[{"command":"ls","reason":"r","confirm":true}]}`)
	log := &record{}
	s.Runner = gate.New(h, gate.Options{Policy: policy.Host(policy.Options{Root: "/w"}), Budget: quota.New(quota.Limits{}),
		Log: log})
	s.Unlisted = unlisted
	h.does["ls"] = outcome{out: "a\n"}
	a := chat(t, s, "x")
	for i, want := range []string{"", "SecurityError: コマンドがホワイトリストに登録されていません: rm",
		"SecurityError: コマンドがホワイトリストに登録されていません: nc", "SecurityError: ", "ExecutionError: "} {
		r := a.Results[i]
		if !strings.HasPrefix(r.Error, want) || (want == "") != (r.Error == "") || i == 1 && r.Error != want {
			t.Errorf("%s: %q", r.Command, r.Error)
		}
		if (r.Detail != "") != (i == 1 || i == 2) {
			t.Errorf("%s: detail %q", r.Command, r.Detail)
		}
		if strings.HasPrefix(r.Error, "SecurityError") && r.Hint == "" {
			t.Errorf("%s: the refusal does not teach", r.Command)
		}
	}
	if r := s.runActions(t.Context(), []Action{{Command: "nonesuch x"}})[0]; !strings.HasSuffix(r.Error,
		"登録されていません: nonesuch") || r.Detail != "" {
		t.Errorf("%q, detail %q", r.Error, r.Detail) // that there is no rule says no more
	}
	if got := h.scripts(); len(got) != 1 {
		t.Errorf("ran %q", got)
	}
	if log.all[0].Actor != "secretary" || log.all[0].ID != "secretary/1" || log.all[0].Reason != "r" {
		t.Errorf("on record: %+v", log.all[0])
	}
	if a := chat(t, s, "confirm"); !strings.HasPrefix(a.Results[0].Error, "SecurityError: ") || a.Results[0].Hint == "" ||
		len(h.reqs) != 1 {
		t.Errorf("nobody was there, but %+v", a.Results)
	}
}

// Every question to the model is charged and recorded, and an empty budget ends
// the turn with what there is.
func TestBudget(t *testing.T) {
	s, m, h := newSecretary(t, "承知しました。", wants("ls"))
	log := &record{}
	s.Model = &agent.ChargedModel{Model: m, ID: "s", Name: "m", Actor: "secretary",
		Budget: quota.New(quota.Limits{Calls: 2}), Log: log}
	s.Requery = true
	a, err := s.Chat(t.Context(), "x", Options{})
	if fault.KindOf(err) != fault.Exhausted || a.Text != "はい。" || !a.Partial || len(a.Results) != 1 || len(h.reqs) != 1 {
		t.Errorf("%v, %+v", err, a)
	}
	if got := log.story(); got != "asked model asked model" {
		t.Errorf("on record: %s", got)
	}
	if len(s.items) != 3 {
		t.Errorf("remembered %v", s.items)
	}
}
