package jq_test

import (
	"context"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"hako/shell/jq"
	"hako/shell/stream"
)

// TestParserSplitInput reads byte by byte: an escape may be cut anywhere.
func TestParserSplitInput(t *testing.T) {
	const text = `{"a\"b": "\\\u00e9\ud83d\ude00\n", "c": [1, true, null]}`
	run := jq.New(context.Background(), jq.Host{})
	in := stream.NewReader(iotest.OneByteReader(strings.NewReader(text)))
	p := &jq.Parser{Usage: run.Usage, In: in}
	v, err := p.Value()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := run.ToJSON(v), `{"a\"b":"\\é😀\n","c":[1,true,null]}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if _, err := p.Value(); err != io.EOF {
		t.Errorf("after the value: %v, want EOF", err)
	}
}
