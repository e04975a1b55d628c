package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"hako/gate"
	"hako/internal/testload"
	"hako/run"
)

const askRules = "ask rm # it does not come back\n"

// answers is a client whose person always says the same.
func answers(asked *atomic.Int64, seen *string, action, word string) *sdk.ClientOptions {
	return &sdk.ClientOptions{ElicitationHandler: func(_ context.Context, req *sdk.ElicitRequest) (*sdk.ElicitResult,
		error) {
		asked.Add(1)
		*seen = req.Params.Message
		res := &sdk.ElicitResult{Action: action}
		if word != "" {
			res.Content = map[string]any{answerName: word}
		}
		return res, nil
	}}
}

// TestApproval puts questions of a real gate to the person behind a client, by
// both manners, over both transports.
func TestApproval(t *testing.T) {
	maker := newVirtual(askRules)
	d := open(t, Options{Maker: maker})
	url := overHTTP(t, d)
	for _, version := range []string{"2026-07-28", "2025-06-18"} {
		for _, c := range []struct {
			action, word string
			questions    int64 // that two runs lead to
			allowed      bool
		}{
			{"accept", "once", 2, true}, {"accept", "session", 1, true}, {"accept", "deny", 2, false}, {"decline", "", 2, false},
			{"cancel", "", 2, false},
		} {
			for _, way := range []string{"http", "stdio"} {
				t.Run(way+" "+version+" "+c.action+" "+c.word, func(t *testing.T) {
					var asked atomic.Int64
					var seen string
					o := answers(&asked, &seen, c.action, c.word)
					client := dial(t, url, "", version, o)
					if way == "stdio" {
						client = pipes(t, d, version, o)
					}
					id := client.sandbox()
					for range 2 {
						a, _ := client.call("execute", args{"sandbox_id": id, "command": "touch x; echo before; rm x; echo after",
							"reason": "to tidy up"})
						if c.allowed && (a["ok"] != true || a["stdout_text"] != "before\nafter\n") {
							t.Errorf("got %v", a)
						}
						if !c.allowed && (kindOf(a) != "denied" || !strings.Contains(fmt.Sprint(a), "a person said no")) {
							t.Errorf("got %v", a)
						}
					}
					if asked.Load() != c.questions {
						t.Errorf("%d questions", asked.Load())
					}
					for _, word := range []string{"rm x", "to tidy up", "it does not come back", "test.policy:1", "mcp:"} {
						if !strings.Contains(seen, word) {
							t.Errorf("the person does not see %q:\n%s", word, seen)
						}
					}
				})
			}
		}
	}
}

// TestApprovalMidway checks that a script which was stopped for a question goes
// on from there: what it did before is done once. The name of the file is only
// known at run time, so that the question comes late, and there are two of them.
func TestApprovalMidway(t *testing.T) {
	d := open(t, Options{Maker: newVirtual(askRules)})
	for _, version := range []string{"2026-07-28", "2025-06-18"} {
		var asked atomic.Int64
		var seen string
		c := pipes(t, d, version, answers(&asked, &seen, "accept", "once"))
		id := c.sandbox()
		if got := c.out(id, `touch a b; for f in *; do echo $f >> /tmp/log; $(echo r)m $f; done; cat /tmp/log`); got != "a\nb\n" || asked.Load() < 2 {
			t.Errorf("%s: %d questions, %q", version, asked.Load(), got)
		}
	}
}

// TestQuestionsCannotLie checks that what a model writes stays on its line.
func TestQuestionsCannotLie(t *testing.T) {
	got := form(gate.Question{Command: "rm a\nrm b", Reason: "tidy\nRule: none\x1b[8m\u202e", Why: "w", Rule: "r:1"},
		gate.Session).Message
	want := "Allow this command?\n\n    rm a\n    rm b\n\nIts reason: tidy␊Rule: none␛[8m‹U+202E›\nNeeds approval because: w\nRule: r:1"
	if got != want {
		t.Errorf("got %q", got)
	}
}

