package mcpserver

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// A request as a client of the current protocol sends it; each case changes it.
type posted struct {
	body   string
	head   http.Header
	host   string
	caller string
}

func postedCall(tool, arguments string) *posted {
	return &posted{
		body: `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + arguments + `,` +
			current + `}}`,
		head: http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
			"Mcp-Protocol-Version": {stateless}, "Mcp-Method": {"tools/call"}, "Mcp-Name": {tool}},
		host: "127.0.0.1", caller: "ann",
	}
}

func (p *posted) request(t *testing.T, url string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(p.body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header, r.Host = p.head.Clone(), p.host
	r.Header.Set("Authorization", "Bearer "+p.caller)
	return r
}

// send returns status, kind and message of the answer.
func (p *posted) send(t *testing.T, url string) (status int, kind string, message any) {
	t.Helper()
	res, err := http.DefaultClient.Do(p.request(t, url))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, _ := io.ReadAll(res.Body)
	_, data, stream := strings.Cut(string(text), "event: message\ndata: ")
	if !stream {
		data = string(text)
	}
	data = logNumber.ReplaceAllString(data, "/logs/N")
	if json.Unmarshal([]byte(data), &message) != nil {
		message = data
	}
	return res.StatusCode, res.Header.Get("Content-Type") + res.Header.Get("Cache-Control"), message
}

// logNumber is of the output that is kept, which is another each time.
var logNumber = regexp.MustCompile(`/logs/\d+`)

// swapped changes the body of a request.
func swapped(old, new string) func(*posted) {
	return func(p *posted) { p.body = strings.Replace(p.body, old, new, 1) }
}

func headed(name, value string) func(*posted) {
	return func(p *posted) { p.head.Set(name, value) }
}

// oddities are requests that are not plain, most of them mistakes.
var oddities = map[string]func(*posted){
	"another name":       swapped(`"name":"execute"`, `"name":"read_file"`),
	"escaped name":       swapped(`"name":"execute"`, `"name":"\u0065xecute"`),
	"large letters":      swapped(`"name"`, `"Name"`),
	"another method":     swapped("tools/call", "tools/list"),
	"method in the head": headed("Mcp-Method", "tools/list"),
	"no method":          func(p *posted) { p.head.Del("Mcp-Method") },
	"no name":            func(p *posted) { p.head.Del("Mcp-Name") },
	"unknown tool":       func(p *posted) { headed("Mcp-Name", "x")(p); swapped(`"name":"execute"`, `"name":"x"`)(p) },
	"another version":    swapped(stateless, "2025-06-18"),
	"a later version": func(p *posted) {
		headed("Mcp-Protocol-Version", "2027-01-01")(p)
		swapped(stateless,
			"2027-01-01")(p)
	},
	"no version":         swapped("io.modelcontextprotocol/protocolVersion", "x"),
	"no capabilities":    swapped("io.modelcontextprotocol/clientCapabilities", "x"),
	"bad capabilities":   swapped(`clientCapabilities":{}`, `clientCapabilities":{"elicitation":7}`),
	"bad client":         swapped(`"_meta":{`, `"_meta":{"io.modelcontextprotocol/clientInfo":7,`),
	"meta is a list":     swapped(`"_meta":{`, `"_meta":[],"x":{`),
	"no id":              swapped(`"id":7,`, ``),
	"id null":            swapped(`"id":7`, `"id":null`),
	"id with a fraction": swapped(`"id":7`, `"id":7.5`),
	"id is an object":    swapped(`"id":7`, `"id":{}`),
	"an old rpc":         swapped(`"2.0"`, `"1.0"`),
	"one field more":     swapped(`"id":7`, `"id":7,"x":1`),
	"progress":           swapped(`"_meta":{`, `"_meta":{"progressToken":1,`),
	"a state":            swapped(`"name"`, `"requestState":"x","name"`),
	"a batch":            func(p *posted) { p.body = "[" + p.body + "]" },
	"cut off":            func(p *posted) { p.body = p.body[:len(p.body)-1] },
	"two":                func(p *posted) { p.body += p.body },
	"nothing":            func(p *posted) { p.body = "" },
	"a foreign host":     func(p *posted) { p.host = "evil.example" },
	"no stream":          headed("Accept", "application/json"),
	"another type":       headed("Content-Type", "text/plain"),
	"a resumed stream":   headed("Last-Event-Id", "1"),
	"long":               swapped("echo hi", "echo hi "+strings.Repeat("#", maxFastPath)),
}

// What is not plain gets to the library, whole; what is plain does not.
func TestPlainOrNot(t *testing.T) {
	d := open(t, Options{Maker: newVirtual(""), Caller: byHeader})
	var body string
	reached := false
	library := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		body, reached = string(text), true
	})
	s := httptest.NewServer(d.authenticate(d.fastPath(library)))
	defer s.Close()
	for name, change := range oddities {
		p := postedCall("execute", `{"sandbox_id":"x","command":"echo hi"}`)
		change(p)
		reached = false
		if p.send(t, s.URL); !reached || body != p.body {
			t.Errorf("%s: reached %v, %d of %d bytes", name, reached, len(body), len(p.body))
		}
	}
	for name, change := range map[string]func(*posted){
		"usual": func(*posted) {}, "id is a text": swapped(`"id":7`, `"id":"a\n<b>"`),
		"localhost": func(p *posted) { p.host = "localhost:80" }, "IPv6": func(p *posted) { p.host = "[::1]:80" },
		"client":   swapped(`"_meta":{`, `"_meta":{"io.modelcontextprotocol/clientInfo":{"name":"x","version":"1"},`),
		"it asks":  swapped(`clientCapabilities":{}`, `clientCapabilities":{"elicitation":{"form":{}}}`),
		"no input": swapped(`,"arguments":{"sandbox_id":"x","command":"echo hi"}`, ``),
	} {
		p := postedCall("execute", `{"sandbox_id":"x","command":"echo hi"}`)
		change(p)
		reached = false
		if p.send(t, s.URL); reached {
			t.Errorf("%s: it got to the library", name)
		}
	}
}

// An answer is the same whoever gives it. Spelling the type with its character
// set makes it one of the library's.
func TestPlainAnswersAsTheLibraryDoes(t *testing.T) {
	d := open(t, Options{Maker: newVirtual(askRules), Caller: byHeader, Version: "7"})
	url := overHTTP(t, d)
	id := dial(t, url, "ann", stateless, nil).sandbox()
	same := func(name string, p *posted) {
		t.Helper()
		status, kind, message := p.send(t, url)
		headed("Content-Type", "application/json; charset=utf-8")(p)
		wantStatus, wantKind, want := p.send(t, url)
		if status != wantStatus || kind != wantKind || !reflect.DeepEqual(message, want) {
			t.Errorf("%s: %d %s %v\nlibrary: %d %s %v", name, status, kind, message, wantStatus, wantKind, want)
		}
	}
	for _, command := range []string{"echo hi", "echo '<b>&amp; 日本 \u2028'; exit 3",
		"head -c 9000 /dev/zero | tr '\\\\0' x", "sudo id", "rm x", "("} {
		same(command, postedCall("execute", `{"sandbox_id":"`+id+`","command":"`+command+`"}`))
	}
	for tool, arguments := range map[string]string{"sandbox_list": "{}", "execute": `{"comand":1}`,
		"read_file": `{"sandbox_id":"` + id + `","path":"none"}`, "sandbox_destroy": "null", "job_start": `{}`} {
		same(tool, postedCall(tool, arguments))
	}
	for name, change := range oddities {
		if name == "another type" {
			continue
		}
		p := postedCall("execute", `{"sandbox_id":"`+id+`","command":"echo hi"}`)
		change(p)
		same(name, p)
	}
	stranger := postedCall("execute", `{"sandbox_id":"`+id+`","command":"echo hi"}`)
	stranger.caller = ""
	same("a stranger", stranger)
	stranger.caller = "bob"
	same("another caller", stranger)
}

// A call costs little: what the library would read a dozen times is read once.
func TestPlainCallsLeaveLittleGarbage(t *testing.T) {
	if raced {
		t.Skip("the race detector needs memory of its own")
	}
	const calls = 100
	c, _ := gather(t, 1)
	c.rush(t, 1, calls)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	c.rush(t, 1, calls)
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / calls; each > 100<<10 {
		t.Errorf("%d bytes for each", each)
	}
}
