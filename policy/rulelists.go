package policy

import (
	"cmp"
	"slices"
	"strings"
)

// A Category is a heading of a rules file with the commands below it.
type Category struct {
	Title    string
	Commands []CategoryCommand
}

// A CategoryCommand is a command that a rule names.
type CategoryCommand struct {
	Effect Effect
	Name   string // as the rule spells it: "git status"
	Why    string
	Where  string `json:",omitempty"` // file:line of the rule
}

// Categories returns the rules under their headings, in order. Rules without a
// heading come under "".
func (p *Policy) Categories() []Category {
	if p == nil {
		return nil
	}
	var out []Category
	for i := range p.rules.all {
		r := &p.rules.all[i]
		at := slices.IndexFunc(out, func(c Category) bool { return c.Title == r.category })
		if at < 0 {
			at, out = len(out), append(out, Category{Title: r.category})
		}
		out[at].Commands = append(out[at].Commands, CategoryCommand{r.effect, r.text(), r.why, r.where})
	}
	return out
}

// A Line summarizes the rules of one category with one effect, for prompts.
type Line struct {
	Title  string
	Effect Effect
	Names  []string // as the rules spell them: "ls", "git status"; each once
	Cut    bool     // there are more names
}

// String returns the line as it stands in a prompt:
//
//   - Version control: git status, git diff, …
func (l Line) String() string {
	text := "- " + l.Title + ": " + strings.Join(l.Names, ", ")
	if l.Cut {
		text += ", …"
	}
	return text
}

// Summary returns the policy in lines: first what is allowed, by category, then
// what needs approval, then what is denied. Names that another rule overrides are
// left out. Titles are in lang, "ja" or "en" (any other). A line has at most most
// names; 0 means all.
func (p *Policy) Summary(lang string, most int) []Line {
	if p == nil {
		return nil
	}
	var out []Line
	for _, effect := range [...]Effect{Allow, Ask, Deny} {
		out = append(out, p.linesOf(effect, lang, most)...)
	}
	return out
}

func (p *Policy) linesOf(effect Effect, lang string, most int) []Line {
	var out []Line
	seen := make(map[string]bool)
	defaults := headings("host", (*rule).name)
	for i := range p.rules.all {
		r := &p.rules.all[i]
		name := r.text()
		if r.effect != effect || seen[name] || p.overridden(r) {
			continue
		}
		seen[name] = true
		heading := title(cmp.Or(r.category, defaults[r.name()]), effect, lang)
		at := slices.IndexFunc(out, func(l Line) bool { return l.Title == heading })
		if at < 0 {
			at, out = len(out), append(out, Line{Title: heading, Effect: effect})
		}
		if l := &out[at]; most > 0 && len(l.Names) >= most {
			l.Cut = true
		} else {
			l.Names = append(l.Names, name)
		}
	}
	return out
}

// overridden reports whether another rule decides about the very words of r.
func (p *Policy) overridden(r *rule) bool {
	if len(r.words) == 0 || isGlob(r.words[0]) {
		return false
	}
	best := p.rules.find(r.words[0], literals(r.argv()[1:]...))
	return best != nil && best.effect != r.effect
}

// headings maps the commands that a profile allows to the headings of its rules,
// for rules of the user that have none.
func headings(profile string, key func(*rule) string) map[string]string {
	rules, err := defaultRules(profile)
	if err != nil {
		return nil
	}
	out := make(map[string]string, len(rules))
	for i := range rules {
		if r := &rules[i]; r.effect == Allow && out[key(r)] == "" {
			out[key(r)] = r.category
		}
	}
	return out
}

// title returns a heading in the requested language.
func title(category string, effect Effect, lang string) string {
	name := cmp.Or(category, [...]string{Deny: "Never", Ask: "With approval", Allow: "Other"}[effect])
	if ja, ok := japanese[name]; ok && lang == "ja" {
		return ja
	}
	return name
}

// japanese are the headings of the default rules.
var japanese = map[string]string{
	"Build and package management": "ビルド・パッケージ管理",
	"Tests":                        "テスト",
	"Linters and formatters":       "リンター・フォーマッター",
	"Files and searching":          "ファイル操作・検索",
	"Version control":              "Git",
	"Version control, further":     "Git（その他）",
	"Utilities":                    "ユーティリティ",
	"Shell":                        "シェル",
	"Other":                        "その他",
	"With approval":                "承認が必要",
	"Never":                        "禁止",
	"Commands that hide others":    "禁止（他のコマンドを隠すもの）",
}

// An Allowance is a group of commands that a policy allows, for prompts.
type Allowance struct {
	Name     string   `json:"name"`  // as settings spell it: build_package
	Title    string   `json:"title"` // for people and models
	Commands []string `json:"commands"`
}

// allowances are the groups in order, with the headings of their rules. The last
// group is for commands that the user added.
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

// Allowed returns the commands that the policy allows without asking, by group.
// Shell builtins such as true and exit, and groups without commands, are left out.
func (p *Policy) Allowed() []Allowance {
	if p == nil {
		return nil
	}
	groups := make(map[string][]string)
	defaults := headings(p.profile, (*rule).text)
	for i := range p.rules.all {
		r := &p.rules.all[i]
		if r.effect != Allow || isGlob(r.name()) || r.name() == "" && r.size() > 0 || p.overridden(r) {
			continue
		}
		heading := cmp.Or(r.category, defaults[r.text()])
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

// AllowedText is [Policy.Allowed] as the text of a prompt, a line for each group.
func (p *Policy) AllowedText() string {
	var lines []string
	for _, a := range p.Allowed() {
		lines = append(lines, a.Title+": "+strings.Join(a.Commands, ", "))
	}
	return strings.Join(lines, "\n")
}
