package gate

import (
	"context"
	"math"
	"strings"
	"unicode/utf8"

	"hako/internal/text"
	"hako/policy"
)

// confirm asks a person about the whole script. A denial ends it before anybody is asked. What a rule would ask
// about is named in the question, so that the same words are not asked about twice.
func (p *gateRun) confirm(ctx context.Context, verdicts []policy.Verdict) error {
	v := policy.Verdict{Effect: policy.Ask, Why: "the request itself asks for confirmation", Where: "confirm"}
	var covered []policy.Verdict
	for _, part := range verdicts {
		switch {
		case part.Late:
		case part.Effect == policy.Deny:
			return p.enforce(ctx, p.dirAtStart(), part)
		case part.Effect == policy.Ask:
			covered = append(covered, part)
			v.Why += "; " + p.gate.quoteShort(part.Argv) + ": " + part.Why + " (" + part.Where + ")"
		}
	}
	if err := p.ask(ctx, p.dirAtStart(), v); err != nil {
		return err
	}
	for _, part := range covered {
		p.approve(p.key(anywhere, part), Once)
	}
	return nil
}

// isWholeScript reports whether a verdict is about the script rather than one of its commands.
func isWholeScript(v policy.Verdict) bool { return len(v.Argv) == 0 }

// How much a person can be expected to read, in characters.
const (
	readableSize = 4000
	lineSize     = 40 // as much as an empty line counts for: many of them move the rest out of sight
)

// isReadable reports whether a person can be expected to read a command.
func isReadable(command string) bool {
	return utf8.RuneCountInString(command)+lineSize*strings.Count(command, "\n") <= readableSize
}

// readable reports whether a person can look through what is asked about, as it
// is, not as it is shown: nothing long may look short.
func (p *gateRun) readable(v policy.Verdict) bool {
	if isWholeScript(v) {
		return isReadable(p.req.Script + strings.Join(p.req.Args, " "))
	}
	return isReadable(strings.Join(v.Argv, " "))
}

// command returns the whole command for the approver.
func (p *gateRun) command(v policy.Verdict) string {
	shown := p.gate.secrets.Shown
	if !p.readable(v) {
		shown = p.gate.secrets.Text // nobody is asked; somebody may be told
	}
	if !isWholeScript(v) {
		return indented(quoteWords(v.Argv, math.MaxInt, shown))
	}
	text := indented(shown(p.req.Script))
	if len(p.req.Args) > 0 {
		text += "\n    with the arguments " + indented(quoteWords(p.req.Args, math.MaxInt, shown))
	}
	return text
}

// subject returns the subject of a refusal.
func (p *gateRun) subject(v policy.Verdict) string {
	if !isWholeScript(v) {
		return p.gate.quoteShort(v.Argv)
	}
	first, _, more := strings.Cut(indented(p.gate.secrets.Text(p.req.Script)), "\n")
	if more {
		first += "…"
	}
	return text.Shorten(first, maxShown)
}

// maxShownScript is the size of the longest script that is part of a question.
const maxShownScript = 16 << 10

// script returns the whole script, for approvers that show it beside the question.
func (p *gateRun) script() string {
	text := visible(p.gate.secrets.Shown(p.req.Script))
	if len(text) > maxShownScript {
		return ""
	}
	return text
}
