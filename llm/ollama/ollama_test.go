package ollama

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"hako/internal/testload"
	"hako/llm"
	"hako/llm/wire/wiretest"
	"hako/run/fault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestReplay(t *testing.T) {
	for _, archive := range []string{"testdata/chat.txtar", "testdata/faults.txtar", "testdata/ends.txtar"} {
		wiretest.Replay(t, archive, func(model, url string) llm.Model {
			return New(model, Options{URL: url, Think: "low", KeepAlive: "-1"})
		})
	}
}

const (
	someText = `{"message":{"content":"early"},"done":false}` + "\n"
	theEnd   = `{"message":{"content":""},"done":true,"done_reason":"stop"}` + "\n"
)

// serve runs a server that also keeps the last body it was sent.
func serve(t *testing.T, h func(w http.ResponseWriter, r *http.Request, body string)) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		h(w, r, string(body))
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestSettings(t *testing.T) {
	for want, o := range map[string]Options{
		`{"model":"m","truncate":false,"messages":[],"options":{"num_ctx":16384},"stream":true}`:                                    {},
		`{"model":"m","truncate":false,"think":true,"keep_alive":"10m","messages":[],"options":{"num_ctx":4096},"stream":true}`:     {Think: "true", KeepAlive: "10m", NumCtx: 4096},
		`{"model":"m","truncate":false,"think":false,"keep_alive":300,"messages":[],"options":{"num_ctx":16384},"stream":true}`:     {Think: "false", KeepAlive: "300"},
		`{"model":"m","truncate":false,"think":"high","keep_alive":"5m\"","messages":[],"options":{"num_ctx":16384},"stream":true}`: {Think: "high", KeepAlive: `5m"`, NumCtx: -1},
	} {
		if got := string(New("m", o).(*model).request(new(llm.Dialog))); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// Each request goes on where the one before ended its messages, whatever tools
// may be called and whatever form is asked for.
func TestStableBytes(t *testing.T) {
	m := New("m", Options{KeepAlive: "5m"}).(*model)
	items := []llm.Item{
		{Role: llm.User, Text: "a ]"},
		{Role: llm.Assistant, Calls: []llm.Call{{ID: "c1", Name: "f", Arguments: `{"x":[]}`}}, Source: source,
			Raw: json.RawMessage(`"th]"`)},
		{Role: llm.Result, CallID: "c1", Name: "f", Text: "r"},
		{Role: llm.Assistant, Text: "done"},
		{Role: llm.System, Text: "by the way"},
	}
	choices := []llm.Choice{{}, {None: true}, {Name: "f"}, {}, {None: true}, {}}
	before := ""
	for n := 0; n <= len(items); n++ {
		d := &llm.Dialog{System: "s", Tools: []llm.Tool{{Name: "f"}, {Name: "g"}}, Items: items[:n], Choice: choices[n],
			MaxOutput: int64(n)}
		if n == 2 {
			d.Format = &llm.Format{Schema: json.RawMessage(`{}`)}
		}
		body := string(m.request(d))
		if !json.Valid([]byte(body)) || !strings.HasPrefix(body, before) {
			t.Errorf("request %d does not begin like the one before it:\n%s\n%s", n, before, body)
		}
		at := strings.Index(body, `"messages":[`) + len(`"messages":`)
		dec := json.NewDecoder(strings.NewReader(body[at:]))
		var all []json.RawMessage
		if err := dec.Decode(&all); err != nil || len(all) != n+1 {
			t.Fatalf("%d messages, %v", len(all), err)
		}
		before = body[:at+int(dec.InputOffset())-1]
	}
}

func TestTextArrivesAtOnce(t *testing.T) {
	heard := make(chan bool)
	url := serve(t, func(w http.ResponseWriter, r *http.Request, _ string) {
		io.WriteString(w, someText)
		w.(http.Flusher).Flush()
		select {
		case <-heard:
			io.WriteString(w, theEnd)
		case <-time.After(testload.Bound(5 * time.Second)):
		}
	})
	turn, err := New("m", Options{URL: url}).Next(t.Context(), &llm.Dialog{OnText: func(string) { close(heard) }})
	if err != nil || turn.Text != "early" {
		t.Errorf("%+v, %v", turn, err)
	}
}

func TestCancelAndSilence(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, r *http.Request, _ string) {
		io.WriteString(w, someText)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	start := time.Now()
	_, err := New("m", Options{URL: url}).Next(ctx, &llm.Dialog{OnText: func(string) { cancel(why) }})
	if err != why || time.Since(start) > testload.Bound(2*time.Second) {
		t.Errorf("after %v: %v", time.Since(start), err)
	}
	_, err = New("m", Options{URL: url, Idle: 50 * time.Millisecond}).Next(t.Context(), new(llm.Dialog))
	if fault.KindOf(err) != fault.Timeout || err.Error() != "ask model m: ollama sent nothing for 50ms" {
		t.Errorf("%v", err)
	}
}

func TestLongLine(t *testing.T) {
	for size, fits := range map[int]bool{8<<20 - 500: true, 8 << 20: false} {
		long := strings.Repeat("x", size)
		url := serve(t, func(w http.ResponseWriter, r *http.Request, _ string) {
			io.WriteString(w, strings.Replace(someText, "early", long, 1)+theEnd)
		})
		turn, err := New("m", Options{URL: url}).Next(t.Context(), new(llm.Dialog))
		if fits && (err != nil || turn.Text != long) || !fits && fault.KindOf(err) != fault.TooLarge {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}

func TestNobodyThere(t *testing.T) {
	_, err := New("m", Options{URL: "127.0.0.1:1"}).Next(t.Context(), new(llm.Dialog))
	if err == nil || err.Error() != "ask model m: cannot connect to http://127.0.0.1:1/api/chat" ||
		!strings.Contains(fault.Hint(err), "ollama serve") {
		t.Errorf("%v (%s)", err, fault.Hint(err))
	}
	if _, err := New("m", Options{URL: "ftp://x"}).Next(t.Context(), new(llm.Dialog)); fault.KindOf(err) != fault.Invalid {
		t.Errorf("%v", err)
	}
	if _, err := Models(t.Context(), Options{URL: "ftp://x"}); fault.KindOf(err) != fault.Invalid {
		t.Errorf("%v", err)
	}
}

func TestModels(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, r *http.Request, _ string) {
		if r.URL.Path != "/api/tags" || r.Method != http.MethodGet {
			w.WriteHeader(http.StatusNotFound)
		}
		io.WriteString(w, `{"models":[{"name":"qwen3:8b","model":"qwen3:8b","modified_at":"2026-05-01T10:00:00.5+09:00","size":5200000000,"digest":"x",
			"details":{"family":"qwen3","parameter_size":"8.2B","quantization_level":"Q4_K_M"},"capabilities":["completion","tools"]},{"model":"b"}]}`)
	})
	models, err := Models(t.Context(), Options{URL: url})
	if err != nil || len(models) != 2 || models[1].Name != "b" {
		t.Fatalf("%+v, %v", models, err)
	}
	m := models[0]
	if m.Name != "qwen3:8b" || m.Bytes != 5200000000 || m.Modified.UTC().Format(time.RFC3339) != "2026-05-01T01:00:00Z" ||
		m.Parameters != "8.2B" || m.Quantization != "Q4_K_M" || !slices.Contains(m.Capabilities, "tools") {
		t.Errorf("%+v", m)
	}
	late := serve(t, func(w http.ResponseWriter, r *http.Request, _ string) { <-r.Context().Done() })
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := Models(ctx, Options{URL: late}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

func TestModelNamesAreCleaned(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, r *http.Request, _ string) {
		io.WriteString(w, `{"models":[{"name":"a\u001b[2J","details":{"parameter_size":"8B\u0007","quantization_level":"\u202eQ"},"capabilities":["to\u0000ols"]},
			{"name":"\u200b","model":"b"},{"name":"\u200b"},{"name":"`+strings.Repeat("c", 999)+`"}]}`)
	})
	models, err := Models(t.Context(), Options{URL: url})
	if err != nil || len(models) != 3 || models[0].Name != "a" || models[0].Parameters != "8B" ||
		models[0].Quantization != "Q" ||
		models[0].Capabilities[0] != "tools" || models[1].Name != "b" || len(models[2].Name) != 200 {
		t.Errorf("%+v, %v", models, err)
	}
}

func TestTooManyCalls(t *testing.T) {
	for n, fits := range map[int]bool{256: true, 257: false} {
		url := serve(t, func(w http.ResponseWriter, r *http.Request, _ string) {
			io.WriteString(w, strings.Repeat(`{"message":{"tool_calls":[{"function":{"name":"f"}}]}}`+"\n", n)+theEnd)
		})
		turn, err := New("m", Options{URL: url}).Next(t.Context(), new(llm.Dialog))
		if fits && (err != nil || len(turn.Calls) != n) || !fits &&
			(err == nil || err.Error() != "ask model m: the answer makes more than 256 calls") {
			t.Errorf("%d: %v", n, err)
		}
	}
}

func TestNormalize(t *testing.T) {
	for host, want := range map[string]string{
		"": defaultURL, "  ": defaultURL, "0.0.0.0": defaultURL, "0.0.0.0:11434": defaultURL, ":11434": defaultURL,
		"127.0.0.1": defaultURL,
		"host":      "http://host:11434", "host:80": "http://host:80", "http://host": "http://host",
		"https://host/":             "https://host",
		"https://host:8443/ollama/": "https://host:8443/ollama", "host/ollama": "http://host:11434/ollama",
		"::1": "http://[::1]:11434", "[::1]": "http://[::1]:11434", "[::]:8080": "http://[::1]:8080",
		"::":     "http://[::1]:11434",
		`"host"`: "http://host:11434", "http://0.0.0.0:1": "http://127.0.0.1:1", "https://u:p@host": "https://u:p@host",
		defaultURL: defaultURL, "http://": "http://127.0.0.1",
	} {
		if got := Normalize(host); got != want {
			t.Errorf("%q: %s, want %s", host, got, want)
		}
	}
}

func TestRequestIsOneBuffer(t *testing.T) {
	d := &llm.Dialog{System: "s"}
	for range 50 {
		d.Items = append(d.Items,
			llm.Item{Role: llm.Assistant, Text: "見ます", Calls: []llm.Call{{ID: "c", Name: "f", Arguments: `{"a":1}`}}},
			llm.Item{Role: llm.Result, CallID: "c", Name: "f", Text: strings.Repeat("a line of output\n", 50)})
	}
	m := New("m", Options{}).(*model)
	// It is one, but under the race detector, whose pools forget, checking the
	// arguments of a call may take another.
	if n := testing.AllocsPerRun(10, func() { m.request(d) }); n > 3+50 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(someText + theEnd))
	f.Add([]byte(`{"message":{"tool_calls":[{"function":{"name":"f","arguments":"x"}},{"id":"call_1"}]},"done":true,"eval_count":-5}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m := New("m", Options{}).(*model)
		var l answerLine
		if json.Unmarshal(data, &l) != nil {
			return
		}
		got := new(collected)
		got.take(&l)
		turn, err := m.turn(new(llm.Dialog), got, &l)
		if err != nil {
			return
		}
		seen := map[string]bool{}
		for _, c := range turn.Calls {
			if c.ID == "" || seen[c.ID] || c.Arguments == "" {
				t.Errorf("call %+v", c)
			}
			seen[c.ID] = true
		}
		if body := m.request(&llm.Dialog{Items: []llm.Item{turn.Item()}}); !json.Valid(body) || turn.Usage.Output < 0 {
			t.Errorf("it cannot be shown again: %s", body)
		}
	})
}

func TestSystemInTheMiddle(t *testing.T) {
	body := string(New("m", Options{}).(*model).request(&llm.Dialog{System: "s", Items: []llm.Item{
		{Role: llm.User, Text: "a"}, {Role: llm.System, Text: "結果"}, {Role: llm.User, Text: "b"}}}))
	const want = `"messages":[{"role":"system","content":"s"},{"role":"user","content":"a"},{"role":"system","content":"結果"},{"role":"user","content":"b"}]`
	if !strings.Contains(body, want) {
		t.Errorf("got %s", body)
	}
}
