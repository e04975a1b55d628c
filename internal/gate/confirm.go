package gate

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"hako/internal/policy"
)

// confirm puts the whole script to a person. What is denied anyway is not worth
// a question, and what a rule would ask about is named in this one, so that
// nobody is asked twice about the same words.
func (p *passage) confirm(ctx context.Context, verdicts []policy.Verdict) error {
	v := policy.Verdict{Effect: policy.Ask, Why: "the request itself asks for confirmation", Where: "confirm"}
	var covered []policy.Verdict
	for _, part := range verdicts {
		switch {
		case part.Late:
		case part.Effect == policy.Deny:
			return p.settle(ctx, part)
		case part.Effect == policy.Ask:
			covered = append(covered, part)
			v.Why += "; " + p.gate.spell(part.Argv) + ": " + part.Why + " (" + part.Where + ")"
		}
	}
	if err := p.ask(ctx, v); err != nil {
		return err
	}
	for _, part := range covered {
		p.agree(p.key(part), Once)
	}
	return nil
}

// whole reports whether a verdict is about the script and not one command of it.
func whole(v policy.Verdict) bool { return len(v.Argv) == 0 }

// key tells what was approved from what was not.
func (p *passage) key(v policy.Verdict) string {
	if whole(v) {
		parts := slices.Concat([]string{v.Where, p.req.Dir, p.req.Script}, p.req.Args, []string{""}, p.req.Env)
		return strings.Join(parts, "\x00")
	}
	return v.Where + "\x00" + strings.Join(v.Argv, "\x00")
}

// command spells what an approver must see: all of it, if it is a script.
func (p *passage) command(v policy.Verdict) string {
	if !whole(v) {
		return p.gate.spell(v.Argv)
	}
	text := plain(p.gate.Secrets.Text(p.req.Script))
	if len(p.req.Args) > 0 {
		text += "\n    with the arguments " + p.gate.spell(p.req.Args)
	}
	return text
}

// subject spells what a refusal is about.
func (p *passage) subject(v policy.Verdict) string {
	if !whole(v) {
		return p.gate.spell(v.Argv)
	}
	first, _, more := strings.Cut(plain(p.gate.Secrets.Text(p.req.Script)), "\n")
	if r := []rune(first); len(r) > shown {
		first, more = string(r[:shown]), true
	}
	if more {
		first += "…"
	}
	return first
}

// plain shows a script so that it cannot pass for anything else: its lines are
// set off, and what would move the cursor is spelled out.
func plain(script string) string {
	var b strings.Builder
	for _, c := range strings.TrimRight(script, "\n") {
		switch {
		case c == '\n':
			b.WriteString("\n    ")
		case c == '\t' || unicode.IsPrint(c):
			b.WriteRune(c)
		default:
			q := strconv.QuoteRune(c)
			b.WriteString(q[1 : len(q)-1])
		}
	}
	return b.String()
}
