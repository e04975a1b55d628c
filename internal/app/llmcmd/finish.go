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

// reminder is what a model reads that said something and called nothing.
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

// leaving refuses to end with success what has failed in the same turn: the
// model asked for both before it could know.
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

// finish waits for what still writes the output, and keeps it if the work counts
// as done. The model's words are shown wherever it does not.
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

// replayEnded reports whether the error is only that a file of turns has no more
// of them after words that can be the answer: there such words end the dialog.
func (c *Session) replayEnded(m *app.MeteredModel, answer agent.Answer) bool {
	s, ok := m.Model.Model.(*replay.Script)
	return ok && s.Left() == 0 && c.answers(answer)
}

// answers reports whether words can stand for the output: the model wrote
// nothing, and nothing that was there before is replaced by them. Without tools
// words are all it can answer with.
func (c *Session) answers(answer agent.Answer) bool {
	if strings.TrimSpace(answer.Words) == "" {
		return false
	}
	return c.toolless() || c.outFile == nil && !c.table.Delivered()
}

func (c *Session) toolless() bool { return config.LlmcmdDisableTools.Of(c.conf).V }

// deliver brings the work to its end: what the scripts write is waited for, and
// words that are the answer are written.
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

// unfinished is the error of a session that the model ended neither by exit nor
// by an answer.
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

// say tells something to whoever called: a nested llmcmd speaks on its standard
// error, which is where the script sends it.
func (c *Session) say(message string) {
	if c.notes == nil {
		c.note(message)
		return
	}
	fmt.Fprintf(c.notes, "llmcmd: %s\n", text.RecordLine(message)) // the script ends by itself if nobody reads it
}
