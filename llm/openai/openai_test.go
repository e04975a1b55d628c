package openai

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"hako/internal/testload"
	"hako/llm"
	"hako/llm/wire/wiretest"
	"hako/run/fault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func options(url string) Options {
	return Options{Key: wiretest.Key, KeyFrom: "TEST_API_KEY", BaseURL: url + "/v1/"}
}

func TestResponsesReplay(t *testing.T) {
	for _, archive := range []string{"testdata/responses.txtar", "testdata/responses-faults.txtar",
		"testdata/responses-ends.txtar"} {
		wiretest.Replay(t, archive, func(model, url string) llm.Model { return Responses(model, options(url)) })
	}
}

func TestChatReplay(t *testing.T) {
	for _, archive := range []string{"testdata/chat.txtar", "testdata/chat-faults.txtar", "testdata/chat-ends.txtar"} {
		wiretest.Replay(t, archive, func(model, url string) llm.Model { return Chat(model, options(url)) })
	}
}

// The shortest answers that are whole, and a piece of text before them.
const (
	responsesEnd  = "data: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\"}}\n\n"
	responsesText = "data: {\"type\":\"response.output_text.delta\",\"output_index\":0,\"delta\":\"early\"}\n\n"
	chatEnd       = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"
	chatText      = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"early\"}}]}\n\n"
)

// both runs a test with either interface.
func both(t *testing.T, test func(t *testing.T, dial func(string, Options) llm.Model, text, end string)) {
	t.Run("responses", func(t *testing.T) { test(t, Responses, responsesText, responsesEnd) })
	t.Run("chat", func(t *testing.T) { test(t, Chat, chatText, chatEnd) })
}

func serve(t *testing.T, h http.HandlerFunc) string {
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server.URL
}

// growing returns dialogs of which each goes on where the one before ended, and
// that differ in everything that may differ.
func growing() []*llm.Dialog {
	tools := []llm.Tool{{Name: "execute", Text: "Runs.", Schema: json.RawMessage(`{"type":"object"}`)}}
	items := []llm.Item{
		{Role: llm.User, Text: "数えて"},
		{Role: llm.Assistant, Calls: []llm.Call{{ID: "c1", Name: "execute", Arguments: `{"command":"wc ]}"}`}},
			Source: "openai", Raw: json.RawMessage(`[{"type":"reasoning","id":"r","summary":[],"encrypted_content":"]"}]`)},
		{Role: llm.Result, CallID: "c1", Name: "execute", Text: "3 ]\"}"},
		{Role: llm.Assistant, Text: "three"},
	}
	choices := []llm.Choice{{}, {None: true}, {Name: "execute"}, {}, {}}
	var all []*llm.Dialog
	for n := 0; n <= len(items); n++ {
		d := &llm.Dialog{System: "s", CacheKey: "k", Tools: tools, Items: items[:n], Choice: choices[n],
			MaxOutput: int64(n) * 100}
		if n%2 == 1 {
			d.Format = &llm.Format{Name: "f", Schema: json.RawMessage(`{"type":"object"}`)}
		}
		all = append(all, d)
	}
	return all
}

func TestStableBytes(t *testing.T) {
	for list, dial := range map[string]func(string, Options) llm.Model{"input": Responses, "messages": Chat} {
		var bodies []string
		url := serve(t, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			bodies = append(bodies, string(body))
			w.WriteHeader(http.StatusBadRequest)
		})
		m := dial("gpt-5", options(url))
		for _, d := range growing() {
			m.Next(t.Context(), d)
		}
		for i := range bodies[1:] {
			if before := uptoEnd(t, bodies[i], list); !strings.HasPrefix(bodies[i+1], before) {
				t.Errorf("%s: request %d does not begin like the one before it:\n%s\n%s", list, i+1, before, bodies[i+1])
			}
		}
	}
}

