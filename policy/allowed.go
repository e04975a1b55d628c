package policy

import (
	"slices"
	"strings"
)

// An Allowance is a group of commands that a policy allows, for prompts.
type Allowance struct {
	Name     string   `json:"name"`  // as settings spell it: build_package
	Title    string   `json:"title"` // for people and models
	Commands []string `json:"commands"`
}

// allowances are the groups in order, with the headings of the rules that belong
// to them. The last is for commands that the user added.
var allowances = []struct {
	name, title string
	headings    []string
}{
	{"build_package", "Build/Package Management", []string{"Build and package management"}},
	{"test", "Test Execution", []string{"Tests"}},
	{"linter_formatter", "Linter/Formatter", []string{"Linters and formatters"}},
	{"file_operations", "File Operations", []string{"Files and searching"}},
	{"version_control", "Version Control", []string{"Version control", "Version control, further"}},
	{"utilities", "Utilities", []string{"Utilities"}},
	{"additional", "Additional", []string{""}},
}

// Allowed returns the commands that the policy allows as it stands, by group: one
// that a rule denies or asks for is not among them. What every shell has by
// itself, such as true and exit, is left out, and so are groups without commands.
func (p *Policy) Allowed() []Allowance {
	if p == nil {
		return nil
	}
	groups := make(map[string][]string)
	defaults := p.defaultHeadings()
	for i := range p.rules.all {
		r := &p.rules.all[i]
		if !p.lastWord(r) {
			continue
		}
		heading := r.category
		if heading == "" {
			heading = defaults[r.text()]
		}
		if !slices.Contains(groups[heading], r.text()) {
			groups[heading] = append(groups[heading], r.text())
		}
	}
	var out []Allowance
	for _, g := range allowances {
		a := Allowance{Name: g.name, Title: g.title}
		for _, heading := range g.headings {
			a.Commands = append(a.Commands, groups[heading]...)
		}
		if len(a.Commands) > 0 {
			out = append(out, a)
		}
	}
	return out
}

// lastWord reports whether a rule allows a command by name and has the last word.
func (p *Policy) lastWord(r *rule) bool {
	if r.effect != Allow || len(r.words) > 0 && isGlob(r.words[0]) {
		return false
	}
	if len(r.words) == 0 {
		return r.size() == 0
	}
	last := p.rules.find(append(slices.Clone(r.words), r.flags...))
	return last != nil && last.effect == Allow
}

// defaultHeadings says below which heading the profile has a command, for those
// that a list of the user names.
func (p *Policy) defaultHeadings() map[string]string {
	rules, err := defaultRules(p.profile)
	if err != nil {
		return nil
	}
	out := make(map[string]string, len(rules))
	for i := range rules {
		if r := &rules[i]; r.effect == Allow {
			out[r.text()] = r.category
		}
	}
	return out
}

// AllowedText is [Policy.Allowed] as the text of a prompt, a line for each group.
func (p *Policy) AllowedText() string {
	var b strings.Builder
	for _, a := range p.Allowed() {
		b.WriteString(a.Title + ": " + strings.Join(a.Commands, ", ") + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}