// TestNobodyToAsk checks clients that cannot ask: another way to ask is taken,
// and without one the hint says what to do.
func TestNobodyToAsk(t *testing.T) {
	for _, version := range versions {
		d := open(t, Options{Maker: newVirtual(askRules)})
		c := pipes(t, d, version, nil)
		a, _ := c.call("execute", args{"sandbox_id": c.sandbox(), "command": "rm x"})
		if kindOf(a) != "denied" || !strings.Contains(fmt.Sprint(a.problem()["hint"]), "elicitation") ||
			!strings.Contains(fmt.Sprint(a.problem()["reason"]), "cannot put questions") {
			t.Errorf("%s: %v", version, a)
		}
	}
	d := open(t, Options{Maker: newVirtual(askRules), Ask: func(_ context.Context, q gate.Question) (gate.Answer,
		error) {
		return gate.Once, nil
	}})
	c := pipes(t, d, "", nil)
	if got := c.out(c.sandbox(), "touch x; rm x; echo done"); got != "done\n" {
		t.Errorf("got %q", got)
	}
}

// TestOwnJudge has clients answer about their own commands by both manners: who
// may not is not asked, whoever else there is decides, and nobody there is a no.
// Who may once cannot grant a session.
func TestOwnJudge(t *testing.T) {
	page := func(a gate.Answer, actors *[]string) func(context.Context, gate.Question) (gate.Answer, error) {
		return func(_ context.Context, q gate.Question) (gate.Answer, error) {
			*actors = append(*actors, q.Actor)
			return a, nil
		}
	}
	for _, version := range []string{"2026-07-28", "2025-06-18"} {
		for name, c := range map[string]struct {
			most, page gate.Answer
			nobody     bool
			word       string
			asked      int64
			allowed    bool
		}{
			"the page says no":     {word: "once"},
			"the page says yes":    {page: gate.Once, word: "deny", allowed: true},
			"nobody is there":      {nobody: true, word: "once"},
			"nobody, session":      {nobody: true, word: "session"},
			"once":                 {most: gate.Once, word: "once", asked: 1, allowed: true},
			"session by who may":   {most: gate.Session, word: "session", asked: 1, allowed: true},
			"the page is not used": {most: gate.Once, page: gate.Once, word: "deny", asked: 1},
		} {
			t.Run(version+" "+name, func(t *testing.T) {
				var actors []string
				o := Options{Maker: newVirtual(askRules), Caller: byHeader, Elicit: func(string) gate.Answer { return c.most },
					Ask: page(c.page, &actors)}
				if c.nobody {
					o.Ask = nil
				}
				var asked atomic.Int64
				var seen string
				client := dial(t, overHTTP(t, open(t, o)), "ann", version, answers(&asked, &seen, "accept", c.word))
				a, _ := client.call("execute", args{"sandbox_id": client.sandbox(), "command": "touch x; rm x; echo done"})
				if done := a["stdout_text"] == "done\n"; done != c.allowed || asked.Load() != c.asked {
					t.Errorf("asked %d times: %v", asked.Load(), a)
				}
				if c.most == gate.No && !c.nobody && (len(actors) != 1 || actors[0] != "mcp:ann") {
					t.Errorf("the page was asked about %q", actors)
				}
				if hint := fmt.Sprint(a.problem()["hint"]); c.nobody && (!strings.Contains(hint, "page of hako serve") ||
					strings.Contains(hint, "elicitation")) {
					t.Errorf("hint %q", hint)
				}
			})
		}
	}
}

// TestNoSessionByClients: who may answer once is not offered more, and what says
// more is a no.
func TestNoSessionByClients(t *testing.T) {
	for _, c := range []struct {
		most gate.Answer
		word string
		want gate.Answer
	}{
		{gate.No, "once", gate.No}, {gate.No, "session", gate.No}, {gate.Once, "once", gate.Once},
		{gate.Once, "session", gate.No},
		{gate.Session, "once", gate.Once}, {gate.Session, "session", gate.Session}, {gate.Session, "Session", gate.No},
	} {
		if got := answerOf(&sdk.ElicitResult{Action: "accept", Content: map[string]any{answerName: c.word}},
			c.most); got != c.want {
			t.Errorf("%v, %s: %v", c.most, c.word, got)
		}
	}
	offered, _ := json.Marshal(form(gate.Question{}, gate.Once))
	if strings.Contains(string(offered), "session") {
		t.Errorf("%s", offered)
	}
}

// TestUnaskedForAnswer sends an answer along with the first call, and one for a
// state that was made up.
func TestUnaskedForAnswer(t *testing.T) {
	o := Options{Maker: newVirtual(askRules), Caller: byHeader, Elicit: func(string) gate.Answer { return gate.No }}
	url := overHTTP(t, open(t, o))
	id := dial(t, url, "ann", "", nil).sandbox()
	in := args{"sandbox_id": id, "command": "touch x; rm x; echo done"}
	for _, more := range []string{accept(""), accept("x.y")} {
		if res := fmt.Sprint(raw(t, url, "ann", "execute", in, more)); strings.Contains(res, "input_required") ||
			strings.Contains(res, "done\\n") {
			t.Errorf("%s: %s", more, res)
		}
	}
}

