package mcpserver

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"hako/gate"
	"hako/internal/redact"
	"hako/internal/text"
	"hako/run"
	"hako/run/fault"
)

// maxPage is the maximum and default size of a page of output.
const maxPage = 4096

type executeIn struct {
	ID      string `json:"sandbox_id"`
	Command string `json:"command" jsonschema:"a shell command or script"`
	Start   int64  `json:"start,omitempty" jsonschema:"0, or the next_start of the page before: the command is not run again for it"`
	Size    int64  `json:"size,omitempty" jsonschema:"bytes of the page, up to 4096"`
	Reason  string `json:"reason,omitempty" jsonschema:"why, for a person who may have to approve it"`
}

// executeOut is the result of execute.
type executeOut struct {
	OK        bool     `json:"ok" jsonschema:"it ran to its end with exit status 0"`
	Stdout    string   `json:"stdout_text"`
	Stderr    string   `json:"stderr_text"`
	ExitCode  int      `json:"exit_code"`
	Total     int64    `json:"total_bytes" jsonschema:"of the whole output"`
	NextStart *int64   `json:"next_start" jsonschema:"null when this page is the last"`
	Truncated bool     `json:"truncated" jsonschema:"there is more"`
	CacheHit  bool     `json:"cache_hit" jsonschema:"the command was not run again"`
	Redacted  int      `json:"redacted" jsonschema:"places of the whole output where [redacted] stands instead of a secret"`
	Note      string   `json:"note,omitempty" jsonschema:"the same in words"`
	Error     *problem `json:"error,omitempty" jsonschema:"why it did not run, or not to its end"`
}

func (d *Server) executeTool() *toolSpec {
	return newTool[executeIn, executeOut]("execute", "Run a command",
		"Runs a command in a sandbox and returns a page of what it prints. Directory, variables and files of a virtual sandbox stay for the next command. "+
			"If truncated is true, call it again with the same command and start=next_start to read on.",
		toolHints{destructive: true, open: d.opts.Egress}, d.execute).restrict("size", between(1, maxPage)).restrict("start",
		func(s *jsonschema.Schema) { s.Minimum = new(float64) })
}

func (d *Server) execute(ctx context.Context, v *toolCall, in executeIn) *sdk.CallToolResult {
	if err := d.checkExecute(&in); err != nil {
		return failure(err)
	}
	b, err := d.enter(v.caller, in.ID)
	if err != nil {
		return failure(err)
	}
	if r, ok := d.outputs.byCommand(b.id, in.Command); ok && in.Start > 0 {
		defer d.leave(b)
		return d.nextPage(v, &r, in)
	}
	return d.runCall(ctx, v, b, true, func(ctx context.Context, c *call) *sdk.CallToolResult {
		o := d.run(ctx, c, &run.Request{Actor: v.actor, Reason: in.Reason, Script: in.Command})
		out := o.page(in.Start, in.Size)
		if o.err == nil {
			o.err = o.beyondStored(in.Start)
		}
		if o.err != nil {
			out.Error = c.problem(o.err)
		}
		d.storeOutput(o, in.Command, out.Truncated || o.stderr.total > errorSize)
		return d.answer(v, o.storedOutput, out)
	})
}

func (d *Server) checkExecute(in *executeIn) error {
	if in.Size == 0 { // models send zero for an unset value
		in.Size = maxPage
	}
	if err := d.checkCommand("execute", in.Command); err != nil {
		return err
	}
	return checkPage("execute", in.Start, in.Size, maxPage)
}

func (d *Server) checkCommand(op, command string) error {
	if len(command) > d.limits.Command {
		return &fault.Error{Kind: fault.TooLarge, Op: op, Why: fmt.Sprintf("the command has %d bytes, and %d are allowed",
			len(command), d.limits.Command), Hint: "write a file first: write_file"}
	}
	return nil
}

func checkPage(op string, start, size, most int64) error {
	switch {
	case size < 1 || size > most:
		return &fault.Error{Kind: fault.Invalid, Op: op, Why: fmt.Sprintf("size is %d, outside 1 to %d", size, most),
			Hint: "ask for the rest with start=next_start"}
	case start < 0:
		return &fault.Error{Kind: fault.Invalid, Op: op, Why: fmt.Sprintf("start is %d, below 0", start),
			Hint: "start is a byte: 0, or the next_start of the page before"}
	}
	return nil
}

// nextPage returns another page of a stored output.
func (d *Server) nextPage(v *toolCall, r *storedOutput, in executeIn) *sdk.CallToolResult {
	if r.dropped {
		return failure(&fault.Error{Kind: fault.NotFound, Op: "read on", Subject: short(in.Command),
			Why:  "this output is not kept any more, and the command would be run again for it",
			Hint: "run it again with start 0, if once more does no harm"})
	}
	o := outcome{storedOutput: r}
	o.err = o.beyondStored(in.Start)
	out := o.page(in.Start, in.Size)
	out.CacheHit = true
	if o.err != nil {
		out.Error = problemOf(o.err)
	}
	return d.answer(v, r, out)
}