// uptoEnd cuts a body before the bracket that closes a list.
func uptoEnd(t *testing.T, body, list string) string {
	if !json.Valid([]byte(body)) {
		t.Fatalf("not JSON: %s", body)
	}
	at := strings.Index(body, `"`+list+`":[`) + len(list) + 3
	d := json.NewDecoder(strings.NewReader(body[at:]))
	var all []json.RawMessage
	if err := d.Decode(&all); err != nil {
		t.Fatal(err)
	}
	return body[:at+int(d.InputOffset())-1]
}

func TestTextArrivesAtOnce(t *testing.T) {
	both(t, func(t *testing.T, dial func(string, Options) llm.Model, text, end string) {
		heard := make(chan bool)
		url := serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, text)
			w.(http.Flusher).Flush()
			select { // the rest only comes once the text was heard
			case <-heard:
				io.WriteString(w, end)
			case <-time.After(testload.Bound(5 * time.Second)):
			}
		})
		turn, err := dial("m", options(url)).Next(t.Context(), &llm.Dialog{OnText: func(string) { close(heard) }})
		if err != nil || turn.Text != "early" {
			t.Errorf("%+v, %v", turn, err)
		}
	})
}

func TestCancel(t *testing.T) {
	why := errors.New("enough")
	both(t, func(t *testing.T, dial func(string, Options) llm.Model, text, end string) {
		url := serve(t, func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, text)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		})
		ctx, cancel := context.WithCancelCause(t.Context())
		start := time.Now()
		_, err := dial("m", options(url)).Next(ctx, &llm.Dialog{OnText: func(string) { cancel(why) }})
		if err != why || time.Since(start) > testload.Bound(2*time.Second) {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		if _, err = dial("m", options(url)).Next(ctx, new(llm.Dialog)); err != why {
			t.Errorf("asked after the end: %v", err)
		}
	})
}

func TestSilence(t *testing.T) {
	both(t, func(t *testing.T, dial func(string, Options) llm.Model, text, end string) {
		for _, says := range []string{"", text} {
			url := serve(t, func(w http.ResponseWriter, r *http.Request) {
				io.Copy(io.Discard, r.Body)
				w.Header().Set("Content-Type", "text/event-stream")
				if says != "" {
					io.WriteString(w, says)
					w.(http.Flusher).Flush()
				}
				<-r.Context().Done()
			})
			o := options(url)
			o.Idle = 50 * time.Millisecond
			_, err := dial("m", o).Next(t.Context(), new(llm.Dialog))
			if fault.KindOf(err) != fault.Timeout || !strings.HasSuffix(err.Error(), "for 50ms") {
				t.Errorf("after %q: %v", says, err)
			}
		}
	})
}

// Comments and slow pieces keep a connection alive longer than its idle time.
func TestSlowIsNotSilent(t *testing.T) {
	both(t, func(t *testing.T, dial func(string, Options) llm.Model, text, end string) {
		url := serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			for range 6 {
				io.WriteString(w, ": keep-alive\n\n")
				w.(http.Flusher).Flush()
				time.Sleep(150 * time.Millisecond)
			}
			io.WriteString(w, text+end)
		})
		o := options(url)
		o.Idle = 800 * time.Millisecond
		if turn, err := dial("m", o).Next(t.Context(), new(llm.Dialog)); err != nil || turn.Text != "early" {
			t.Errorf("%+v, %v", turn, err)
		}
	})
}

// A server that neither says [DONE] nor hangs up is not waited for.
func TestChatDoesNotWaitForever(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, chatText+strings.TrimSuffix(chatEnd, "data: [DONE]\n\n"))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	o := options(url)
	o.Idle = 500 * time.Millisecond // less than the patience
	if turn, err := Chat("m", o).Next(t.Context(), new(llm.Dialog)); err != nil || turn.Text != "early" {
		t.Errorf("%+v, %v", turn, err)
	}
}

func TestLongLine(t *testing.T) {
	for size, fits := range map[int]bool{8<<20 - 500: true, 8 << 20: false} {
		long := strings.Repeat("x", size)
		url := serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, strings.Replace(responsesText, "early", long, 1)+responsesEnd)
		})
		turn, err := Responses("m", options(url)).Next(t.Context(), new(llm.Dialog))
		if fits && (err != nil || turn.Text != long) || !fits && fault.KindOf(err) != fault.TooLarge {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}

