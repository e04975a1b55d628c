package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"hako/llm"
)

// lines reads everything there is.
func lines(from io.Reader) (all []string, err error) {
	for l := NewLines(from); ; {
		line, whole, err := l.Next()
		if err != nil {
			return all, err
		}
		text := string(line)
		if !whole {
			text += "(cut)"
		}
		all = append(all, text)
	}
}

func TestLines(t *testing.T) {
	for text, want := range map[string][]string{
		"": nil, "a": {"a(cut)"}, "a\n": {"a"}, "a\r\nb\n\nc": {"a", "b", "", "c(cut)"}, "\n\n": {"", ""}, "日\r": {"日(cut)"},
		"a\rb\n": {"a\rb"},
	} {
		for name, from := range map[string]io.Reader{
			"whole": strings.NewReader(text), "bytes": iotest.OneByteReader(strings.NewReader(text)),
			"with EOF": iotest.DataErrReader(strings.NewReader(text)),
		} {
			if got, err := lines(from); !slices.Equal(got, want) || err != io.EOF {
				t.Errorf("%q, %s: %q, %v", text, name, got, err)
			}
		}
	}
}

func TestLinesBreakOff(t *testing.T) {
	broken := errors.New("broken")
	got, err := lines(io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(broken)))
	if !slices.Equal(got, []string{"a"}) || err != broken {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := lines(stuck{}); err != io.ErrNoProgress {
		t.Errorf("%v", err)
	}
}

// stuck is a reader that reads nothing.
type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }

func TestLineLengths(t *testing.T) {
	text := strings.Repeat("x", maxLine)
	for end, want := range map[string]error{"": nil, "\n": nil, "x": errLong, "x\n": errLong} {
		line, whole, err := NewLines(io.MultiReader(strings.NewReader(text), strings.NewReader(end))).Next()
		if err != want || err == nil && (len(line) != maxLine || whole != (end == "\n")) {
			t.Errorf("%q at the end: %d bytes, %v, %v", end, len(line), whole, err)
		}
	}
}

// events reads everything there is, as name=data.
func events(from io.Reader) (all []string, err error) {
	for e := NewEvents(from); ; {
		event, err := e.Next()
		if err != nil {
			return all, err
		}
		text := fmt.Sprintf("%s=%s", event.Name, event.Data)
		if event.Last {
			text += "(last)"
		}
		all = append(all, text)
	}
}

func TestEvents(t *testing.T) {
	tests := []struct {
		name, text string
		want       []string
	}{
		{"nothing", "", nil},
		{"plain", "event: a\ndata: {}\n\ndata: x\n\n", []string{"a={}", "=x"}},
		{"crlf", "event: a\r\ndata: {}\r\n\r\ndata: x\r\n\r\n", []string{"a={}", "=x"}},
		{"comments", ": hello\ndata: x\n: OPENROUTER PROCESSING\n\n:\n\n", []string{"=x"}},
		{"no space", "data:x\n\ndata:  y\n\n", []string{"=x", "= y"}},
		{"several lines", "data: a\ndata: b\ndata:\ndata: c\n\n", []string{"=a\nb\n\nc"}},
		{"no blank line at the end", "data: a\n\nevent: e\ndata: b\n", []string{"=a", "e=b(last)"}},
		{"no line end at the end", "data: a\n\ndata: b", []string{"=a", "=b(last)"}},
		{"no data", "event: a\n\nevent: b\ndata\n\ndata:\n\ndata: x\n\n", []string{"=x"}},
		{"other fields", "id: 7\nretry: 10\nfoo\ndata: x\n\n", []string{"=x"}},
		{"byte order mark", "\ufeffdata: x\n\n", []string{"=x"}},
		{"many blank lines", "\n\n\ndata: x\n\n\n\n", []string{"=x"}},
	}
	for _, tt := range tests {
		for _, from := range []io.Reader{strings.NewReader(tt.text), iotest.OneByteReader(strings.NewReader(tt.text))} {
			if got, err := events(from); !slices.Equal(got, tt.want) || err != io.EOF {
				t.Errorf("%s: %q, %v", tt.name, got, err)
			}
		}
	}
}

