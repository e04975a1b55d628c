package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"hako/agent/tool"
	"hako/audit"
	"hako/gate"
	"hako/policy"
	"hako/quota"
	"hako/run"
	"hako/shell"
	"hako/shell/command"
	"hako/shell/vfs"
)

// TestMain is also a server to try other clients on: with MCP_PLAY set to stdio,
// or to the address to listen at, it serves virtual sandboxes until it is ended.
func TestMain(m *testing.M) {
	if play := os.Getenv("MCP_PLAY"); play != "" {
		d := playDoor()
		if play == "stdio" {
			_ = d.Stdio(context.Background(), os.Stdin, os.Stdout)
		} else {
			_ = http.ListenAndServe(play, d.Handler())
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// playDoor has the tools that the protocol's conformance tests call beside its
// own.
func playDoor() *Server {
	d := New(Options{Maker: newVirtual(askRules), Policy: judge{}, Version: "test", Tools: conformance(),
		Elicit: func(string) gate.Answer { return gate.Session }})
	d.tools = append(d.tools, d.asking()...)
	d.tools = append(d.tools, newTool[struct{}, writeOut]("test_tool_with_progress", "Progress", "tells how it goes on",
		toolHints{}, func(ctx context.Context, v *toolCall, _ struct{}) *sdk.CallToolResult {
			for _, part := range []float64{0, 50, 100} {
				v.report(ctx, part, "so far")
			}
			return result(writeOut{})
		}))
	return d
}

// conformance are the tools that the protocol's conformance tests call, as far as
// this door can offer such.
func conformance() []tool.Tool {
	say := func(name, text string, err error) tool.Tool {
		return tool.New(name, name, func(context.Context, struct{}) (string, error) { return text, err })
	}
	return []tool.Tool{
		say("test_simple_text", "This is a simple text response for testing.", nil),
		say("test_error_handling", "", errors.New("This tool intentionally returns an error for testing")),
	}
}

// asking are tools of the same tests that need a person: a command that a rule
// asks about.
func (d *Server) asking() (all []*toolSpec) {
	for _, name := range []string{"elicitation", "request_state", "tampered_state", "capabilities"} {
		name = "test_input_required_result_" + name
		all = append(all, newTool[struct{}, commandOut](name, name, name, toolHints{},
			func(ctx context.Context, v *toolCall, _ struct{}) *sdk.CallToolResult {
				b, err := d.makeSandbox(ctx, v,
					SandboxOptions{}) // or the next test waits for the one before, whose client never comes back
				if err != nil {
					return failure(err)
				}
				return d.command(ctx, v, commandIn{ID: b.id, Command: "touch x; rm x; echo done"})
			}))
	}
	return all
}

// journal is a log in memory.
type journal struct {
	mu     sync.Mutex
	events []audit.Event
}

func (j *journal) Append(e audit.Event) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.events = append(j.events, e)
	return nil
}

func (j *journal) scripts(actor string) (all []string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, e := range j.events {
		if e.What == audit.Asked && e.Actor == actor {
			all = append(all, e.Script)
		}
	}
	return all
}

// virtual makes real virtual shells behind real gates.
type virtual struct {
	rules   string // added to the profile
	set     shell.Set
	log     audit.Log
	patient time.Duration
	made    atomic.Int64
	closed  atomic.Int64
	fail    error
}

type virtualBox struct {
	*gate.Gate
	session *shell.Session
	maker   *virtual
}

func (b *virtualBox) Close(context.Context) error {
	b.maker.closed.Add(1)
	b.session.Close()
	return nil
}

func (b *virtualBox) Info() Info { return Info{Directory: "/box"} }

func newVirtual(rules string) *virtual {
	return &virtual{rules: rules, set: command.All(), log: &journal{}}
}

func (m *virtual) Make(ctx context.Context, caller string, w SandboxOptions) (Sandbox, error) {
	if m.fail != nil {
		return nil, m.fail
	}
	judge := policy.Virtual()
	if m.rules != "" {
		more, err := policy.Parse("test.policy", strings.NewReader(m.rules))
		if err != nil {
			return nil, err
		}
		judge = judge.With(more)
	}
	m.made.Add(1)
	gauge := quota.NewLimiter(quota.Lenient())
	s := shell.New(shell.Options{FS: vfs.New(vfs.Options{Limiter: gauge}), Commands: m.set, Limiter: gauge,
		Parse: policy.ParseScript})
	g := gate.New(s, gate.Options{Policy: judge, Budget: quota.New(quota.Unlimited()), Log: m.log, Ask: w.Ask,
		AskTimeout: m.patient, Pause: gauge.Pause})
	return &virtualBox{g, s, m}, nil
}

// fake makes boxes whose commands are functions.
type fake func(ctx context.Context, req *run.Request) (run.Result, error)

func (f fake) Make(context.Context, string, SandboxOptions) (Sandbox, error) { return f, nil }
func (f fake) Run(ctx context.Context, req *run.Request) (run.Result, error) { return f(ctx, req) }
func (fake) Close(context.Context) error                                     { return nil }

// open makes a door that is closed with the test.
func open(t testing.TB, o Options) *Server {
	t.Helper()
	if o.Elicit == nil {
		o.Elicit = func(string) gate.Answer { return gate.Session }
	}
	d := New(o)
	t.Cleanup(func() {
		if err := d.Close(context.Background()); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return d
}

// byHeader tells callers by a header.
func byHeader(r *http.Request) string {
	return strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
}

// overHTTP serves a door over HTTP.
func overHTTP(t testing.TB, d *Server) string {
	t.Helper()
	s := httptest.NewServer(d.Handler())
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s.URL
}

type client struct {
	*sdk.ClientSession
	t testing.TB
}

// token sends a caller's name as the token.
type token string

func (t token) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(t))
	return http.DefaultTransport.RoundTrip(r)
}

// dial connects the official client over HTTP.
func dial(t testing.TB, url, caller, version string, o *sdk.ClientOptions) *client {
	t.Helper()
	tr := &sdk.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: token(caller)},
		DisableStandaloneSSE: true}
	return connect(t, tr, version, o)
}

