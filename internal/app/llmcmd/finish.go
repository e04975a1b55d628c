package llmcmd

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"hako/agent"
	"hako/internal/app"
	"hako/internal/config"
	"hako/internal/text"
	"hako/llm"
	"hako/llm/replay"
	"hako/run/fault"
)

// reminder is sent to a model that wrote text and called no tool.
func (c *Session) reminder() string {
	text := "Nothing comes of words alone: only calls of tools do something. If there is work left, go on with a call. "
	switch {
	case c.table.Delivered():
		text += "If the output is whole, call exit with code 0. "
	case c.outFile != nil:
		text += "If you have the result, write it to fd 1, then call exit with code 0. "
	default:
		text += "If your last message is the whole result, call exit with code 0 and nothing else: it becomes the output. "
	}
	return text + "If the request cannot be carried out, call exit with another code and say why in message."
}

// leaving refuses exit with success if another call of the same turn failed: the model could not know.
func leaving(leave llm.Call, failed error) error {
	var in struct {
		Code *int `json:"code"`
	}
	if failed == nil || json.Unmarshal([]byte(leave.Arguments), &in) != nil || in.Code == nil || *in.Code != 0 {
		return nil
	}
	return &fault.Error{Kind: fault.Invalid, Op: "exit", Why: "another call of this turn failed: " + failed.Error(),
		Hint: "make up for it, or exit with a code other than 0; if it does not matter, call exit again"}
}

// finish waits for the output and commits it if the model succeeded. Otherwise it shows what the model said.
func (c *Session) finish(ctx context.Context, m *app.MeteredModel, answer agent.Answer, err error) error {
	if err != nil && c.replayEnded(m, answer) {
		err = nil
	}
	if err == nil {
		err = c.deliver(ctx, answer)
	}
	if err == nil {
		err = c.table.Err()
	}
	if err == nil {
		err = c.stdin.settled(ctx)
	}
	code, message, _ := c.table.Exited()
	if err != nil || code != 0 {
		c.quote(answer.Words)
	}
	if err != nil {
		return err
	}
	if message != "" {
		c.say(message)
	}
	if code != 0 {
		return app.ExitStatus(code)
	}
	if c.outFile != nil {
		return c.keepOutput()
	}
	return nil
}

// replayEnded reports whether the error only means that a recording has no more turns after a final answer.
func (c *Session) replayEnded(m *app.MeteredModel, answer agent.Answer) bool {
	s, ok := m.Model.Model.(*replay.Script)
	return ok && s.Left() == 0 && c.answers(answer)
}

// answers reports whether the text of the model is the output: it wrote nothing else, and no existing file is
// replaced by it. Without tools, text is the only output.
func (c *Session) answers(answer agent.Answer) bool {
	if strings.TrimSpace(answer.Words) == "" {
		return false
	}
	return c.toolless() || c.outFile == nil && !c.table.Delivered()
}

func (c *Session) toolless() bool { return config.LlmcmdDisableTools.Of(c.conf).V }

// deliver waits for the scripts and writes a plain answer.
func (c *Session) deliver(ctx context.Context, answer agent.Answer) error {
	code, _, left := c.table.Exited()
	if !left {
		if err := c.table.Finish(ctx); err != nil {
			return err
		}
	}
	switch {
	case c.answers(answer) && code == 0:
		_, err := io.WriteString(c.text, strings.TrimSuffix(answer.Words, "\n")+"\n")
		return err
	case !left:
		return c.unfinished(answer)
	}
	return nil
}

// unfinished is the error of a session without exit and without an answer.
func (c *Session) unfinished(answer agent.Answer) error {
	e := &fault.Error{Kind: fault.Unavailable, Op: "work", Why: "the model stopped without exit",
		Hint: "say more clearly what is to be written, or use another model"}
	switch {
	case strings.TrimSpace(answer.Words) == "":
		e.Why = "the model answered nothing"
	case !c.table.Delivered():
		e.Why = fmt.Sprintf("the model answered in words and wrote nothing to %s", c.Output)
	}
	return e
}

// quote shows what the model said when that is not the output.
func (c *Session) quote(words string) {
	if words = strings.TrimSpace(words); words == "" {
		return
	}
	for _, line := range strings.Split(words, "\n") {
		c.say("the model says: " + line)
	}
}

// say reports a message; a nested session writes it to its standard error.
func (c *Session) say(message string) {
	if c.notes == nil {
		c.note(message)
		return
	}
	fmt.Fprintf(c.notes, "llmcmd: %s\n", text.RecordLine(message))
}
