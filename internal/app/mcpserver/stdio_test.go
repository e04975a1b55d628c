package mcpserver

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"hako/agent/tool"
	"hako/run"
)

// A wire is a client that writes its lines by hand.
type wire struct {
	t     testing.TB
	in    io.WriteCloser
	lines *bufio.Scanner
	over  chan error
}

func newWire(t testing.TB, d *Server) *wire {
	t.Helper()
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	w := &wire{t, toServer, bufio.NewScanner(fromServer), make(chan error, 1)}
	go func() {
		w.over <- d.Stdio(context.Background(), in, out)
		in.Close()
		out.Close()
	}()
	t.Cleanup(func() { toServer.Close() })
	return w
}

// hello begins as a client of an older version does.
func (w *wire) hello(version string) {
	w.t.Helper()
	w.says(strings.Replace(oldHello, "2025-06-18", version, 1), `"id":1,`)
	w.write(oldReady)
}

func (w *wire) write(line string) {
	w.t.Helper()
	if _, err := io.WriteString(w.in, line+"\n"); err != nil {
		w.t.Fatalf("%s: %v", short(line), err)
	}
}

func (w *wire) read() string {
	w.t.Helper()
	if !w.lines.Scan() {
		w.t.Fatalf("it hung up: %v", <-w.over)
	}
	return w.lines.Text()
}

// says writes a line and wants all texts in the next that comes back.
func (w *wire) says(line string, want ...string) {
	w.t.Helper()
	w.write(line)
	got := w.read()
	for _, text := range want {
		if !strings.Contains(got, text) {
			w.t.Errorf("%s\ngot  %s\nwant %s", short(line), got, text)
		}
	}
	if !json.Valid([]byte(got)) {
		w.t.Errorf("not JSON: %s", got)
	}
}

// ends closes the pipe and wants the server to end without complaint.
func (w *wire) ends() {
	w.t.Helper()
	w.in.Close()
	for w.lines.Scan() {
		w.t.Errorf("one line more: %s", w.lines.Text())
	}
	if err := <-w.over; err != nil {
		w.t.Error(err)
	}
}

const (
	parseError     = `"error":{"code":-32700,`
	invalidRequest = `"error":{"code":-32600,`
)

// badLines are lines that are no message, and what their answer has.
var badLines = map[string][]string{
	`{bad`:       {`"id":null,`, parseError},
	`hello?`:     {`"id":null,`, parseError},
	`{"a":1}{}`:  {`"id":null,`, parseError},
	`{"jsonrpc"`: {`"id":null,`, parseError},
	"\x00\x01":   {`"id":null,`, parseError},
	`[`:          {`"id":null,`, parseError},
	`[]`:         {`"id":null,`, invalidRequest},
	`[1,2]`:      {`"id":null,`, invalidRequest},
	`"x"`:        {`"id":null,`, invalidRequest},
	`12`:         {`"id":null,`, invalidRequest},
	`null`:       {`"id":null,`, invalidRequest},
	`{}`:         {`"id":null,`, invalidRequest},
	`{"jsonrpc":"1.0","id":7,"method":"ping"}`:                  {`"id":7,`, invalidRequest},
	`{"id":"a","method":"ping"}`:                                {`"id":"a",`, invalidRequest},
	`{"jsonrpc":2.0,"id":7,"method":"ping"}`:                    {`"id":7,`, invalidRequest},
	`{"jsonrpc":"2.0","id":7}`:                                  {`"id":7,`, invalidRequest},
	`{"jsonrpc":"2.0","id":7,"method":1}`:                       {`"id":7,`, invalidRequest},
	`{"jsonrpc":"2.0","id":7,"method":null}`:                    {`"id":7,`, invalidRequest},
	`{"jsonrpc":"2.0","id":12.5,"method":"ping"}`:               {`"id":12.5,`, invalidRequest},
	`{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`:   {`"id":9007199254740993,`, invalidRequest},
	`{"jsonrpc":"2.0","id":1e999,"method":"ping"}`:              {`"id":1e999,`, invalidRequest},
	`{"jsonrpc":"2.0","id":{},"method":"ping"}`:                 {`"id":null,`, invalidRequest},
	`{"jsonrpc":"2.0","id":true,"method":"ping"}`:               {`"id":null,`, invalidRequest},
	`{"jsonrpc":"2.0","id":null,"method":"ping"}`:               {`"id":null,`, invalidRequest},
	`[{"jsonrpc":"2.0","id":7,"method":"ping"}]`:                {`"id":null,`, invalidRequest, "a line of its own"},
	`{"jsonrpc":"2.0","id":7,"method":"no/such"}`:               {`"id":7,`, `"code":-32601,`},
	`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":7}`: {`"id":7,`, `"error":{`},
	`{"jsonrpc":"2.0","id":7,"error":7}`:                        {`"id":null,`, invalidRequest},
	"{\n":                                                       {`"id":null,`, parseError},
	`{"jsonrpc":"2.0","id":7,"method":"ping","params":` + strings.Repeat("[", 2000) + strings.Repeat("]", 2000) +
		`}`: {`"id":null,`, invalidRequest},
	strings.Repeat("[", 20000): {`"id":null,`, parseError},
}

