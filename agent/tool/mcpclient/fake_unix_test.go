//go:build unix

package mcpclient

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"
)

// TestMain is also the fake servers: the test starts itself with a variable that
// says which one to be.
func TestMain(m *testing.M) {
	if kind := os.Getenv("FAKE_MCP"); kind != "" {
		play(kind)
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// play is a fake server.
func play(kind string) {
	switch kind {
	case "good":
		good().Run(context.Background(), &mcp.StdioTransport{})
	case "silent":
		io.Copy(io.Discard, os.Stdin)
	case "quits":
		fmt.Fprintln(os.Stderr, "no database: password=hunter2hunter2")
		os.Exit(3)
	case "garbage":
		fmt.Println("Welcome to the shop!")
		io.Copy(io.Discard, os.Stdin)
	case "stubborn":
		signal.Ignore(os.Interrupt, syscall.SIGTERM)
		newRaw().serve()
		fmt.Fprintln(os.Stderr, "still here")
		time.Sleep(time.Hour)
	default:
		newRaw().play(kind)
	}
}

type nothing struct{}

// good is a well-behaved server.
func good() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "good", Version: "1"}, nil)
	text := func(format string, a ...any) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf(format, a...)}}}, nil, nil
	}
	mcp.AddTool(s, &mcp.Tool{Name: "echo", Description: "says it again",
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		func(_ context.Context, _ *mcp.CallToolRequest, in struct {
			Text string `json:"text"`
		}) (*mcp.CallToolResult, any, error) {
			return text("you said %s", in.Text)
		})
	add := func(name string, f func(ctx context.Context) (*mcp.CallToolResult, any, error)) {
		mcp.AddTool(s, &mcp.Tool{Name: name}, func(ctx context.Context, _ *mcp.CallToolRequest, _ nothing) (
			*mcp.CallToolResult, any, error) {
			return f(ctx)
		})
	}
	add("pid", func(context.Context) (*mcp.CallToolResult, any, error) { return text("%d", os.Getpid()) })
	add("env", func(context.Context) (*mcp.CallToolResult, any, error) {
		return text("%s", strings.Join(os.Environ(), "\n"))
	})
	add("fail", func(context.Context) (*mcp.CallToolResult, any, error) {
		res, _, _ := text("no such repository\u200b, password=hunter2hunter2")
		res.IsError = true
		return res, nil, nil
	})
	add("large", func(context.Context) (*mcp.CallToolResult, any, error) {
		return text("begin %s end", strings.Repeat("ab ", 100000))
	})
	add("mixed", func(context.Context) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{
			&mcp.TextContent{Text: "one"}, &mcp.ImageContent{Data: make([]byte, 10), MIMEType: "image/png"},
			&mcp.AudioContent{Data: make([]byte, 20), MIMEType: "audio/wav"}, &mcp.ResourceLink{URI: "file:///a", Name: "a"},
			&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///b", Blob: make([]byte, 30),
				MIMEType: "application/zip"}},
			&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///c", Text: "content of c"}},
			&mcp.TextContent{Text: "two"},
		}}, nil, nil
	})
	add("structured", func(context.Context) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.ImageContent{Data: []byte{1}, MIMEType: "image/png"}},
			StructuredContent: map[string]any{"count": 3, "html": "<b>"}}, nil, nil
	})
	add("nothing", func(context.Context) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{}}, nil, nil
	})
	add("exit", func(context.Context) (*mcp.CallToolResult, any, error) {
		fmt.Fprintln(os.Stderr, "out of memory")
		os.Exit(7)
		return nil, nil, nil
	})
	add("slow", func(ctx context.Context) (*mcp.CallToolResult, any, error) {
		<-ctx.Done()
		return nil, nil, ctx.Err()
	})
	for name, attr := range map[string]*syscall.SysProcAttr{"spawn": nil, "escape": {Setsid: true}} {
		add(name, func(context.Context) (*mcp.CallToolResult, any, error) {
			c := exec.Command("sleep", "60")
			c.Stdout, c.Stderr, c.SysProcAttr = os.Stdout, os.Stderr, attr
			if err := c.Start(); err != nil {
				return nil, nil, err
			}
			return text("%d", c.Process.Pid)
		})
	}
	return s
}

// A raw server speaks the older protocol by hand, and badly where it is to.
type raw struct {
	in    *bufio.Reader
	tools string // the list
	first func(method string)
	call  func(r *raw, id json.RawMessage)
	list  func(r *raw, id json.RawMessage, cursor string)
}

func newRaw() *raw {
	return &raw{
		in: bufio.NewReader(os.Stdin), tools: `[{"name":"do","inputSchema":{"type":"object"}}]`,
		call: func(r *raw, id json.RawMessage) { r.answer(id, `{"content":[{"type":"text","text":"done"}]}`) },
		list: func(r *raw, id json.RawMessage, _ string) { r.answer(id, `{"tools":`+r.tools+`}`) },
	}
}

