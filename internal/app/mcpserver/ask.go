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

// A askMode is how the person behind a client is asked. The zero value means not at all.
type askMode uint8

const (
	cannotAsk  askMode = iota
	askInline          // by elicitation/create while the request is open
	askByRetry         // by input_required: the client sends the answer with another request
)

// Relevant versions of the protocol.
const (
	stateless = "2026-07-28" // the server sends no requests any more
	linked    = "2025-06-18" // content may be a link
)

// askModeOf returns how the client of a request can be asked.
func askModeOf(req *sdk.CallToolRequest, most gate.Answer) askMode {
	can := req.ClientCapabilities()
	switch {
	case most == gate.No:
		return cannotAsk
	case can == nil || can.Elicitation == nil:
		return cannotAsk
	case can.Elicitation.Form == nil && can.Elicitation.URL != nil:
		return cannotAsk
	case req.ProtocolVersion() >= stateless:
		return askByRetry
	}
	return askInline
}

// A question waits for an answer until its context ends.
type question struct {
	gate.Question
	ctx   context.Context
	reply chan gate.Answer // holds one
}

// maxAnswer returns the most that the person behind a caller's client may answer. Over standard streams that is
// everything: the same user started both.
func (d *Server) maxAnswer(caller string) gate.Answer {
	switch {
	case strings.HasPrefix(caller, stdioPrefix):
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

// ask is the Ask of all gates. The ID of a question is that of its request and leads to the call.
func (d *Server) ask(ctx context.Context, q gate.Question) (gate.Answer, error) {
	id, _, _ := strings.Cut(q.ID, "/") // a call may have several requests
	d.mu.Lock()
	c := d.calls[id]
	d.mu.Unlock()
	if c == nil || c.askMode() == cannotAsk {
		return d.askElsewhere(ctx, c, q)
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

// askElsewhere is for questions that the client cannot answer: of old clients, and of jobs.
func (d *Server) askElsewhere(ctx context.Context, c *call, q gate.Question) (gate.Answer, error) {
	if d.opts.Ask != nil && (d.opts.Reaches == nil || d.opts.Reaches()) {
		return d.opts.Ask(ctx, q)
	}
	if c == nil {
		return gate.No, errAway
	}
	c.unasked.Store(true)
	if c.maxAnswer == gate.No {
		return gate.No, errNoPage
	}
	return gate.No, errNobody
}

// elicit asks the client while its request is open. Anything but a clear yes means no.
func elicit(ctx context.Context, v *toolCall, q question, most gate.Answer) gate.Answer {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(q.ctx, cancel)() // the gate gave up
	res, err := v.Session.Elicit(ctx, form(q.Question, most))
	if err != nil {
		return gate.No
	}
	return answerOf(res, most)
}

// answerName is the name of the answer, as an input and as a field.
const answerName = "answer"

// form is the question for the person, with the permitted answers.
func form(q gate.Question, most gate.Answer) *sdk.ElicitParams {
	answers, meaning := []any{"once", "session", "deny"},
		"once: this time only. session: as long as the sandbox is there. deny: do not run it."
	if most < gate.Session {
		answers, meaning = []any{"once", "deny"}, "once: this time only. deny: do not run it."
	}
	var b strings.Builder
	b.WriteString("Allow this command?\n")
	for line := range strings.Lines(q.Command) {
		b.WriteString("\n    " + oneLine(line))
	}
	b.WriteString("\n")
	for _, line := range [][2]string{{"In", q.Dir}, {"Asked by", q.Actor}, {"Its reason", q.Reason},
		{"Needs approval because", q.Why}, {"Rule", q.Rule}} {
		if line[1] != "" {
			b.WriteString("\n" + line[0] + ": " + oneLine(line[1]))
		}
	}
	return &sdk.ElicitParams{Mode: "form", Message: b.String(), RequestedSchema: &jsonschema.Schema{
		Type: "object", Required: []string{answerName},
		Properties: map[string]*jsonschema.Schema{answerName: {
			Type: "string", Title: "Answer", Enum: answers, Description: meaning,
		}},
	}}
}

// oneLine converts a text to one line: a model must not fake lines, colours or text direction of the question.
func oneLine(s string) string { return text.RecordLine(strings.TrimRight(s, "\r\n")) }

// answerOf returns the decision. An answer that is not permitted means no.
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

// fingerprint identifies a request: its tool and normalized arguments.
func fingerprint(v *toolCall) string {
	var args any
	d := json.NewDecoder(bytes.NewReader(v.Params.Arguments))
	d.UseNumber()
	if err := d.Decode(&args); err != nil {
		return v.Params.Name + " " + string(v.Params.Arguments)
	}
	same, _ := json.Marshal(args) // sorts the keys
	return v.Params.Name + " " + string(same)
}

// state returns the requestState of a parked call: its ID, signed for this caller and these arguments.
func (d *Server) state(c *call) string {
	return c.id + "." + base64.RawURLEncoding.EncodeToString(d.sign("state", c.id, c.caller, c.fingerprint()))
}

// readState returns the call ID in a requestState. It rejects a forged state, that of another caller, and other
// arguments: the approval is for this command.
func (d *Server) readState(v *toolCall) (string, error) {
	id, seal, _ := strings.Cut(v.Params.RequestState, ".")
	mac, err := base64.RawURLEncoding.DecodeString(seal)
	if err != nil || !hmac.Equal(mac, d.sign("state", id, v.caller, fingerprint(v))) {
		return "", badState("it was not made by this server for this caller and this call")
	}
	return id, nil
}

func badState(why string) error {
	return &fault.Error{Kind: fault.Invalid, Op: "take answer", Subject: "requestState", Why: why,
		Hint: "call the tool again without requestState"}
}

// protocolError is an error of the client rather than of the model.
func protocolError(err error) error {
	data, _ := json.Marshal(problemOf(err))
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: err.Error(), Data: data}
}
