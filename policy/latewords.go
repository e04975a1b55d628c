package policy

import (
	"path"
	"strings"
)

// Words that are only known at run time wait for Call, unless the runner is one
// that nobody can stop, such as a container's own shell. Before such a runner a
// command is weighed: it may run if it is allowed whatever its late words turn
// out to be.

// mayBeAnything reports whether a late word may become anything: an option, a
// subcommand, several words, or none.
func (w word) mayBeAnything() bool {
	return w.late && (w.splits || w.head == "" || strings.HasPrefix(w.head, "-"))
}

// judgeLate returns the refusal of a command that its late words may turn into one
// that is not allowed, or nil.
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

// mayBeAllowed reports whether it is the late words that keep the command from
// being one that a rule allows.
func (c *command) mayBeAllowed() bool {
	if !c.p.checks.opaque || c.firstLate() == nil {
		return false
	}
	c.cost.spend(c.costOfRules())
	name, found := c.words[0].text, false
	c.p.rules.each(name, func(r *rule) {
		found = found || r.effect != Deny && r.mayMatch(name, c.words[1:])
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

// ruleNamesOf are the names under which rules may speak of the command.
func (c *command) ruleNamesOf() []string {
	name := c.words[0].text
	if own := projectPath(name); own != name {
		return []string{name, own}
	}
	return []string{name}
}

// rulesAllowingKnown returns the rules that allow the command by the words that are known.
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

// opposingRule returns a rule that denies or asks, may come to speak of the command,
// and does not give way to the one that allows it.
func (c *command) opposingRule(allow *rule) *rule {
	var found *rule
	names := c.ruleNamesOf()
	if base := path.Base(names[0]); base != names[0] && allow.name() != names[0] || allow.listed {
		names = append(names, base) // /bin/rm on a list is the rm of the rules, and so is ./rm in /bin
	}
	for _, name := range names {
		c.p.rules.each(name, func(r *rule) {
			yields := allow.beats(r) && (r.listed || !allow.listed || r.effect != Deny)
			if r.effect != Allow && !yields && r.mayMatch(name, c.words[1:]) {
				found = r
			}
		})
	}
	return found
}

// each calls do with the rules that may be about a name.
func (s *ruleSet) each(name string, do func(*rule)) {
	for _, i := range s.byName[name] {
		do(&s.all[i])
	}
	for _, i := range s.globs {
		do(&s.all[i])
	}
}

// mayMatch reports whether the rule matches for some value of the late words.
func (r *rule) mayMatch(name string, args []word) bool {
	if len(r.words) == 0 {
		return len(r.flags) == 0
	}
	if !wordMatches(r.words[0], name) {
		return false
	}
	for _, f := range r.flags {
		if !mayBeOption(args) && !hasFlag(name, textsOf(args), f, true) {
			return false
		}
	}
	switch {
	case len(r.words) == 1:
		return true
	case r.words[0] == "chmod" && len(r.words) == 2:
		return mayBeMode(args, r.words[1])
	}
	return mayLead(name, args, r.words[1:])
}

// mayBeOption reports whether a late word may be an option; behind -- none is.
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

// mayBeMode reports whether chmod may be given the mode: late words matter only
// until the mode is known.
func mayBeMode(args []word, want string) bool {
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

// mayLead is [leads] for a rule that restricts, with words that may be late.
func mayLead(name string, args []word, words []string) bool {
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
		case i == 0 || !args[i-1].mayBeAnything() && (len(args[i-1].text) < 2 || args[i-1].text[0] != '-'):
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

// refuseLate is the refusal because of a late word; without a rule it is that
// only more specific commands are allowed than what is known of this one.
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

// refuseLateWords refuses late words among those that decide which command is run by this
// one: timeout "$n" echo rm runs rm if $n is -k.
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