// TestBadLines checks that no line ends the server: each is answered, and the
// sandboxes are still there.
func TestBadLines(t *testing.T) {
	w := newWire(t, open(t, Options{Maker: newVirtual("")}))
	w.says(`{"jsonrpc"`, parseError)
	w.hello("2025-06-18")
	w.says(strings.Replace(oldCommand, `"x"`, `"echo still here > kept"`, 1), `"exit_code":0`)
	for line, want := range badLines {
		w.says(strings.TrimSuffix(line, "\n"), want...)
		w.says(` {"jsonrpc":"2.0","id":"ok","method":"ping"} `+"\r", `"id":"ok","result":`)
	}
	w.says(strings.Replace(oldCommand, `"x"`, `"cat kept"`, 1), `still here`)
	w.ends()
}

// TestDroppedLines checks that what expects no answer gets none, however wrong it
// is: complaints about complaints would never end.
func TestDroppedLines(t *testing.T) {
	w := newWire(t, open(t, Options{Maker: newVirtual("")}))
	w.hello("2025-06-18")
	for _, line := range []string{
		"", "  ", "\r", `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"x"}}`,
		`{"jsonrpc":"2.0","error":{"code":-32600,"message":"x"}}`,
		`{"jsonrpc":"1.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":1.5,"result":{}}`,
		`{"jsonrpc":"2.0","id":99,"result":{}}`,
		`{"jsonrpc":"2.0","id":null,"method":"notifications/initialized"}`, `{"jsonrpc":"2.0","method":"notifications/none"}`,
	} {
		w.write(line)
		w.says(`{"jsonrpc":"2.0","id":1.0,"method":"ping"}`, `"id":1,"result":`)
	}
	w.ends()
}

// TestLongLines checks that a line over the limit is skipped, and takes no memory.
func TestLongLines(t *testing.T) {
	w := newWire(t, open(t, Options{Maker: newVirtual(""), Limits: Limits{Line: 100 << 10}}))
	w.hello("2025-06-18")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 3 {
		go func() {
			for range 1000 {
				io.WriteString(w.in, strings.Repeat("x", 64<<10))
			}
			io.WriteString(w.in, "\n")
		}()
		if got := w.read(); !strings.Contains(got, invalidRequest) || !strings.Contains(got, "more than 102400 bytes") {
			t.Errorf("got %s", got)
		}
	}
	runtime.ReadMemStats(&after)
	if grown := after.HeapSys - before.HeapSys; after.HeapSys > before.HeapSys && grown > 32<<20 {
		t.Errorf("%d bytes more", grown)
	}
	fits := `{"jsonrpc":"2.0","id":7,"method":"ping","params":{"_meta":{"x":"` + strings.Repeat("x", 99<<10) + `"}}}`
	w.says(fits, `"id":7,"result":`)
	w.ends()
}

// TestLastLine checks that a last line without an end counts, and that one which
// is no message is answered.
func TestLastLine(t *testing.T) {
	d := open(t, Options{Maker: newVirtual("")})
	for last, want := range map[string]string{`{"jsonrpc":"2.0","id":"last","method":"ping"}`: `"id":"last","result"`,
		`{"jsonrpc"`: parseError} {
		var out strings.Builder
		if err := d.Stdio(t.Context(), strings.NewReader(oldHello+"\n"+oldReady+"\n"+last), &out); err != nil {
			t.Error(err)
		}
		if got := out.String(); strings.Count(got, "\n") != 2 || !strings.Contains(got, want) {
			t.Errorf("%s: got %s", last, got)
		}
	}
}

// TestBatches checks that clients of a version that had batches may send them, and
// that a wrong one does no harm.
func TestBatches(t *testing.T) {
	w := newWire(t, open(t, Options{Maker: newVirtual("")}))
	w.hello("2025-03-26")
	ping := func(id string) string { return `{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}` }
	for _, bad := range []string{`[]`, `[1]`, `[` + ping("1.5") + `]`, `[` + ping("1") + `,` + ping("1") + `]`,
		`[` + ping("1") + `,` + ping("1.0") + `]`, `[` + ping(`"a"`) + `,` + ping(`"\u0061"`) + `]`,
		`[` + ping(`"\ud800"`) + `]`, `[` + oldReady + `]`, `[` + ping("1") + `,` + oldReady + `]`,
		`[{"jsonrpc":"2.0","id":null,"result":{}}]`} {
		w.says(bad, invalidRequest)
		w.says(`[`+ping("1")+`,`+ping(`"b"`)+`]`, `[{`, `"id":1,`, `"id":"b",`)
	}
	w.ends()
}

