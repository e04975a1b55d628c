package secretary

import (
	"context"
	"fmt"
	"strings"

	"hako/internal/text"
	"hako/run/fault"
)

const (
	helpTodo    = "/todo [add|update|complete|delete …]   the to-do list; alone: show it\n"
	helpHistory = "/history [WORDS]                       this conversation; with WORDS: search all of them\n"
	helpReset   = "/reset                                 start a new conversation\n"
	helpPlugins = "@todo, @search, @bg, @job              commands of the model too; your own: secretary.commands\n"
	helpExit    = "exit                                   leave\n"
)

func (c *Conversation) help() string {
	if c.NoReset {
		return helpTodo + helpHistory + helpPlugins
	}
	return helpTodo + helpHistory + helpReset + helpPlugins + helpExit
}

// command runs a line that is not for the model and returns its output.
func (c *Conversation) command(ctx context.Context, line string) (string, error) {
	word, rest, _ := strings.Cut(line, " ")
	rest = strings.TrimSpace(rest)
	switch word {
	case "/help":
		return c.help(), nil
	case "/todo":
		if rest == "" {
			rest = "list"
		}
		return c.plugin(ctx, "@todo "+rest)
	case "/history":
		return c.history(rest)
	case "/reset":
		return c.reset()
	}
	if word[0] == '@' {
		return c.plugin(ctx, line)
	}
	e := &fault.Error{Kind: fault.Invalid, Op: "talk", Subject: word, Why: "there is no such command",
		Hint: "/help lists them"}
	if near, ok := fault.Nearest(word, []string{"/help", "/todo", "/history", "/reset"}); ok {
		e.Hint = "did you mean " + near + "?"
	}
	return "", e
}

func (c *Conversation) plugin(ctx context.Context, line string) (string, error) {
	r, err := c.Command(ctx, line)
	if err != nil {
		return "", err
	}
	if r.Denied != nil {
		why := strings.TrimSuffix(r.Error+": "+r.Detail, ": ")
		return "", &fault.Error{Kind: fault.Denied, Op: line, Why: why, Rule: r.Denied.Rule, Hint: r.Hint}
	}
	if why, ok := strings.CutPrefix(r.Error, "ExecutionError: "); ok {
		return "", &fault.Error{Op: why, Hint: r.Hint} // it names the command itself
	} else if r.Error != "" {
		return "", &fault.Error{Op: line, Why: r.Error, Hint: r.Hint}
	}
	if r.Output == nil {
		return "", nil
	}
	s := r.Output.Stdout + r.Output.Stderr
	if s != "" && !strings.HasSuffix(s, "\n") {
		s += "\n"
	}
	return text.ForTerminal(s), nil
}

// history returns this conversation, or the messages of all conversations that contain the words.
func (c *Conversation) history(words string) (string, error) {
	if c.session == nil {
		return "", &fault.Error{Kind: fault.Unavailable, Op: "show history", Why: "conversations are not kept in this run",
			Hint: "the first lines of this run say why"}
	}
	var b strings.Builder
	if words != "" {
		hits, err := c.store.Search(words, 20)
		if err == nil && len(hits) == 0 {
			return "no messages found\n", nil
		}
		for _, h := range hits {
			b.WriteString(h.Line() + "\n")
		}
		return b.String(), err
	}
	messages, err := c.store.Messages(c.session.ID, resumedMessages)
	for _, m := range messages {
		fmt.Fprintf(&b, "%s: %s\n", m.Role, text.ForTerminal(m.Text))
	}
	return b.String(), err
}

// reset starts a new conversation; the old one stays in the store.
func (c *Conversation) reset() (string, error) {
	if c.NoReset {
		return "", &fault.Error{Kind: fault.Invalid, Op: "talk", Subject: "/reset",
			Why:  "a conversation here cannot be reset",
			Hint: "start another conversation"}
	}
	c.Forget()
	if c.session != nil {
		next, err := c.store.NewSession("")
		if err != nil {
			return "", err
		}
		c.session = &next
	}
	return "a new conversation\n", nil
}
