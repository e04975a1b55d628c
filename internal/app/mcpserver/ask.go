package mcpserver

import (
	"bytes"
	"context"
	"crypto/hmac"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"hako/gate"
	"hako/internal/text"
	"hako/run/fault"
)

// A decisionKind is how the person behind a client is asked. The zero manner asks
// nobody.
type decisionKind uint8

const (
	mute   decisionKind = iota
	inline              // by a request to the client while its own is open: elicitation/create
	errand              // by sending the client for the answer: input_required
)

// Versions of the protocol that make a difference.
const (
	stateless = "2026-07-28" // the server asks nothing by itself any more
	linked    = "2025-06-18" // content may be a link
)

// mannerOf tells how the client of a request can be asked, if it may be at all.
func mannerOf(req *sdk.CallToolRequest, most gate.Answer) decisionKind {
	can := req.ClientCapabilities()
	switch {
	case most == gate.No:
		return mute
	case can == nil || can.Elicitation == nil:
		return mute
	case can.Elicitation.Form == nil && can.Elicitation.URL != nil:
		return mute
	case req.ProtocolVersion() >= stateless:
		return errand
	}
	return inline
}

// A question waits for an answer until its context ends.
type question struct {
	gate.Question
	ctx   context.Context
	reply chan gate.Answer // holds one
}

// mostOf is the most that the person behind a caller's client may answer. Over
// standard streams that is whoever started both: nobody else can be there.
func (d *Server) mostOf(caller string) gate.Answer {
	switch {
	case strings.HasPrefix(caller, pipe):
		return gate.Session
	case d.opts.Elicit == nil:
		return gate.No
	}
	return d.opts.Elicit(caller)
}

var (
	errNobody = errors.New("this client cannot put questions to a person")
	errNoPage = errors.New("clients do not answer their own questions here, and no page of hako serve is open")
	errAway   = errors.New("nobody waits for what runs in the background; run it with execute to be asked")
)

// ask is what gates are given to ask with. The id of a question is that of the
// request it is about, and so leads to the call.
func (d *Server) ask(ctx context.Context, q gate.Question) (gate.Answer, error) {
	id, _, _ := strings.Cut(q.ID, "/") // one call may have several requests
	d.mu.Lock()
	c := d.calls[id]
	d.mu.Unlock()
	if c == nil || c.asks() == mute {
		return d.askOthers(ctx, c, q)
	}
	p := question{Question: q, ctx: ctx, reply: make(chan gate.Answer, 1)}
	select {
	case c.questions <- p:
	case <-ctx.Done():
		return gate.No, ctx.Err()
	}
	select {
	case a := <-p.reply:
		return a, nil
	case <-ctx.Done():
		return gate.No, ctx.Err()
	}
}

// askOthers is for questions whose client is of no help: those of old clients,
// and of jobs, which nobody waits for.
func (d *Server) askOthers(ctx context.Context, c *call, q gate.Question) (gate.Answer, error) {
	if d.opts.Ask != nil && (d.opts.Reaches == nil || d.opts.Reaches()) {
		return d.opts.Ask(ctx, q)
	}
	if c == nil {
		return gate.No, errAway
	}
	c.unasked.Store(true)
	if c.most == gate.No {
		return gate.No, errNoPage
	}
	return gate.No, errNobody
}

// elicit asks the client while its request is open. Whatever is no clear yes is
// a no.
func elicit(ctx context.Context, v *session, q question, most gate.Answer) gate.Answer {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(q.ctx, cancel)() // the gate waits no longer
	res, err := v.Session.Elicit(ctx, form(q.Question, most))
	if err != nil {
		return gate.No
	}
	return answerOf(res, most)
}

// answerName is what the answer is called, as an input and as its field.
const answerName = "answer"

// form is what the person sees, with the answers that are theirs to give.
func form(q gate.Question, most gate.Answer) *sdk.ElicitParams {
	answers, meaning := []any{"once", "session", "deny"},
		"once: this time only. session: as long as the sandbox is there. deny: do not run it."
	if most < gate.Session {
		answers, meaning = []any{"once", "deny"}, "once: this time only. deny: do not run it."
	}
	var b strings.Builder
	b.WriteString("Allow this command?\n")
	for line := range strings.Lines(q.Command) {
		b.WriteString("\n    " + tame(line))
	}
	b.WriteString("\n")
	for _, line := range [][2]string{{"In", q.Dir}, {"Asked by", q.Actor}, {"Its reason", q.Reason},
		{"Needs approval because", q.Why}, {"Rule", q.Rule}} {
		if line[1] != "" {
			b.WriteString("\n" + line[0] + ": " + tame(line[1]))
		}
	}
	return &sdk.ElicitParams{Mode: "form", Message: b.String(), RequestedSchema: &jsonschema.Schema{
		Type: "object", Required: []string{answerName},
		Properties: map[string]*jsonschema.Schema{answerName: {
			Type: "string", Title: "Answer", Enum: answers, Description: meaning,
		}},
	}}
}

// tame makes one line of a text that a model may have written: whoever approves
// must not be shown lines, colours or a direction that are made up.
func tame(s string) string { return text.RecordLine(strings.TrimRight(s, "\r\n")) }

// answerOf reads what a person decided. What was not theirs to say is a no.
func answerOf(res *sdk.ElicitResult, most gate.Answer) gate.Answer {
	if res == nil || res.Action != "accept" {
		return gate.No
	}
	said := gate.No
	switch res.Content[answerName] {
	case "once":
		said = gate.Once
	case "session":
		said = gate.Session
	}
	if said > most {
		return gate.No
	}
	return said
}

// matter is what a request is about: its tool and arguments, however spelled.
func matter(v *session) string {
	var args any
	d := json.NewDecoder(bytes.NewReader(v.Params.Arguments))
	d.UseNumber()
	if err := d.Decode(&args); err != nil {
		return v.Params.Name + " " + string(v.Params.Arguments)
	}
	same, _ := json.Marshal(args) // keys in order
	return v.Params.Name + " " + string(same)
}

// state is what a caller brings back with an answer: the id of the call, signed
// for this caller and this matter.
func (d *Server) state(c *call) string {
	return c.id + "." + base64.RawURLEncoding.EncodeToString(d.sign("state", c.id, c.caller, c.matter()))
}

// readState returns the id of the call. A state that was made up, taken from
// another caller, or sent with other arguments is refused: whoever approved
// looked at this command.
func (d *Server) readState(v *session) (string, error) {
	id, seal, _ := strings.Cut(v.Params.RequestState, ".")
	mac, err := base64.RawURLEncoding.DecodeString(seal)
	if err != nil || !hmac.Equal(mac, d.sign("state", id, v.caller, matter(v))) {
		return "", badState("it was not made by this server for this caller and this call")
	}
	return id, nil
}

func badState(why string) error {
	return &fault.Error{Kind: fault.Invalid, Op: "take answer", Subject: "requestState", Why: why,
		Hint: "call the tool again without requestState"}
}

// protocolError is a failure that is not for the model: its client made it.
func protocolError(err error) error {
	data, _ := json.Marshal(problemOf(err))
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: err.Error(), Data: data}
}