func TestRequestHeaders(t *testing.T) {
	both(t, func(t *testing.T, dial func(string, Options) llm.Model, text, end string) {
		var got []string
		url := serve(t, func(w http.ResponseWriter, r *http.Request) {
			got = append(got, r.Method+" "+r.URL.Path+" "+r.Header.Get("Authorization")+" "+r.Header.Get("Content-Type"))
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, text+end)
		})
		for _, o := range []Options{options(url), {BaseURL: url + "/v1"},
			{BaseURL: " " + url + "/v1//\n", Key: wiretest.Key + "\n"}} {
			if _, err := dial("m", o).Next(t.Context(), new(llm.Dialog)); err != nil {
				t.Error(err)
			}
		}
		path := "POST /v1" + strings.TrimPrefix(dialed(dial), url)
		with, without := path+" Bearer "+wiretest.Key+" application/json", path+"  application/json"
		if !slices.Equal(got, []string{with, without, with}) {
			t.Errorf("%q", got)
		}
	})
}

// dialed returns the path that an interface is at.
func dialed(dial func(string, Options) llm.Model) string {
	if _, ok := dial("m", Options{}).(*chat); ok {
		return "/chat/completions"
	}
	return "/responses"
}

func TestOptionsThatCannotWork(t *testing.T) {
	tests := []struct {
		o          Options
		want, hint string
	}{
		{Options{}, "ask model m: there is no key for openai", "set OPENAI_API_KEY"},
		{Options{KeyFrom: "AICLI_OPENAI_API_KEY", BaseURL: "https://eu.api.openai.com/v1/"},
			"ask model m: there is no key for openai", "set AICLI_OPENAI_API_KEY"},
		{Options{BaseURL: "localhost:8080/v1"}, "ask model m: the base URL is not an address of http or https",
			"write it like https://api.example.com/v1"},
		{Options{BaseURL: "http://%zz"}, "ask model m: the base URL is not an address of http or https",
			"write it like https://api.example.com/v1"},
		{Options{BaseURL: "http://user:" + wiretest.Key + "@127.0.0.1:1/v1?k=" + wiretest.Key},
			"ask model m: cannot connect to http://127.0.0.1:1/v1PATH", "check the base URL, and that the server is running"},
		{Options{BaseURL: "http://127.0.0.1:1", Key: "a b" + wiretest.Key, KeyFrom: "K"},
			"ask model m: the key in K has characters that no key has", "set it again, without spaces and line ends"},
	}
	both(t, func(t *testing.T, dial func(string, Options) llm.Model, text, end string) {
		for _, tt := range tests {
			_, err := dial("m", tt.o).Next(t.Context(), new(llm.Dialog))
			want := strings.Replace(tt.want, "PATH", dialed(dial), 1)
			if err == nil || err.Error() != want || fault.Hint(err) != tt.hint {
				t.Errorf("got %v (%s), want %s (%s)", err, fault.Hint(err), want, tt.hint)
			}
		}
	})
}

// OpenAI itself is called by its name; a client that never leaves this machine
// answers for it.
func TestOpenAIByName(t *testing.T) {
	client := &http.Client{Transport: answers(func(r *http.Request) string {
		return `{"error":{"message":"Incorrect API key provided: ` + r.Header.Get("Authorization") +
			`","code":"invalid_api_key"}}`
	})}
	_, err := Responses("gpt-4.1-mini", Options{Key: wiretest.Key, KeyFrom: "OPENAI_API_KEY", Client: client}).Next(
		t.Context(), new(llm.Dialog))
	const want = "ask model gpt-4.1-mini: openai refused the key in OPENAI_API_KEY (401): invalid_api_key: Incorrect API key provided: Bearer [key]"
	if err == nil || err.Error() != want {
		t.Errorf("%v", err)
	}
}

// answers is a transport that refuses with a body.
type answers func(*http.Request) string

