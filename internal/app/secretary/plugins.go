package secretary

import (
	"context"
	"strconv"
	"strings"

	"hako/run/fault"
)

const jobUsage = "@job list | status HANDLE | output HANDLE [OFFSET] | kill HANDLE"

// job implements @job.
func (s *Secretary) job(ctx context.Context, c call) (Output, error) {
	verb, handle, offset := "list", "", int64(0)
	if len(c.Words) > 0 {
		verb = c.Words[0]
	}
	if len(c.Words) > 1 {
		handle = c.Words[1]
	}
	switch verb {
	case "list":
	case "status", "output", "kill":
		if handle == "" {
			return Output{}, usageError("@job "+verb, "the handle of the job is missing", jobUsage)
		}
	default:
		return Output{}, usageError("@job "+verb, "that cannot be done to a job", jobUsage)
	}
	if verb == "output" && len(c.Words) > 2 {
		n, err := strconv.ParseInt(c.Words[2], 10, 64)
		if err != nil || n < 0 {
			return Output{}, usageError("@job output", "the offset is a number of bytes, 0 or more", jobUsage)
		}
		offset = n
	}
	text, err := s.Jobs.Ask(ctx, verb, handle, offset)
	if err != nil {
		return Output{}, err
	}
	return s.textOutput(text), nil
}

const todoUsage = "@todo add TITLE [--due DATE] [--note TEXT] [--priority low|normal|high] | list | complete ID | delete ID | update ID [TITLE]"

// todo implements @todo.
func (s *Secretary) todo(ctx context.Context, c call) (Output, error) {
	if len(c.Words) == 0 || c.Words[0] == "list" {
		text, err := s.Todos.Open(ctx)
		if err != nil {
			return Output{}, err
		}
		return s.textOutput(text), nil
	}
	a, err := parseTodo(c.Words)
	if err != nil {
		return Output{}, err
	}
	text, err := s.Todos.Do(ctx, s.redactTodo(a))
	if err != nil {
		return Output{}, err
	}
	return s.textOutput(text), nil
}

// redactTodo redacts secrets: the list is stored and shown to others.
func (s *Secretary) redactTodo(a TodoAction) TodoAction {
	a.Title, a.Note = s.redact(a.Title), s.redact(a.Note)
	a.Due, a.Priority = s.redact(a.Due), s.redact(a.Priority)
	return a
}

// parseTodo parses the words of @todo.
func parseTodo(words []string) (a TodoAction, err error) {
	a.Action = words[0]
	plain, err := parseTodoOptions(&a, words[1:])
	if err != nil {
		return a, err
	}
	switch a.Action {
	case "add":
		if len(plain) == 0 {
			return a, usageError("@todo add", "the title is missing", todoUsage)
		}
	case "update", "complete", "delete":
		if len(plain) > 0 {
			a.ID, err = strconv.ParseInt(plain[0], 10, 64)
		}
		if len(plain) == 0 || err != nil {
			return a, usageError("@todo "+a.Action, "the number of the to-do is missing", todoUsage)
		}
		plain = plain[1:]
	default:
		return a, usageError("@todo "+a.Action, "that cannot be done to the list", todoUsage)
	}
	a.Title = strings.Join(plain, " ")
	return a, nil
}

// parseTodoOptions parses the options and returns the other words.
func parseTodoOptions(a *TodoAction, words []string) (plain []string, err error) {
	to := map[string]*string{"--due": &a.Due, "--note": &a.Note, "--priority": &a.Priority}
	for i := 0; i < len(words); i++ {
		name, value, given := strings.Cut(words[i], "=")
		into := to[name]
		switch {
		case into == nil && strings.HasPrefix(words[i], "--"):
			return nil, usageError("@todo", "there is no option "+name, todoUsage)
		case into == nil:
			plain = append(plain, words[i])
		case given:
			*into = value
		case i+1 == len(words):
			return nil, usageError("@todo", name+" needs a value", todoUsage)
		default:
			i++
			*into = words[i]
		}
	}
	return plain, nil
}

// splitWords splits a line like a shell, with quotes and backslashes but without expansion.
func splitWords(line string) (words []string, err error) {
	var b strings.Builder
	var quote rune
	escaped, inside := false, false
	for _, c := range line {
		switch {
		case escaped:
			b.WriteRune(c)
			escaped = false
		case c == '\\' && quote != '\'':
			escaped, inside = true, true
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			b.WriteRune(c)
		case c == '"' || c == '\'':
			quote, inside = c, true
		case c == ' ' || c == '\t' || c == '\n' || c == '\u3000':
			if inside {
				words = append(words, b.String())
				b.Reset()
			}
			inside = false
		default:
			b.WriteRune(c)
			inside = true
		}
	}
	if quote != 0 || escaped {
		return nil, &fault.Error{Kind: fault.Invalid, Op: "read words",
			Why: "a quote or backslash at the end is not closed"}
	}
	if inside {
		words = append(words, b.String())
	}
	return words, nil
}