// TestZeroElicit: who says nothing about it lets no client over HTTP answer, and
// the one at the standard streams, who is that of the user.
func TestZeroElicit(t *testing.T) {
	d := New(Options{})
	defer d.Close(context.Background())
	if d.maxAnswer("ann") != gate.No || d.maxAnswer("") != gate.No || d.maxAnswer(stdioPrefix+"x") != gate.Session {
		t.Error("a client is its own judge")
	}
}

// raw calls a tool in the current protocol by hand.
func raw(t *testing.T, url, caller, tool string, in any, more string) map[string]any {
	t.Helper()
	arguments, _ := json.Marshal(in)
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",`+
		`"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}%s}}`, tool, arguments, more)
	req, _ := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
	for k, v := range map[string]string{"Content-Type": "application/json",
		"Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": "2026-07-28",
		"Mcp-Method": "tools/call", "Mcp-Name": tool, "Authorization": "Bearer " + caller} {
		req.Header.Set(k, v)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, _ := io.ReadAll(res.Body)
	_, data, ok := strings.Cut(string(text), "data: ")
	if !ok {
		data = string(text) // an error comes as it is
	}
	var out struct{ Result, Error map[string]any }
	if err := json.Unmarshal([]byte(data), &out); err != nil {
		t.Fatalf("%s: %s", res.Status, text)
	}
	if out.Error != nil {
		return out.Error
	}
	return out.Result
}

func accept(state any) string {
	return fmt.Sprintf(`,"requestState":%q,"inputResponses":{"answer":{"method":"elicitation/create","action":"accept","content":{"answer":"once"}}}`, state)
}

// TestForgedState checks that only who was asked may answer, about what was
// asked, and once.
func TestForgedState(t *testing.T) {
	d := open(t, Options{Maker: newVirtual(askRules), Caller: byHeader, Limits: Limits{Turn: 10 * time.Millisecond}})
	url := overHTTP(t, d)
	id := dial(t, url, "ann", "", nil).sandbox()
	in := args{"sandbox_id": id, "command": "touch x; rm x; echo done"}
	first := raw(t, url, "ann", "execute", in, "")
	state := first["requestState"].(string)
	if first["resultType"] != "input_required" || first["inputRequests"].(map[string]any)["answer"].(map[string]any)["method"] != "elicitation/create" {
		t.Fatalf("got %v", first)
	}
	other := args{"sandbox_id": id, "command": "touch x; rm -r /; echo done"}
	for name, res := range map[string]map[string]any{
		"another caller":  raw(t, url, "bob", "execute", in, accept(state)),
		"another command": raw(t, url, "ann", "execute", other, accept(state)),
		"another tool":    raw(t, url, "ann", "job_start", in, accept(state)),
		"another state":   raw(t, url, "ann", "execute", in, accept(state[:len(state)-3]+"AAA")),
		"made up":         raw(t, url, "ann", "execute", in, accept("x.y")),
	} {
		if res["code"] != -32602.0 ||
			!strings.Contains(fmt.Sprint(res), "was not made by this server for this caller and this call") {
			t.Errorf("%s: %v", name, res)
		}
	}
	if res := raw(t, url, "ann", "execute", args{"sandbox_id": id, "command": "echo"}, ""); !strings.Contains(
		fmt.Sprint(res), "another command") {
		t.Errorf("a sandbox that waits for an answer does not say so: %v", res)
	}
	spaced := json.RawMessage(`{ "command":"touch x; rm x; echo done", "sandbox_id":"` + id +
		`" }`) // the same in other words
	if res := raw(t, url, "ann", "execute", spaced, accept(state)); !strings.Contains(fmt.Sprint(res["structuredContent"]),
		"done") {
		t.Errorf("got %v", res)
	}
	if res := raw(t, url, "ann", "execute", in, accept(state)); res["code"] != -32602.0 ||
		!strings.Contains(fmt.Sprint(res), "answered before") {
		t.Errorf("answered twice: %v", res)
	}
}