func (a answers) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusUnauthorized, Header: http.Header{},
		Body: io.NopCloser(strings.NewReader(a(r))), Request: r}, nil
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	var visited atomic.Int32
	elsewhere := serve(t, func(w http.ResponseWriter, r *http.Request) { visited.Add(1) })
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere+"/v1", http.StatusPermanentRedirect)
	})
	o := options(url)
	o.Client = new(http.Client) // one that would follow
	_, err := Chat("m", o).Next(t.Context(), new(llm.Dialog))
	if err == nil || !strings.Contains(err.Error(), "redirects to "+elsewhere+"/v1, which is not followed") ||
		visited.Load() != 0 {
		t.Errorf("%d visits, %v", visited.Load(), err)
	}
	if _, err := Models(t.Context(), o); err == nil || visited.Load() != 0 {
		t.Errorf("%d visits, %v", visited.Load(), err)
	}
}

func TestRetriedWhenTold(t *testing.T) {
	both(t, func(t *testing.T, dial func(string, Options) llm.Model, text, end string) {
		asked := 0
		url := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if asked++; asked < 3 {
				w.Header().Set("Retry-After-Ms", "20")
				w.WriteHeader(http.StatusTooManyRequests)
				return
			}
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, text+end)
		})
		var waits []time.Duration
		r := &llm.Retry{Model: dial("m", options(url)), Notify: func(w llm.Waiting) { waits = append(waits, w.Wait) }}
		turn, err := r.Next(t.Context(), new(llm.Dialog))
		if err != nil || turn.Text != "early" ||
			!slices.Equal(waits, []time.Duration{20 * time.Millisecond, 20 * time.Millisecond}) {
			t.Errorf("%v, waited %v", err, waits)
		}
	})
}

// The connection is used again for the next turn.
func TestConnectionIsKept(t *testing.T) {
	both(t, func(t *testing.T, dial func(string, Options) llm.Model, text, end string) {
		from := map[string]bool{}
		url := serve(t, func(w http.ResponseWriter, r *http.Request) {
			from[r.RemoteAddr] = true
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, text+end)
		})
		m := dial("m", options(url))
		for range 3 {
			if _, err := m.Next(t.Context(), new(llm.Dialog)); err != nil {
				t.Fatal(err)
			}
		}
		if len(from) != 1 {
			t.Errorf("%d connections", len(from))
		}
	})
}

func TestModels(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/models" || r.Header.Get("Authorization") != "Bearer "+wiretest.Key {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		io.WriteString(w, `{"object":"list","data":[{"id":"gpt-5","object":"model"},{"id":"gpt-4.1","object":"model"}]}`)
	})
	names, err := Models(t.Context(), options(url))
	if err != nil || !slices.Equal(names, []string{"gpt-4.1", "gpt-5"}) {
		t.Errorf("%v, %v", names, err)
	}
	o := options(url)
	o.Key = "another"
	if _, err = Models(t.Context(), o); err == nil ||
		!strings.HasPrefix(err.Error(), "list models: "+strings.TrimPrefix(url, "http://")+
			" refused the key in TEST_API_KEY (401)") {
		t.Errorf("%v", err)
	}
}

func TestSystemInTheMiddle(t *testing.T) {
	const want = `[{"role":"user","content":"a"},{"role":"system","content":"結果"},{"role":"user","content":"b"}]`
	for list, dial := range map[string]func(string, Options) llm.Model{"input": Responses, "messages": Chat} {
		var body string
		url := serve(t, func(w http.ResponseWriter, r *http.Request) {
			b, _ := io.ReadAll(r.Body)
			body = string(b)
			w.WriteHeader(http.StatusBadRequest)
		})
		dial("gpt-5", options(url)).Next(t.Context(), &llm.Dialog{Items: []llm.Item{
			{Role: llm.User, Text: "a"}, {Role: llm.System, Text: "結果"}, {Role: llm.User, Text: "b"}}})
		if !strings.Contains(body, `"`+list+`":`+want) {
			t.Errorf("%s: got %s", list, body)
		}
	}
}
