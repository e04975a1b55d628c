package main

import (
	"context"
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	tests := []struct {
		args          []string
		status        int
		out, messages string
	}{
		{nil, 2, "", "usage"},
		{[]string{"none.yaml"}, 2, "", "none.yaml"},
		{[]string{"main.go"}, 2, "", "read scenario"},
		{[]string{"../testdata/count-responses.yaml"}, 1, "export OPENAI_API_KEY='sk-test-0123456789abcdef'\n",
			"step 1 (responses) was never asked for"},
		{[]string{"../testdata/search-brave.yaml"}, 1, "unset OPENAI_API_KEY\n", "3 violations"},
	}
	for _, tt := range tests {
		var out, messages strings.Builder
		status := run(ctx, tt.args, &out, &messages)
		if status != tt.status || !strings.Contains(out.String(), tt.out) ||
			!strings.Contains(messages.String(), tt.messages) {
			t.Errorf("%v: %d\n%s\n%s", tt.args, status, out.String(), messages.String())
		}
	}
}