func (r *raw) answer(id json.RawMessage, result string) {
	fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", id, result)
}

type rawMessage struct {
	ID     json.RawMessage
	Method string
	Params struct{ Cursor string }
	Error  *struct{ Message string }
}

func (r *raw) read() (m rawMessage, ok bool) {
	line, err := r.in.ReadBytes('\n')
	return m, err == nil && json.Unmarshal(line, &m) == nil
}

// serve answers until its input ends.
func (r *raw) serve() {
	for {
		m, ok := r.read()
		if !ok {
			return
		}
		if r.first != nil {
			r.first(m.Method)
			r.first = nil
		}
		switch m.Method {
		case "initialize":
			r.answer(m.ID, `{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"raw","version":"1"}}`)
		case "tools/list":
			r.list(r, m.ID, m.Params.Cursor)
		case "tools/call":
			r.call(r, m.ID)
		default:
			if m.ID != nil {
				fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"what?"}}`+"\n", m.ID)
			}
		}
	}
}

// play serves in one of the ways that real servers are bad.
func (r *raw) play(kind string) {
	switch kind {
	case "greets":
		fmt.Printf("Listening on stdio…\n\n{\"level\":\"info\"}\n{\"jsonrpc\":\n")
	case "strict":
		r.first = func(method string) {
			if method != "initialize" {
				os.Exit(1)
			}
		}
	case "mute": // until it hears the handshake
		for m, ok := r.read(); ok && m.Method != "initialize"; m, ok = r.read() {
		}
		r.answer(json.RawMessage("2"),
			`{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"raw","version":"1"}}`)
	case "flood":
		r.call = func(*raw, json.RawMessage) {
			fmt.Print(`{"jsonrpc":"2.0","id":1,"result":"`)
			for range 100 {
				os.Stdout.WriteString(strings.Repeat("x", 1<<20))
			}
		}
	case "deaf":
		r.call = func(*raw, json.RawMessage) { time.Sleep(time.Hour) }
	case "asks":
		r.call = asks
	case "wants":
		r.call = func(r *raw, id json.RawMessage) {
			r.answer(id, `{"resultType":"input_required","content":[],"inputRequests":{"a":{"method":"elicitation/create","params":{"message":"password?","requestedSchema":{"type":"object","properties":{}}}}}}`)
		}
	case "broken":
		r.call = func(r *raw, id json.RawMessage) { r.answer(id, `"what"`) }
	case "listless":
		r.list = func(r *raw, id json.RawMessage, _ string) { r.answer(id, `{"tools":"none"}`) }
	case "pages":
		r.list = pages
	case "endless":
		r.list = func(r *raw, id json.RawMessage, _ string) {
			r.answer(id, `{"nextCursor":"again","tools":[`+strings.Repeat(`{"name":"x","inputSchema":{}},`, 500)+
				`{"name":"x","inputSchema":{}}]}`)
		}
	case "talks":
		fmt.Fprintf(os.Stderr, "token=%s\n-----BEGIN RSA PRIVATE KEY-----\nMIIabcdef\n-----END RSA PRIVATE KEY-----\na\u200bb\x1b[1m\n%s\n", os.Getenv("MY_TOKEN"), strings.Repeat("y", 1<<20))
		for i := range 2000 {
			fmt.Fprintln(os.Stderr, "line", i)
		}
	default:
		r.tools = kind // the list itself, or a file that has it
		if file, ok := strings.CutPrefix(kind, "@"); ok {
			list, _ := os.ReadFile(file)
			r.tools = strings.ReplaceAll(string(list), "\n", "")
		}
	}
	r.serve()
}

// asks asks for all that a client can offer, and answers with what it heard.
func asks(r *raw, id json.RawMessage) {
	var heard []string
	for i, method := range []string{"sampling/createMessage", "elicitation/create", "roots/list"} {
		fmt.Printf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{"messages":[],"maxTokens":1,"message":"x","requestedSchema":{"type":"object"}}}`+"\n", 100+i, method)
		m, _ := r.read()
		if m.Error == nil {
			m.Error = &struct{ Message string }{"yes"}
		}
		heard = append(heard, m.Error.Message)
	}
	fmt.Println(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
	text, _ := json.Marshal(strings.Join(heard, "; "))
	r.answer(id, `{"content":[{"type":"text","text":`+string(text)+`}]}`)
}

// pages lists 5 tools, 2 at a time.
func pages(r *raw, id json.RawMessage, cursor string) {
	switch cursor {
	case "":
		r.answer(id, `{"nextCursor":"p2","tools":[{"name":"a","inputSchema":{}},{"name":"b","inputSchema":{}}]}`)
	case "p2":
		r.answer(id, `{"nextCursor":"p3","tools":[{"name":"c","inputSchema":{}},{"name":"d","inputSchema":{}}]}`)
	default:
		r.answer(id, `{"tools":[{"name":"e","inputSchema":{}}]}`)
	}
}