func connect(t testing.TB, tr sdk.Transport, version string, o *sdk.ClientOptions) *client {
	t.Helper()
	c := sdk.NewClient(&sdk.Implementation{Name: "test client", Version: "1"}, o)
	s, err := c.Connect(context.Background(), tr, &sdk.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return &client{s, t}
}

// pipes connects the official client over standard streams.
func pipes(t testing.TB, d *Server, version string, o *sdk.ClientOptions) *client {
	t.Helper()
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	over := make(chan error, 1)
	go func() {
		over <- d.Stdio(context.Background(), in, out)
		out.Close()
	}()
	t.Cleanup(func() {
		toServer.Close()
		if err := <-over; err != nil {
			t.Errorf("stdio: %v", err)
		}
	})
	return connect(t, &sdk.IOTransport{Reader: fromServer, Writer: toServer}, version, o)
}

type args map[string]any

// answer is the structured content of a result.
type answer map[string]any

func (a answer) problem() map[string]any {
	p, _ := a["error"].(map[string]any)
	return p
}

// call calls a tool; the result must have a text that mirrors it.
func (c *client) call(name string, in any) (answer, *sdk.CallToolResult) {
	c.t.Helper()
	res, err := c.CallTool(context.Background(), &sdk.CallToolParams{Name: name, Arguments: in})
	if err != nil {
		c.t.Fatalf("%s: %v", name, err)
	}
	var a, mirror answer
	raw, _ := json.Marshal(res.StructuredContent)
	text, _ := res.Content[0].(*sdk.TextContent)
	if err := errors.Join(json.Unmarshal(raw, &a), json.Unmarshal([]byte(text.Text), &mirror)); err != nil ||
		len(a) != len(mirror) {
		c.t.Fatalf("%s: structured %s, text %s", name, raw, text.Text)
	}
	if res.IsError != (a.problem() != nil) {
		c.t.Errorf("%s: isError is %v: %v", name, res.IsError, a)
	}
	return a, res
}

// sandbox makes one.
func (c *client) sandbox() string {
	c.t.Helper()
	a, _ := c.call("sandbox_create", args{"kind": "virtual"})
	id, _ := a["sandbox_id"].(string)
	if id == "" {
		c.t.Fatalf("no sandbox: %v", a)
	}
	return id
}

// out runs a command and returns what it prints.
func (c *client) out(id, command string) string {
	c.t.Helper()
	a, _ := c.call("execute", args{"sandbox_id": id, "command": command})
	if a.problem() != nil {
		c.t.Fatalf("%s: %v", command, a)
	}
	return a["stdout_text"].(string)
}

func kindOf(a answer) any {
	if p := a.problem(); p != nil {
		return p["kind"]
	}
	return nil
}