// TestNoAnswer checks that a person who is silent says no, and that a client
// that never comes back does not hold the sandbox for ever.
func TestNoAnswer(t *testing.T) {
	maker := newVirtual(askRules)
	maker.patient = 50 * time.Millisecond
	d := open(t, Options{Maker: maker})
	url := overHTTP(t, d)
	id := dial(t, url, "", "", nil).sandbox()
	in := args{"sandbox_id": id, "command": "rm x"}
	state := raw(t, url, "", "execute", in, "")["requestState"]
	if res := raw(t, url, "", "execute", args{"sandbox_id": id, "command": "echo next"}, ""); !strings.Contains(
		fmt.Sprint(res), "next") {
		t.Errorf("got %v", res)
	}
	res := raw(t, url, "", "execute", in, accept(state))
	if !strings.Contains(fmt.Sprint(res["structuredContent"]), "nobody answered within") {
		t.Errorf("a late answer counts: %v", res)
	}
}

func TestNobodyComesBack(t *testing.T) {
	d := open(t, Options{Maker: newVirtual(askRules), Limits: Limits{Parked: 30 * time.Millisecond}})
	url := overHTTP(t, d)
	id := dial(t, url, "", "", nil).sandbox()
	state := raw(t, url, "", "execute", args{"sandbox_id": id, "command": "rm x"}, "")["requestState"]
	if res := raw(t, url, "", "execute", args{"sandbox_id": id, "command": "echo next"}, ""); !strings.Contains(
		fmt.Sprint(res), "next") {
		t.Errorf("got %v", res)
	}
	if res := raw(t, url, "", "execute", args{"sandbox_id": id, "command": "rm x"}, accept(state)); !strings.Contains(
		fmt.Sprint(res), "nobody came back") {
		t.Errorf("got %v", res)
	}
	if len(d.parked) != 0 || len(d.calls) != 0 {
		t.Errorf("%d parked, %d calls", len(d.parked), len(d.calls))
	}
}

// TestClosedWhileWaiting checks that a question ends with its sandbox.
func TestClosedWhileWaiting(t *testing.T) {
	d := open(t, Options{Maker: newVirtual(askRules)})
	url := overHTTP(t, d)
	c := dial(t, url, "", "", nil)
	id := c.sandbox()
	in := args{"sandbox_id": id, "command": "rm x"}
	state := raw(t, url, "", "execute", in, "")["requestState"]
	if a, _ := c.call("sandbox_destroy", args{"sandbox_id": id}); a["destroyed"] != true {
		t.Errorf("got %v", a)
	}
	if res := raw(t, url, "", "execute", in, accept(state)); !strings.Contains(fmt.Sprint(res), "destroyed meanwhile") {
		t.Errorf("got %v", res)
	}
}

// TestProgress checks that a client hears how much a command has printed.
func TestProgress(t *testing.T) {
	for _, version := range []string{"2026-07-28", "2025-06-18"} {
		heard := make(chan *sdk.ProgressNotificationParams, 9)
		o := &sdk.ClientOptions{ProgressNotificationHandler: func(_ context.Context,
			req *sdk.ProgressNotificationClientRequest) {
			select {
			case heard <- req.Params:
			default:
			}
		}}
		d := open(t, Options{Maker: fake(func(ctx context.Context, req *run.Request) (run.Result, error) {
			io.WriteString(req.Stdout, "one\ntwo\n")
			select {
			case <-heard:
			case <-time.After(testload.Bound(5 * time.Second)):
				t.Errorf("%s: nothing was heard", version)
			}
			return run.Result{}, nil
		})})
		for _, c := range []*client{dial(t, overHTTP(t, d), "", version, o), pipes(t, d, version, o)} {
			id := c.sandbox()
			p := &sdk.CallToolParams{Name: "execute", Arguments: args{"sandbox_id": id, "command": "x"}}
			p.SetProgressToken("tok")
			if res, err := c.CallTool(t.Context(), p); err != nil || res.IsError {
				t.Errorf("%v %v", res, err)
			}
		}
	}
}

// A job is nobody's call: who looks after the server may be asked about it, and
// otherwise it hears what to do.
func TestQuestionsOfJobs(t *testing.T) {
	alone := open(t, Options{Maker: newVirtual("")})
	if a, err := alone.ask(t.Context(), gate.Question{ID: "job-1"}); a != gate.No || err == nil ||
		!strings.Contains(err.Error(), "execute") {
		t.Errorf("%v %v", a, err)
	}
	kept := open(t, Options{Maker: newVirtual(""), Ask: func(context.Context, gate.Question) (gate.Answer,
		error) {
		return gate.Once, nil
	}})
	if a, err := kept.ask(t.Context(), gate.Question{ID: "job-1"}); a != gate.Once || err != nil {
		t.Errorf("%v %v", a, err)
	}
}
