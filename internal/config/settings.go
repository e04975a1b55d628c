package config

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"hako/internal/protect"
	"hako/quota"
)

// settings.txt defines every setting. A definition begins with [NAME], or [SECTION.*] for one setting per limit of
// package quota, and has these attributes, of which kind and help are required:
//
//	kind     how the value is written, see kinds
//	default  the value if nothing is set; computedDefaults has those that depend on other things
//	env      environment variables, of which the first that is set counts
//	local    which values a file found in the current directory may set: any, only VALUE, no-prefix, loopback
//	with     such a file may set it only beside one of these secrets, because it belongs to their account
//	carries  for an address: the secret that is sent there
//	decides  why such a file may not set it; required without local
//	help     what it is and how it is written; {range} stands for the range of the kind
//
//go:embed settings.txt
var settingsText string

// A spec is the definition of one setting.
type spec struct {
	kind
	name, env, fallback    string
	local                  func(setting) bool // nil means that no file found in the current directory may set it
	with, carries, decides string
	helpText               string
}

// specs returns all settings, in the order of settings.txt.
var specs = sync.OnceValue(func() []*spec { return parseSpecs(settingsText) })

var specByName = sync.OnceValue(func() map[string]*spec {
	byName := make(map[string]*spec)
	for _, s := range specs() {
		byName[s.name] = s
	}
	return byName
})

// parseSpecs panics on a mistake in the text, which is a constant.
func parseSpecs(text string) (all []*spec) {
	for block := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		head, rest, _ := strings.Cut(block, "\n")
		name := strings.Trim(head, "[]")
		names := []string{""}
		if prefix, ok := strings.CutSuffix(name, "*"); ok {
			names, name = limitNames[name], prefix
		}
		for _, last := range names {
			s := &spec{name: name + last}
			for line := range strings.SplitSeq(rest, "\n") {
				s.set(line, last)
			}
			all = append(all, s)
		}
	}
	return all
}

// limitNames are what * stands for in the name of a setting.
var limitNames = map[string][]string{"limits.*": quota.ScriptLimitNames[:], "quota.*": quota.LimitNames[:]}

func (s *spec) set(line, last string) {
	attribute, value, _ := strings.Cut(line, " ")
	value = strings.TrimSpace(value)
	switch attribute {
	case "kind":
		s.kind = parseKind(strings.Fields(strings.ReplaceAll(value, "*", last)))
	case "default":
		s.fallback = value
	case "env":
		s.env = strings.ReplaceAll(value, "*", strings.ToUpper(last))
	case "local":
		s.local = parseLocal(value)
	case "with":
		s.with = value
	case "carries":
		s.carries = value
	case "decides":
		s.decides = value
	case "help":
		s.helpText = value
	default:
		panic("settings.txt: " + line)
	}
}

func (s *spec) help() string { return strings.Replace(s.helpText, "{range}", s.bounds, 1) }

// secrets returns the secrets in a value.
func (s *spec) secrets(v setting) []string {
	switch {
	case s.hidden != nil:
		return s.hidden(v)
	case s.secret:
		return v.words
	}
	return nil
}

// computedDefaults are the defaults that depend on other settings, the home directory or another package, as they
// would be written in a file. Nil means the zero value.
var computedDefaults = map[string]func(*Config) []string{
	"audit.path":            func(c *Config) []string { return []string{c.StateFile("audit.jsonl")} },
	"secretary.database":    func(c *Config) []string { return []string{c.StateFile("secretary.db")} },
	"openai.api":            defaultAPI,
	"llm.provider":          providerWithModel,
	"github.enabled":        hasAccount("github"),
	"gitlab.enabled":        hasAccount("gitlab"),
	"bash_executor.protect": func(*Config) []string { return protect.Default() },
	"quota.weights.input":   func(*Config) []string { return []string{tokenWeight(quota.DefaultWeights().Input).String()} },
	"quota.weights.cached":  func(*Config) []string { return []string{tokenWeight(quota.DefaultWeights().Cached).String()} },
	"quota.weights.output":  func(*Config) []string { return []string{tokenWeight(quota.DefaultWeights().Output).String()} },
}

// value returns the value of a setting and its origin.
func (s *spec) value(c *Config) (v any, from string) {
	if set, ok := c.set[s.name]; ok {
		if v, err := s.parse(set); err == nil { // it was checked when it was set
			return v, set.from
		}
	}
	var words []string
	if compute := computedDefaults[s.name]; compute != nil {
		words = compute(c)
	} else if s.fallback != "" {
		words = []string{s.fallback}
	}
	if words != nil {
		if v, err := s.parse(setting{words: words}); err == nil {
			return v, "default"
		}
	}
	return s.zero, "default"
}

// A Value is a setting together with its origin.
type Value[T any] struct {
	V    T
	From string // "flag --audit", "env HAKO_AUDIT", "hako.yaml:3", "default"
}

// A Key is the name of a setting whose values have type T.
type Key[T any] string

// Of returns the value in c.
func (k Key[T]) Of(c *Config) Value[T] {
	v, from := specByName()[string(k)].value(c)
	return Value[T]{v.(T), from}
}

// Shown is one setting for people to read.
type Shown struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	From  string `json:"from"`
	Env   string `json:"env,omitempty"`
	Help  string `json:"help,omitempty"`
}

func (s *spec) show(c *Config) Shown {
	v, from := s.value(c)
	text := fmt.Sprint(v)
	if list, ok := v.([]string); ok {
		text = strings.Join(list, ", ")
	}
	switch {
	case s.fields != nil:
		text = strings.Join(rowNames(c.set[s.name].rows), ", ")
	case strings.ContainsFunc(text, unicode.IsControl): // it is shown on one line
		text = strconv.Quote(text)
	}
	if s.secret && text != "" {
		text = "[redacted]"
	}
	return Shown{s.name, text, from, s.env, s.help()}
}

// Show lists every setting with its value and origin.
func (c *Config) Show() []Shown {
	var all []Shown
	for _, s := range c.specs {
		shown := s.show(c)
		if c.llmcmd {
			shown.Env = strings.TrimSpace(rcEnv(shown.Name) + " " + shown.Env)
		}
		all = append(all, shown)
	}
	return all
}
