package policy

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"hako/run/fault"
)

// A rule is one line of a rules file.
type rule struct {
	effect   Effect
	words    []string // name first; a trailing * is dropped, it says nothing
	flags    []string // the words that start with -, as written
	why      string
	where    string
	category string
	examples []example
	listed   bool // a line of a whitelist, which no deny rule gives way to
}

type example struct {
	matches bool
	argv    []string
	where   string
}

// A ruleSet finds the rules for a command by its name.
type ruleSet struct {
	all    []rule
	byName map[string][]int
	globs  []int // rules whose name is a pattern

	// everything is set when one rule for * is all there is.
	everything *rule
}

func newRuleSet(rules []rule) ruleSet {
	s := ruleSet{all: rules, byName: make(map[string][]int, len(rules))}
	for i, r := range rules {
		switch {
		case len(r.words) == 0 || isGlob(r.words[0]):
			s.globs = append(s.globs, i)
		default:
			s.byName[r.words[0]] = append(s.byName[r.words[0]], i)
		}
	}
	if len(rules) == 1 && len(rules[0].words) == 0 && len(rules[0].flags) == 0 {
		s.everything = &rules[0]
	}
	return s
}

// Parse reads rules from r; name is used in verdicts and errors.
func Parse(name string, r io.Reader) (*Policy, error) {
	rules, err := readRules(name, r)
	if err != nil {
		return nil, err
	}
	p := &Policy{rules: newRuleSet(rules), checks: checks{foreground: true}}
	return p, p.Test()
}

// readRules parses a rules file. A line is a rule, an example of the rule above it (indented), a "## category"
// heading, a comment or empty.
func readRules(name string, r io.Reader) ([]rule, error) {
	var rules []rule
	category := ""
	sc := bufio.NewScanner(r)
	sc.Buffer(nil, 64<<10)
	n := 1
	for ; sc.Scan(); n++ {
		line, where := sc.Text(), fmt.Sprintf("%s:%d", name, n)
		if title, ok := strings.CutPrefix(line, "##"); ok {
			category = strings.TrimSpace(title)
			continue
		}
		words, why, err := splitLine(line)
		if err != nil {
			return nil, malformed(where, err.Error(), "close the quote; quoting works as in the shell")
		}
		if len(words) == 0 {
			continue
		}
		if err := readLine(&rules, words, where, why, category, line); err != nil {
			return nil, err
		}
	}
	if err := sc.Err(); err != nil {
		return nil, malformed(fmt.Sprintf("%s:%d", name, n), "the line cannot be read: "+err.Error(),
			"a rule is one line of at most 64 KB")
	}
	return rules, nil
}

func readLine(rules *[]rule, words []string, where, why, category, line string) error {
	if words[0] == "match" || words[0] == "nomatch" {
		return readExample(*rules, words, where)
	}
	effect, err := readEffect(words[0], where)
	if err != nil {
		return err
	}
	if line[0] == ' ' || line[0] == '\t' {
		return malformed(where, "a rule is not indented", "indent only the match and nomatch lines below a rule")
	}
	if len(words) == 1 {
		return malformed(where, "the rule names no command", "write the command after the effect: "+words[0]+" git status")
	}
	r := rule{effect: effect, why: why, where: where, category: category}
	r.setWords(words[1:])
	*rules = append(*rules, r)
	return nil
}

func readExample(rules []rule, words []string, where string) error {
	if len(rules) == 0 {
		return malformed(where, "the example stands above every rule", "put it below the rule it belongs to")
	}
	if len(words) == 1 {
		return malformed(where, "the example names no command", "write the command after "+words[0])
	}
	last := &rules[len(rules)-1]
	last.examples = append(last.examples, example{words[0] == "match", words[1:], where})
	return nil
}

func readEffect(s, where string) (Effect, error) {
	for i, name := range effectNames {
		if s == name {
			return Effect(i), nil
		}
	}
	hint := "start the line with allow, ask or deny"
	if near, ok := fault.Nearest(s, append([]string{"match", "nomatch"}, effectNames[:]...)); ok {
		hint = "did you mean " + near + "?"
	}
	return Deny, malformed(where, fmt.Sprintf("%q is not an effect", s), hint)
}

func malformed(where, why, hint string) error {
	return &fault.Error{Kind: fault.Invalid, Op: "read policy", Subject: where, Why: why, Hint: hint}
}

func (r *rule) setWords(words []string) {
	if words[len(words)-1] == "*" {
		words = words[:len(words)-1]
	}
	for i, w := range words {
		if i > 0 && len(w) > 1 && w[0] == '-' {
			r.flags = append(r.flags, w)
		} else {
			r.words = append(r.words, w)
		}
	}
}

// size returns the number of words, which makes a rule specific.
func (r *rule) size() int { return len(r.words) + len(r.flags) }

// name returns the name of the rule's command; "" means any.
func (r *rule) name() string {
	if len(r.words) == 0 {
		return ""
	}
	return r.words[0]
}

// argv returns the words of the rule's command.
func (r *rule) argv() []string { return slices.Concat(r.words, r.flags) }

// text returns the rule's command as it would be typed.
func (r *rule) text() string { return cmp.Or(strings.Join(r.argv(), " "), "*") }

// splitLine splits a line into shell words and the comment behind them.
func splitLine(line string) (words []string, why string, err error) {
	var b strings.Builder
	var quote byte
	open := false
	flush := func() {
		if open {
			words = append(words, b.String())
		}
		b.Reset()
		open = false
	}
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote == '\'', quote == '"' && c != '\\':
			b.WriteByte(c)
		case c == '\\' && i+1 < len(line):
			i++
			b.WriteByte(line[i])
			open = true
		case c == '\'' || c == '"':
			quote, open = c, true
		case c == ' ' || c == '\t' || c == '\r':
			flush()
		case c == '#' && !open:
			return words, strings.TrimSpace(line[i+1:]), nil
		default:
			b.WriteByte(c)
			open = true
		}
	}
	if quote != 0 {
		return nil, "", errors.New("the quote is not closed")
	}
	flush()
	return words, "", nil
}

// Test runs the examples of the rules and reports the first that fails.
func (p *Policy) Test() error {
	for i := range p.rules.all {
		r := &p.rules.all[i]
		for _, e := range r.examples {
			if r.matches(e.argv) != e.matches {
				return malformed(e.where, exampleFault(r, e), "change the rule or the example")
			}
		}
	}
	return nil
}

func exampleFault(r *rule, e example) string {
	verb := "matches"
	if e.matches {
		verb = "does not match"
	}
	return fmt.Sprintf("the rule %q %s the example %q", r.effect.String()+" "+r.text(), verb, quoteAll(e.argv))
}

// quoteAll quotes words for a shell.
func quoteAll(argv []string) string {
	out := make([]string, len(argv))
	for i, s := range argv {
		q, err := syntax.Quote(s, syntax.LangBash)
		if err != nil {
			q = fmt.Sprintf("%q", s)
		}
		out[i] = q
	}
	return strings.Join(out, " ")
}

// Examples returns the number of examples of the rules.
func (p *Policy) Examples() int {
	n := 0
	for _, r := range p.rules.all {
		n += len(r.examples)
	}
	return n
}

// With returns the policy with more rules.
func (p *Policy) With(more *Policy) *Policy {
	if more == nil {
		return p
	}
	q := *p
	q.rules = newRuleSet(slices.Concat(p.rules.all, more.rules.all))
	return &q
}
