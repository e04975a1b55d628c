package policy

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"hako/internal/lazyregexp"
)

// A refusalRule refuses operands of a program, or values of an option, by a
// regular expression. rules/refusals.txt has all of them.
type refusalRule struct {
	options   []string           // whose values are judged; nil means operands
	with      []string           // options of which one must be given, too; nil means that none must
	pattern   *lazyregexp.Regexp // nil refuses every value
	unless    bool               // the pattern is for what is allowed
	late      bool               // what is only known at run time is refused, too
	why, hint string
}

const refusalsFile = "rules/refusals.txt"

// refusalRules are the rules by the name of the program. Subcommands have names of
// their own: git archive.
var refusalRules = sync.OnceValue(func() map[string][]refusalRule {
	text, _ := ruleFiles.ReadFile(refusalsFile)
	rules, err := parseRefusals(string(text))
	if err != nil {
		panic("policy: " + refusalsFile + ": " + err.Error()) // TestRefusalsFile
	}
	return rules
})

func parseRefusals(text string) (map[string][]refusalRule, error) {
	all := make(map[string][]refusalRule)
	for block := range strings.SplitSeq(strings.ReplaceAll(text, "\n  ", ""), "\n\n") {
		if strings.HasPrefix(block, "#") {
			continue
		}
		var r refusalRule
		var programs string
		for line := range strings.Lines(block) {
			key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
			switch key {
			case "program":
				programs = value
			case "option":
				r.options = strings.Fields(value)
			case "with":
				r.with = strings.Fields(value)
			case "why":
				r.why = value
			case "hint":
				r.hint = value
			case "operands", "value":
				value, r.late = strings.CutPrefix(value, "late ")
				how, pattern, _ := strings.Cut(value, " ")
				r.pattern, r.unless = lazyregexp.New(pattern), how == "unless"
			default:
				return nil, fmt.Errorf("there is no field %q", key)
			}
		}
		if programs == "" || r.why == "" || r.hint == "" || r.pattern == nil && r.options == nil {
			return nil, fmt.Errorf("a field is missing in %q", block)
		}
		for name := range strings.SplitSeq(programs, ", ") {
			all[name] = append(all[name], r)
		}
	}
	return all, nil
}

// refuseListed applies the rules of rules/refusals.txt.
func (c *command) refuseListed(program string, a *arguments) *finding {
	for _, r := range refusalRules()[program] {
		if r.with != nil && !a.has(r.with...) {
			continue
		}
		if r.options == nil {
			if f := firstRefusal(a.operands, func(w word) *finding { return c.refuseMatch(&r, w.text, w) }); f != nil {
				return f
			}
			continue
		}
		for _, o := range a.options {
			if slices.Contains(r.options, o.name) {
				if f := c.refuseMatch(&r, o.name, o.val); f != nil {
					return f
				}
			}
		}
	}
	return nil
}

// refuseMatch refuses a word that the rule speaks of.
func (c *command) refuseMatch(r *refusalRule, what string, w word) *finding {
	if r.pattern == nil || r.late && w.late || r.pattern.Get().MatchString(w.text) != r.unless {
		return c.refuseOption(what, r.why, r.hint)
	}
	return nil
}
