package tool

import (
	"testing"

	"hako/run/fault"
)

func TestCLIHelp(t *testing.T) {
	tool := CLIHelp(func(topic string) (string, error) {
		if topic == "nope" {
			return "", &fault.Error{Kind: fault.NotFound, Op: "find help", Subject: topic}
		}
		return "help on " + topic, nil
	})
	for arguments, want := range map[string]string{`{}`: "help on ", `{"topic":"run"}`: "help on run"} {
		if got, err := tool.Call(t.Context(), arguments); got != want || err != nil {
			t.Errorf("%s: %q, %v", arguments, got, err)
		}
	}
	if _, err := tool.Call(t.Context(), `{"topic":"nope"}`); fault.KindOf(err) != fault.NotFound {
		t.Errorf("an unknown topic: %v", err)
	}
}
