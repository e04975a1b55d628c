package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"hako/internal/redact"
	"hako/internal/text"
	"hako/run"
	"hako/run/fault"
)

// tailSize is how much of the end of a long output command-executor shows.
const tailSize = 16 << 10

type commandIn struct {
	Command   string `json:"command" jsonschema:"The shell command to run"`
	Directory string `json:"working_directory,omitempty" jsonschema:"Where to run it. Default: where the sandbox stands"`
	ID        string `json:"sandbox_id,omitempty" jsonschema:"Default: your only sandbox; one is made if you have none"`
	Reason    string `json:"reason,omitempty" jsonschema:"why, for a person who may have to approve it"`
}

type commandOut struct {
	ExitCode int      `json:"exit_code" jsonschema:"-1 after a timeout"`
	Stdout   string   `json:"stdout"`
	Stderr   string   `json:"stderr"`
	Duration int64    `json:"duration_ms"`
	Log      string   `json:"log,omitempty" jsonschema:"resource with the whole output, if a part was cut"`
	Redacted int      `json:"redacted" jsonschema:"places of the whole output where [redacted] stands instead of a secret"`
	Note     string   `json:"note,omitempty" jsonschema:"the same in words"`
	ID       string   `json:"sandbox_id"`
	Error    *problem `json:"error,omitempty"`
}

// commandTool is execute under the name that coding agents know.
func (d *Server) commandTool() *toolSpec {
	return newTool[commandIn, commandOut]("command-executor_execute_command", "Run a command",
		"Runs a shell command in a sandbox and returns {exit_code, stdout, stderr, duration_ms}. "+
			"Of a long output only the end is shown; log names the whole. A refused command comes back with the reason and what to do instead.",
		toolHints{destructive: true, open: d.opts.Egress}, d.command)
}

func (d *Server) command(ctx context.Context, v *toolCall, in commandIn) *sdk.CallToolResult {
	if err := d.checkCommand("run command", in.Command); err != nil {
		return failure(err)
	}
	b, err := d.enterAny(ctx, v, in.ID)
	if err != nil {
		return failure(err)
	}
	return d.runCall(ctx, v, b, true, func(ctx context.Context, c *call) *sdk.CallToolResult {
		o := d.run(ctx, c, &run.Request{Actor: v.actor, Reason: in.Reason, Script: in.Command, Dir: in.Directory})
		out := commandOut{ExitCode: o.exit, Duration: o.Duration.Milliseconds(), ID: b.id, Redacted: o.redacted,
			Note: redact.ModelNote(o.redacted)}
		var cut [2]bool
		out.Stdout, cut[0] = o.stdout.tail(o.tails[0])
		out.Stderr, cut[1] = o.stderr.tail(o.tails[1])
		d.storeOutput(o, in.Command, cut[0] || cut[1])
		if o.number > 0 {
			out.Log = o.uri()
		}
		return d.commandResult(c, o, out)
	})
}

// commandResult returns the result of a command. A timeout is a result here, as agents expect.
func (d *Server) commandResult(c *call, o outcome, out commandOut) *sdk.CallToolResult {
	if o.TimedOut && fault.KindOf(o.err) == fault.Timeout {
		out.ExitCode = -1
		out.Stderr += "\n" + timeoutMessage(o.Duration, o.err)
	} else if o.err != nil {
		out.Error = c.problem(o.err)
	}
	res := result(out)
	res.IsError = out.Error != nil
	return res
}

// timeoutMessage reports a timeout in the words that agents know. If the sandbox had no time left, it adds the reason:
// the duration of the command explains nothing.
func timeoutMessage(took time.Duration, err error) string {
	took = took.Round(time.Millisecond)
	text := "Command timeout after " + strconv.FormatFloat(took.Seconds(), 'f', -1, 64) + " seconds"
	var e *fault.Error
	if took == 0 && errors.As(err, &e) && e.Why != "" {
		text += ": " + e.Why
	}
	return text
}

// tail returns the end of a stream, with a note about the omitted part; tail is set if the capture lost the end.
func (k outputCapture) tail(tail []byte) (string, bool) {
	if k.total <= tailSize {
		return validUTF8(k.text), false
	}
	if tail == nil {
		tail = k.text
	}
	last, _ := text.Page(tail, max(int64(len(tail))-tailSize, 0), tailSize)
	return fmt.Sprintf("[%d of %d bytes are not shown: this is the end]\n%s", k.total-int64(len(last)), k.total,
		validUTF8(last)), true
}
