package policy

import (
	"path"
	"slices"
	"strings"
)

// Late words are only known at run time. They are left to Call, unless the runner never calls it, as the shell of a
// container. There a command may run only if it is allowed for all values of its late words.

// mayBeAnything reports whether a late word may become an option, a subcommand, several words, or none.
func (w word) mayBeAnything() bool {
	return w.late && (w.splits || w.head == "" || strings.HasPrefix(w.head, "-"))
}

// judgeLate refuses a command that its late words may turn into one that is not allowed.
func (c *command) judgeLate() *finding {
	late := c.firstLate()
	if late == nil || c.p.rules.everything != nil {
		return nil
	}
	c.cost.spend(3 * c.costOfRules())
	if c.words[0].text == "chmod" {
		c.cost.spend(costSource * len(c.words) * len(c.words)) // see mayBeMode
	}
	var threat *rule
	if c.rule == &noRuleDenies {
		if threat = c.opposingRule(c.rule); threat == nil {
			return nil
		}
		return c.refuseLate(threat, late)
	}
	for _, name := range c.ruleNamesOf() {
		for _, allow := range c.rulesAllowingKnown(name) {
			if threat = c.opposingRule(allow); threat == nil {
				return nil
			}
		}
	}
	return c.refuseLate(threat, late)
}

// mayBeAllowed reports whether a rule allows the command for some value of its late words.
func (c *command) mayBeAllowed() bool {
	if !c.p.checks.opaque || c.firstLate() == nil {
		return false
	}
	c.cost.spend(c.costOfRules())
	name, found := c.words[0].text, false
	c.p.rules.each(name, func(r *rule) {
		found = found || r.effect != Deny && r.mayMatch(name, c.words[1:], true)
	})
	return found
}

func (c *command) firstLate() *word {
	for i := range c.words {
		if c.words[i].late {
			return &c.words[i]
		}
	}
	return nil
}

// ruleNamesOf returns the names under which rules may match the command.
func (c *command) ruleNamesOf() []string {
	name := c.words[0].text
	if own := projectPath(name); own != name {
		return []string{name, own}
	}
	return []string{name}
}

// rulesAllowingKnown returns the rules that allow the command by its known words.
func (c *command) rulesAllowingKnown(name string) []*rule {
	known := []string{name}
	for i, w := range c.words[1:] {
		value := i > 0 && !c.words[i].late && takesNext(name, c.words[i].text)
		if w.late && (!value || w.splits) {
			break
		}
		known = append(known, w.text)
	}
	var out []*rule
	c.p.rules.each(name, func(r *rule) {
		if r.effect == Allow && r.matches(known) {
			out = append(out, r)
		}
	})
	return out
}

// opposingRule returns a rule that denies or asks, may match the command, and is not overridden by the rule that
// allows it.
func (c *command) opposingRule(allow *rule) *rule {
	var found *rule
	names := c.ruleNamesOf()
	if base := path.Base(names[0]); base != names[0] && allow.name() != names[0] || allow.listed {
		names = append(names, base) // /bin/rm on a list is the rm of the rules, and so is ./rm in /bin
	}
	for _, name := range names {
		c.p.rules.each(name, func(r *rule) {
			yields := allow.beats(r) && (r.listed || !allow.listed || r.effect != Deny)
			if r.effect != Allow && !yields && r.mayMatch(name, c.words[1:], true) {
				found = r
			}
		})
	}
	return found
}

// each calls do with the rules that may match a name.
func (s *ruleSet) each(name string, do func(*rule)) {
	for _, i := range s.byName[name] {
		do(&s.all[i])
	}
	for _, i := range s.globs {
		do(&s.all[i])
	}
}

// mayBeOption reports whether a late word before -- may be an option.
func mayBeOption(args []word) bool {
	for _, a := range args {
		if !a.late && a.text == "--" {
			return false
		}
		if a.mayBeAnything() {
			return true
		}
	}
	return false
}

// mayBeMode reports whether chmod may be given the mode. Late words behind the mode do not matter.
func mayBeMode(args []word, want string) bool {
	if !slices.ContainsFunc(args, func(w word) bool { return w.late }) {
		return sameMode(modeWords(textsOf(args)), want)
	}
	for i, a := range args {
		if a.late {
			return true
		}
		if mode := modeWords(textsOf(args[:i+1])); mode != "" {
			return sameMode(mode, want) || strings.HasPrefix(mode, "-") && mayBeOption(args[i+1:])
		}
	}
	return false
}

// mayLead reports whether words may be the first operands of args.
func mayLead(name string, args []word, words []string, restricting bool) bool {
	for i := 0; i < len(args) && len(words) > 0; i++ {
		a := args[i]
		switch {
		case a.mayBeAnything():
			return true
		case a.late && (isGlob(words[0]) || strings.HasPrefix(words[0], a.head)):
			return true
		case !a.late && a.text == "--":
		case !a.late && len(a.text) > 1 && a.text[0] == '-':
			if takesNext(name, a.text) {
				i++
			}
			if i < len(args) && args[i].splits {
				return true
			}
		case !a.late && wordMatches(words[0], a.text):
			words = words[1:]
		case !restricting || i == 0 || !args[i-1].mayBeAnything() && (len(args[i-1].text) < 2 || args[i-1].text[0] != '-'):
			return false
		}
	}
	return len(words) == 0
}

func textsOf(words []word) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = w.text
	}
	return out
}

// refuseLate refuses a command because of a late word: it may turn the command into that of the rule, or no rule
// allows all its values.
func (c *command) refuseLate(r *rule, late *word) *finding {
	name := c.words[0].text
	f := &finding{effect: Deny, late: true, where: name + " " + late.String(), hint: "write out what stands for " +
		late.String()}
	switch {
	case r == nil:
		f.why = late.String() + " is only known at run time, and not everything of " + name + " is allowed"
		return f
	case len(r.flags) > 0:
		f.hint += ", or put -- before it: " + name + ` -- "…"`
	case r.words[0] == "chmod":
		f.hint = "write the mode out: chmod +x " + late.String()
	}
	f.where = r.where
	f.why = late.String() + " is only known at run time and may make it " + r.text()
	if r.why != "" {
		f.why += ": " + r.why
	}
	return f
}

// refuseLateWords refuses late words that decide which command this one runs: timeout "$n" echo rm runs rm if $n
// is -k.
func (c *command) refuseLateWords(own []word) *finding {
	if !c.p.checks.opaque {
		return nil
	}
	for _, w := range own {
		if w.late {
			return refuseUndecided(c.words[0].text, w, "write out what stands for "+w.String())
		}
	}
	return nil
}

func refuseUndecided(name string, w word, hint string) *finding {
	return &finding{effect: Deny, late: true, where: name + " " + w.String(),
		why: w.String() + " is only known at run time and decides what " + name + " runs", hint: hint}
}

func isOption(w word) bool {
	return strings.HasPrefix(w.text, "-") && (!w.late || strings.HasPrefix(w.head, "-"))
}