func TestEventsTooLong(t *testing.T) {
	line := "data: " + strings.Repeat("x", 1<<20) + "\n"
	if _, err := events(strings.NewReader(strings.Repeat(line, 9) + "\n")); err != errLong {
		t.Errorf("%v", err)
	}
	broken := errors.New("broken")
	if got, err := events(io.MultiReader(strings.NewReader("data: a\n"), iotest.ErrReader(broken))); got != nil ||
		err != broken {
		t.Errorf("%q, %v", got, err)
	}
}

func FuzzEvents(f *testing.F) {
	for _, text := range []string{"event: a\ndata: {}\n\n", "data: a\r\ndata:b\r\n\r\n: c\n\ndata: d",
		"\ufeffdata\n\ndata:\n", "id: 1\n\n\n"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		whole, err := events(bytes.NewReader(data))
		torn, again := events(iotest.OneByteReader(bytes.NewReader(data)))
		if !slices.Equal(whole, torn) || err != again || err != io.EOF {
			t.Errorf("whole %q (%v), torn %q (%v)", whole, err, torn, again)
		}
		// Ended properly, the same events come out, but for the last one's mark.
		ended, _ := events(bytes.NewReader(append(bytes.Clone(data), "\n\n"...)))
		for i := range whole {
			if i < len(ended) && strings.TrimSuffix(whole[i], "(last)") != ended[i] && !strings.HasSuffix(string(data), "\r") {
				t.Errorf("event %d: %q, ended %q", i, whole[i], ended[i])
			}
		}
	})
}

func FuzzAppendString(f *testing.F) {
	for _, text := range []string{"", "a\"b\\c", "<&>\u2028", "日本\n\t\r\x00\x1f\x7f", "\xff\xfe日\xe6\x97", "\ufffd"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var back string
		quoted := AppendString([]byte("x"), text)[1:]
		if err := json.Unmarshal(quoted, &back); err != nil || back != string([]rune(text)) {
			t.Errorf("%q became %s, then %q: %v", text, quoted, back, err)
		}
		if strings.ContainsAny(text, "<>&") && bytes.Contains(quoted, []byte(`\u003`)) && !strings.Contains(text, `u003`) {
			t.Errorf("escaped for HTML: %s", quoted)
		}
	})
}

func TestWriting(t *testing.T) {
	b := []byte{'{'}
	b = Text(b, "a", `"`)
	b = Raw(b, "b", "[")
	b = append(Entry(b), '1')
	b = append(Entry(b), '2')
	b = append(b, ']')
	b = AppendRaw(Member(b, "c"), json.RawMessage(`{"x": 1}`), "{}")
	b = AppendRaw(Member(b, "d"), json.RawMessage(`{"x`), "{}")
	b = AppendRaw(Member(b, "e"), nil, "[]")
	b = AppendRaw(Member(b, "f"), json.RawMessage("null"), "[]")
	if got := string(append(b, '}')); got != `{"a":"\"","b":[1,2],"c":{"x": 1},"d":{},"e":[],"f":[]}` {
		t.Error(got)
	}
	for text, want := range map[string]bool{`{}`: true, " {\"a\":[]}\n": true, "": false, "[]": false, `{"a"`: false,
		"{} {}": false, `"{}"`: false, "null": false} {
		if IsObject([]byte("before"), text) != want {
			t.Errorf("%q", text)
		}
	}
}

func TestLoose(t *testing.T) {
	for text, want := range map[string]LenientString{`{"L":"a\n"}`: "a\n", `{"L":null}`: "", `{}`: "",
		`{"L":{"a": 1}}`: `{"a": 1}`, `{"L":7}`: "7", `{"L":""}`: ""} {
		var v struct{ L LenientString }
		if err := json.Unmarshal([]byte(text), &v); err != nil || v.L != want {
			t.Errorf("%s: %q, %v", text, v.L, err)
		}
	}
}

func TestIdentify(t *testing.T) {
	d := &llm.Dialog{Items: []llm.Item{{Calls: []llm.Call{{ID: "call_1"}, {ID: "x"}}},
		{Calls: []llm.Call{{ID: "call_4"}}}}}
	calls := []llm.Call{{}, {ID: "x"}, {ID: "y"}, {ID: "y"}, {ID: "call_5"}}
	Identify(d, calls)
	var got []string
	for _, c := range calls {
		got = append(got, c.ID)
	}
	if !slices.Equal(got, []string{"call_5", "call_6", "y", "call_7", "call_8"}) {
		t.Error(got)
	}
}
