package main

import (
	"testing"

	"hako/audit"
	"hako/container/egress"
)

type lastEvent struct{ audit.Event }

func (l *lastEvent) Append(e audit.Event) error {
	l.Event = e
	return nil
}

// What a proxy counts together is counted in the audit log too.
func TestConnectionsCount(t *testing.T) {
	var last lastEvent
	if err := connections("t", &last)(egress.Event{ID: 3, What: egress.Denied, Host: "evil.example", Port: 80, Why: "no",
		Count: 42}); err != nil {
		t.Fatal(err)
	}
	if last.What != audit.Denied || last.Count != 42 || last.Path != "evil.example:80" || last.ID != "t/net-3" ||
		last.Reason != "no" {
		t.Errorf("on record: %+v", last.Event)
	}
}
