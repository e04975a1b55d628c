package gate

import (
	"context"
	"math"
	"strings"
	"unicode/utf8"

	"hako/policy"
)

// confirm puts the whole script to a person. What is denied anyway is not worth
// a question, and what a rule would ask about is named in this one, so that
// nobody is asked twice about the same words.
func (p *gateRun) confirm(ctx context.Context, verdicts []policy.Verdict) error {
	v := policy.Verdict{Effect: policy.Ask, Why: "the request itself asks for confirmation", Where: "confirm"}
	var covered []policy.Verdict
	for _, part := range verdicts {
		switch {
		case part.Late:
		case part.Effect == policy.Deny:
			return p.settle(ctx, p.start(), part)
		case part.Effect == policy.Ask:
			covered = append(covered, part)
			v.Why += "; " + p.gate.spell(part.Argv) + ": " + part.Why + " (" + part.Where + ")"
		}
	}
	if err := p.ask(ctx, p.start(), v); err != nil {
		return err
	}
	for _, part := range covered {
		p.approve(p.key(anywhere, part), Once)
	}
	return nil
}

// whole reports whether a verdict is about the script and not one command of it.
func whole(v policy.Verdict) bool { return len(v.Argv) == 0 }

// What a person can be expected to look through.
const (
	readableSize = 4000
	lineSize     = 40 // as much as an empty line counts for: many of them move the rest out of sight
)

// readable reports whether a person can look through a command.
func readable(command string) bool {
	return utf8.RuneCountInString(command)+lineSize*strings.Count(command, "\n") <= readableSize
}

// readable reports whether a person can look through what is asked about, as it
// is, not as it is shown: nothing long may look short.
func (p *gateRun) readable(v policy.Verdict) bool {
	if whole(v) {
		return readable(p.req.Script + strings.Join(p.req.Args, " "))
	}
	return readable(strings.Join(v.Argv, " "))
}

// command spells what an approver must see: all of it.
func (p *gateRun) command(v policy.Verdict) string {
	shown := p.gate.secrets.Shown
	if !p.readable(v) {
		shown = p.gate.secrets.Text // nobody is asked; somebody may be told
	}
	if !whole(v) {
		return plain(quoted(v.Argv, math.MaxInt, shown))
	}
	text := plain(shown(p.req.Script))
	if len(p.req.Args) > 0 {
		text += "\n    with the arguments " + plain(quoted(p.req.Args, math.MaxInt, shown))
	}
	return text
}

// subject spells what a refusal is about.
func (p *gateRun) subject(v policy.Verdict) string {
	if !whole(v) {
		return p.gate.spell(v.Argv)
	}
	first, _, more := strings.Cut(plain(p.gate.secrets.Text(p.req.Script)), "\n")
	if r := []rune(first); len(r) > shown {
		first, more = string(r[:shown]), true
	}
	if more {
		first += "…"
	}
	return first
}

// longestScript is how many bytes of a script go with a question about a part.
const longestScript = 16 << 10

// script spells the whole script for those who can show it beside the question.
func (p *gateRun) script() string {
	text := visible(p.gate.secrets.Shown(p.req.Script))
	if len(text) > longestScript {
		return ""
	}
	return text
}
