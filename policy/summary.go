package policy

import "strings"

// A Line is what a policy says about one category with one effect, for
// prompts and help.
type Line struct {
	Title  string
	Effect Effect
	Names  []string // as the rules spell them: "ls", "git status"; each once
	Cut    bool     // there are more names than these
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

// Summary returns the policy in lines: what is allowed, category by category,
// then what a person has to agree to, then what is denied. A name that another
// rule overrules is left out. Titles are in lang, "ja" or "en" (any other); of
// each category at most most names are given, 0 means all.
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
	at := make(map[string]int)
	seen := make(map[string]bool)
	home := p.homes()
	for i := range p.rules.all {
		r := &p.rules.all[i]
		name := r.text()
		if r.effect != effect || seen[name] || p.overruled(r) {
			continue
		}
		seen[name] = true
		category := r.category
		if category == "" {
			category = home[r.firstWord()]
		}
		n, ok := at[category]
		if !ok {
			n = len(out)
			at[category] = n
			out = append(out, Line{Title: title(category, effect, lang), Effect: effect})
		}
		if l := &out[n]; most > 0 && len(l.Names) >= most {
			l.Cut = true
		} else {
			l.Names = append(l.Names, name)
		}
	}
	return out
}

// overruled reports whether another rule decides about the very words of r.
func (p *Policy) overruled(r *rule) bool {
	if len(r.words) == 0 || isGlob(r.text()) {
		return false
	}
	best := p.rules.find(append(append([]string(nil), r.words...), r.flags...))
	return best != nil && best.effect != r.effect
}

func (r *rule) firstWord() string {
	if len(r.words) == 0 {
		return ""
	}
	return r.words[0]
}

// homes says under which heading the default rules have a command. A
// whitelist has no headings of its own.
func (p *Policy) homes() map[string]string {
	headless := false
	for i := range p.rules.all {
		headless = headless || p.rules.all[i].category == ""
	}
	if !headless {
		return nil
	}
	rules, err := defaultRules("host")
	if err != nil {
		return nil
	}
	out := make(map[string]string, len(rules))
	for i := range rules {
		if name := rules[i].firstWord(); out[name] == "" && rules[i].effect == Allow {
			out[name] = rules[i].category
		}
	}
	return out
}

// title returns the heading in the language that is asked for.
func title(category string, effect Effect, lang string) string {
	ja := lang == "ja"
	if category == "" {
		return untitled(effect, ja)
	}
	if t, ok := japanese[category]; ok && ja {
		return t
	}
	return category
}

func untitled(effect Effect, ja bool) string {
	en := [...]string{Deny: "Never", Ask: "With approval", Allow: "Other"}[effect]
	if ja {
		return japanese[en]
	}
	return en
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
