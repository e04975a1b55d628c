package openai

import (
	"encoding/json"
	"testing"
)

func TestReasons(t *testing.T) {
	for model, want := range map[string]bool{
		"gpt-5": true, "gpt-5.5-2026-05-01": true, "gpt-5-mini": true, "openai/gpt-5": true, "gpt-10": true,
		"ft:gpt-5:x": true,
		"o1":         true, "o3-mini": true, "o4-mini": true,
		"gpt-4.1-mini": false, "gpt-4o": false, "gpt-5-chat-latest": false, "gpt-oss:20b": false, "gpt-": false,
		"olmo": false, "o": false, "llama3.1": false, "": false,
	} {
		if got := reasons(model); got != want {
			t.Errorf("%q: %v", model, got)
		}
	}
}

func TestStrict(t *testing.T) {
	for schema, want := range map[string]bool{
		`{"type":"object","properties":{"a":{"type":"string","description":"x"}},"required":["a"],"additionalProperties":false}`: true,
		`{"type":"object","properties":{"a":{"type":"array","items":{"type":"object","properties":{},"additionalProperties":false}}},
		  "required":["a"],"additionalProperties":false}`: true,
		`{"type":"object","properties":{},"additionalProperties":false}`:                                                     true,
		`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`:                                            false,
		`{"type":"object","properties":{"a":{"type":"string"}},"required":[],"additionalProperties":false}`:                  false,
		`{"type":"object","properties":{"a":{"type":"string"}},"required":["b"],"additionalProperties":false}`:               false,
		`{"type":"object","properties":{"a":{"type":"string","minLength":1}},"required":["a"],"additionalProperties":false}`: false,
		`{"type":"object","properties":{"a":{"type":"object"}},"required":["a"],"additionalProperties":false}`:               false,
		`{"type":"object","properties":{"a":{"type":"array","items":{"type":"object"}}},
		  "required":["a"],"additionalProperties":false}`: false,
		`{"type":"array"}`: false, `true`: false, ``: false,
	} {
		if got := strict(json.RawMessage(schema)); got != want {
			t.Errorf("%s: %v", schema, got)
		}
	}
}