// answer returns a page, with a link to the whole output if the client supports links.
func (d *Server) answer(v *toolCall, r *storedOutput, out executeOut) *sdk.CallToolResult {
	var more []sdk.Content
	if r.number > 0 && v.ProtocolVersion() >= linked {
		more = append(more, &sdk.ResourceLink{URI: r.uri(), Name: "whole output", MIMEType: "text/plain",
			Size: &r.stdout.total})
	}
	res := result(out, more...)
	res.IsError = out.Error != nil
	return res
}

// An outcome is the result of a command.
type outcome struct {
	run.Result
	*storedOutput
	tails [2][]byte // of standard output and standard error, if their middle is lost
	err   error
}

// notRun is the exit status of a refused command, as in shells.
const notRun = 126

// run runs a request for a call and captures its output.
func (d *Server) run(ctx context.Context, c *call, req *run.Request) outcome {
	req.ID = c.id
	streams := [2]*text.HeadTail{{Head: d.limits.Log, Tail: tailSize}, {Head: d.limits.Log, Tail: tailSize}}
	clean := [2]*redact.Writer{redact.NewWriter(streams[0], d.opts.Secrets), redact.NewWriter(streams[1], d.opts.Secrets)}
	req.Stdout, req.Stderr = io.MultiWriter(counter{c}, clean[0]), io.MultiWriter(counter{c}, clean[1])
	res, err := c.box.Run(ctx, req)
	o := outcome{Result: res, storedOutput: &storedOutput{box: c.box.id, command: sha256.Sum256([]byte(req.Script)),
		exit: res.Exit}, err: c.cause(addScript(err, req.Script))}
	for i, k := range []*outputCapture{&o.stdout, &o.stderr} {
		_ = clean[i].Close()
		o.redacted += clean[i].Places()
		k.text, o.tails[i], _ = streams[i].Bytes()
		k.total = streams[i].Total()
	}
	if o.err == nil && res.TimedOut {
		o.err = &fault.Error{Kind: fault.Timeout, Op: "run", Subject: short(req.Script),
			Why:  "it took too long and was stopped after " + res.Duration.Round(time.Millisecond).String(),
			Hint: "start it in the background: job_start"}
	}
	if o.err != nil && o.exit == 0 {
		o.exit = notRun
	}
	return o
}

// addScript adds the script to the error of a syntax error, which only has the position.
func addScript(err error, script string) error {
	var e *fault.Error
	if !errors.As(err, &e) || e.Op != "parse script" || e.Subject == "" {
		return err
	}
	own := *e
	own.Subject, own.Why = short(script), e.Subject+": "+e.Why
	return &own
}

// storeOutput stores an output of which the client saw a part. Outputs of earlier runs keep their address.
func (d *Server) storeOutput(o outcome, command string, part bool) {
	d.outputs.supersede(o.box, command)
	if part {
		d.outputs.put(o.storedOutput, d.limits.Logs)
	}
}

// beyondStored returns an error if a page is beyond the stored output.
func (o outcome) beyondStored(start int64) error {
	if have := int64(len(o.stdout.text)); start >= have && have < o.stdout.total {
		return &fault.Error{Kind: fault.TooLarge, Op: "read on",
			Why:  fmt.Sprintf("of %d bytes of output only the first %d are kept", o.stdout.total, have),
			Hint: "write the output to a file, and read that: read_file"}
	}
	return nil
}

// errorSize is how much of standard error an answer contains.
const errorSize = 4000

func (o outcome) page(start, size int64) executeOut {
	part, next := text.Page(o.stdout.text, start, size)
	said, end := text.Page(o.stderr.text, 0, errorSize)
	out := executeOut{OK: o.exit == 0 && o.err == nil, Stdout: validUTF8(part), Stderr: validUTF8(said), ExitCode: o.exit,
		Total:    o.stdout.total,
		Redacted: o.redacted, Note: redact.ModelNote(o.redacted)}
	if end < o.stderr.total {
		out.Stderr += fmt.Sprintf("\n[%d more bytes of standard error are not shown]\n", o.stderr.total-end)
	}
	if out.Truncated = next < o.stdout.total; out.Truncated {
		out.NextStart = &next
	}
	return out
}

func (c *call) refuse(err error) *sdk.CallToolResult {
	p := c.problem(c.cause(err))
	res := result(failed{p})
	res.IsError = true
	return res
}

// problem converts the error of a call.
func (c *call) problem(err error) *problem {
	p := problemOf(err)
	if c.unasked.Load() && p.Kind == fault.Denied.String() {
		p.Hint = "use a client that can ask a person (elicitation), let hako serve run beside it, or add a rule that allows it"
		if c.maxAnswer == gate.No {
			p.Hint = "have an operator watch the page of hako serve, or add a rule that allows it"
		}
	}
	return p
}