// TestWholeIDs checks that no answer over HTTP bears another id than its request.
func TestWholeIDs(t *testing.T) {
	d := open(t, Options{Maker: newVirtual(""), Caller: byHeader})
	url := overHTTP(t, d)
	id := dial(t, url, "ann", stateless, nil).sandbox()
	for sent, want := range map[string]int{"12.5": http.StatusBadRequest, "9007199254740993": http.StatusBadRequest,
		"7": http.StatusOK, `"x"`: http.StatusOK, "-3": http.StatusOK} {
		for _, version := range []string{stateless, "2025-06-18"} {
			p := postedCall("execute", `{"sandbox_id":"`+id+`","command":"echo hi"}`)
			swapped(`"id":7`, `"id":`+sent)(p)
			if version != stateless {
				p.body = strings.Replace(oldHello, `"id":1`, `"id":`+sent, 1)
				p.head.Del("Mcp-Protocol-Version")
			}
			status, _, message := p.send(t, url)
			got, _ := json.Marshal(message.(map[string]any)["id"])
			if status != want || string(got) != sent && len(sent) < 16 { // more digits are lost in reading it here
				t.Errorf("%s %s: %d %v", version, sent, status, message)
			}
		}
	}
}

// TestSilentProgress checks that a client hears of a command that prints nothing,
// with numbers that grow, and nothing after its answer.
func TestSilentProgress(t *testing.T) {
	w := newWire(t, open(t, Options{Maker: fake(func(ctx context.Context, req *run.Request) (run.Result, error) {
		time.Sleep(2300 * time.Millisecond)
		return run.Result{}, nil
	})}))
	w.hello("2025-06-18")
	w.write(strings.Replace(oldCommand, `"params":{`, `"params":{"_meta":{"progressToken":"tok"},`, 1))
	last, heard := 0.0, 0
	for {
		var m struct {
			ID     any
			Params struct {
				Progress float64
				Message  string
			}
		}
		if err := json.Unmarshal([]byte(w.read()), &m); err != nil {
			t.Fatal(err)
		}
		if m.ID != nil {
			break
		}
		if heard++; m.Params.Progress <= last || !strings.Contains(m.Params.Message, "running for "+fmt.Sprint(heard)) {
			t.Errorf("%+v after %v", m, last)
		}
		last = m.Params.Progress
	}
	if heard != 2 {
		t.Errorf("heard %d times", heard)
	}
	time.Sleep(2 * progressInterval)
	w.ends()
}

// TestEditorAnswers checks that the editor's answers have all three fields.
func TestEditorAnswers(t *testing.T) {
	d := open(t, Options{Maker: &workshop{}, Kinds: []Kind{Container}, Default: SandboxOptions{Kind: Container}})
	c := pipes(t, d, "", nil)
	for want, in := range map[string]args{
		`{"success":true,"content":"edited","error":null}`:             {"command": "view", "path": "/a"},
		`{"success":false,"content":"","error":{"kind":"not_found","r`: {"command": "undo_edit", "path": "/a"},
		`{"success":false,"content":"","error":{"kind":"not_found","c`: {"command": "view", "path": "/a",
			"sandbox_id": "x"},
		`{"success":false,"content":"","error":{"kind":"invalid","reason`: {"sandbox_id": 7},
	} {
		_, res := c.call("text_editor", in)
		if got := res.Content[0].(*sdk.TextContent).Text; !strings.HasPrefix(got, want) {
			t.Errorf("%v: %s", in, got)
		}
	}
	tools, err := c.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range tools.Tools {
		schema, _ := json.Marshal(o.OutputSchema)
		if o.Name == "text_editor" && !strings.Contains(string(schema), `"required":["success","content","error"]`) {
			t.Errorf("%s", schema)
		}
	}
}

// TestFetchIsDescribed checks that web_fetch has a title and says what it answers,
// and answers so.
func TestFetchIsDescribed(t *testing.T) {
	fetch := tool.New("web_fetch", "fetches", func(context.Context, struct{}) (string, error) {
		return `{"ok":true,"url":"https://a/","text":"<b>","total_bytes":3,"next_start":null,"truncated":false}`, nil
	})
	c := pipes(t, open(t, Options{Maker: newVirtual(""), Tools: []tool.Tool{fetch}}), "", nil)
	tools, err := c.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range tools.Tools {
		if o.Title == "" || o.Annotations.Title == "" || o.OutputSchema == nil {
			t.Errorf("%s: %q %v", o.Name, o.Title, o.OutputSchema)
		}
	}
	if a, _ := c.call("web_fetch", args{}); a["text"] != "<b>" || a["total_bytes"] != 3.0 {
		t.Errorf("got %v", a)
	}
}

// TestSyntaxErrorsNameTheCommand checks that the place of a mistake is part of the
// reason, and the command the one that was sent.
func TestSyntaxErrorsNameTheCommand(t *testing.T) {
	c := pipes(t, open(t, Options{Maker: newVirtual("")}), "", nil)
	id := c.sandbox()
	for _, name := range []string{"execute", "command-executor_execute_command"} {
		a, _ := c.call(name, args{"sandbox_id": id, "command": "echo ("})
		if p := a.problem(); p["command"] != "echo (" || p["kind"] != "invalid" ||
			!strings.HasPrefix(fmt.Sprint(p["reason"]), "1:1: ") {
			t.Errorf("%s: %v", name, a)
		}
	}
}
