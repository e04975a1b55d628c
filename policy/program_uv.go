package policy

import "strings"

// judgeUv judges uv run as the command it runs in the project's environment.
// The other subcommands fetch and install; a rule has to name them.
func judgeUv(c *command, args []word) *finding {
	before, n, f := c.parseOwn(wrapping("uv"), args)
	if f == nil {
		f = c.fixed(args[:min(n+1, len(args))])
	}
	if f != nil || n >= len(args) {
		return f
	}
	if sub := args[n].text; sub != "run" || args[n].late {
		if !c.p.checks.strict || c.rule != nil && len(c.rule.words) > 1 {
			return c.anyProgram(args)
		}
		return refusal("uv: "+sub, "it fetches or installs packages", "only uv run is allowed; uv run runs what is installed")
	}
	rest := args[n+1:]
	own, m, f := c.parseOwn(wrapping("uv"), rest)
	if f == nil {
		f = c.fixed(rest[:min(m+1, len(rest))])
	}
	if f != nil {
		return f
	}
	own.options = append(before.options, own.options...)
	if v, ok := own.get("-p", "--python"); ok &&
		(v.loose || strings.Trim(strings.TrimPrefix(v.text, "python"), ".0123456789") != "") {
		return c.refused("--python", "it could name any program", "give a version, such as 3.12")
	}
	for _, o := range own.options {
		if o.name == "--directory" {
			c.alsoAt(o.val)
		}
	}
	_, module := own.get("-m", "--module")
	return c.uvRuns(rest[m:], module)
}

// uvRuns judges what uv run runs: a script or a module is Python's. A rule that
// names the command, such as uv run pytest, is the permission for it; what is
// known about the command holds nevertheless.
func (c *command) uvRuns(words []word, module bool) *finding {
	if len(words) == 0 {
		return nil
	}
	named := c.ruleNames(words)
	name := words[0].text
	switch {
	case module:
		words = append(literals("python", "-m"), words...)
	case name == "-" || strings.HasSuffix(name, ".py") || strings.HasSuffix(name, ".pyw"):
		words = append(literals("python"), words...)
	}
	in := command{p: c.p, cost: c.cost, words: words, dirs: c.dirs, input: c.input, rule: c.rule, depth: c.depth + 1,
		wrote: c.wrote, linked: c.linked}
	if !named || in.depth > maxWrapped || c.p.rules.find(in.texts()) != nil {
		return c.inner(words)
	}
	return in.known()
}

// ruleNames reports whether the words after uv run are those of the rule. That
// the rule matched is not enough: in uv run --extra pytest x, x is what runs.
func (c *command) ruleNames(words []word) bool {
	if c.rule == nil || len(c.rule.words) <= 2 || len(c.rule.words)-2 > len(words) {
		return false
	}
	for i, want := range c.rule.words[2:] {
		if words[i].late || !wordMatches(want, words[i].text) {
			return false
		}
	}
	return true
}
