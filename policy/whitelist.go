package policy

import (
	"bufio"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Whitelist parses a list of allowed commands: one name per line, with up to four words after it, and # comments.
// Each line becomes a rule that allows the command; nothing else is allowed. A line with shell syntax is an
// error.
func Whitelist(name string, r io.Reader) (*Policy, error) {
	var rules []rule
	sc := bufio.NewScanner(r)
	n := 1
	for ; sc.Scan(); n++ {
		where, line := fmt.Sprintf("%s:%d", name, n), sc.Text()
		if n == 1 {
			line = strings.TrimPrefix(line, "\ufeff") // some editors begin a file with it
		}
		words, why, err := listLine(line, where)
		if err != nil {
			return nil, err
		}
		if len(words) > 0 {
			rules = append(rules, allowRule(words, why, where))
		}
	}
	if err := sc.Err(); err != nil {
		return nil, malformed(fmt.Sprintf("%s:%d", name, n), "the line cannot be read: "+err.Error(), onePerLine)
	}
	return &Policy{rules: newRuleSet(rules), checks: checks{foreground: true}}, nil
}

const onePerLine = "write one command name per line, such as ls or git status"

// mostListWords is the number of words of the longest line; more is prose.
const mostListWords = 5

// listLine parses one line of a list. An empty line has no words.
func listLine(line, where string) (words []string, why string, err error) {
	if !utf8.ValidString(line) || strings.ContainsRune(line, 0) {
		return nil, "", malformed(where, "the line is not text", "write a text file in UTF-8 with one command name per line")
	}
	words, why, err = splitLine(line)
	switch {
	case err != nil:
		return nil, "", malformed(where, err.Error(), "close the quote")
	case len(words) == 0:
		return nil, "", nil
	case slices.Contains(effectNames[:], words[0]):
		return nil, "", malformed(where, fmt.Sprintf("%q is the beginning of a rule, and this file has names only", words[0]),
			"write the name alone, or put the rule into a file for --rules")
	case len(words) > mostListWords:
		return nil, "", malformed(where, fmt.Sprintf("the line has %d words, and a name has at most %d", len(words),
			mostListWords), onePerLine)
	}
	words[0] = withoutBin(words[0])
	if !isCommandName(words[0]) {
		return nil, "", malformed(where, fmt.Sprintf("%.80q is not a command name", words[0]), nameHint(words[0]))
	}
	for _, w := range words[1:] {
		if w == "" || strings.ContainsFunc(w, isMeta) {
			return nil, "", malformed(where, fmt.Sprintf("%.80q is not a plain word", w),
				"leave it out: a name allows the command with all its arguments; what is more than names goes into a file for --rules")
		}
	}
	return words, why, nil
}

// withoutBin returns the name of a program in a standard directory.
func withoutBin(name string) string {
	for _, dir := range []string{"/bin/", "/usr/bin/", "/usr/local/bin/"} {
		if rest, ok := strings.CutPrefix(name, dir); ok {
			return rest
		}
	}
	return name
}

// isCommandName reports whether name can be that of a command.
func isCommandName(name string) bool {
	if name == "." || name == ":" || name == "[" {
		return true
	}
	odd := func(c rune) bool { return !isLetterOrDigit(c) && !strings.ContainsRune("._+-[:", c) }
	return !strings.HasPrefix(name, "-") && !strings.ContainsFunc(name, odd) && strings.ContainsFunc(name, isLetterOrDigit)
}

func isLetterOrDigit(c rune) bool {
	return unicode.IsLetter(c) || unicode.IsDigit(c) || unicode.IsMark(c)
}

func nameHint(name string) string {
	switch base := path.Base(name); {
	case strings.Contains(name, "/") && isCommandName(base):
		return "programs are run by name; write " + base
	case name == "*":
		return "a list cannot allow everything; name the commands, or write allow * into a file for --rules"
	}
	return onePerLine
}

// isMeta reports whether a character is special to a shell.
func isMeta(c rune) bool {
	return strings.ContainsRune("|&;<>()$`\\\"'*?[]{}!~#", c) || unicode.IsSpace(c) || !unicode.IsPrint(c)
}

// Instead returns the rules of p in place of what the profile allows, with the checks of the profile. What the
// profile denies stays denied, and a line that would override a denial, as sh -c does, is an error. What needs
// approval still does if p allows the command in general: with git on the list, a push needs approval, unless p
// names git push.
func (p *Policy) Instead(profile string, opts Options) (*Policy, error) {
	rules, err := defaultRules(profile)
	if err != nil {
		return nil, err
	}
	var kept []rule
	for _, r := range rules {
		if r.effect == Deny {
			if err := p.against(&r); err != nil {
				return nil, err
			}
		}
		if r.effect == Deny || r.effect == Ask && p.speaksOfMoreThan(&r) {
			kept = append(kept, r)
		}
	}
	return (&Policy{rules: newRuleSet(append(kept, p.rules.all...))}).For(profile, opts), nil
}

// against looks for a line that would override a denial, by more words or by the path of the program.
func (p *Policy) against(deny *rule) error {
	for i := range p.rules.all {
		r := &p.rules.all[i]
		if r.effect == Deny || len(r.words) == 0 {
			continue
		}
		argv := r.argv()
		argv[0] = path.Base(argv[0])
		if deny.matches(argv) && (r.beats(deny) || argv[0] != r.words[0]) {
			return malformed(r.where, fmt.Sprintf("%s is denied whatever a list says: %s (%s)", r.text(), deny.why, deny.where),
				"take the line out")
		}
	}
	return nil
}

// speaksOfMoreThan reports whether p allows r's command by a less specific rule.
func (p *Policy) speaksOfMoreThan(r *rule) bool {
	own := p.rules.find(r.name(), literals(r.words[min(1, len(r.words)):]...))
	return own != nil && own.effect != Deny && own.size() < r.size()
}

func allowRule(words []string, why, where string) rule {
	if why == "" {
		why = "it is on the list of allowed commands"
	}
	r := rule{effect: Allow, why: why, where: where, listed: true}
	r.setWords(words)
	return r
}

// AllowedCommands is the setting allowed_commands.
type AllowedCommands struct {
	UseDefault bool     // start from the default rules of the profile
	Additional []string // commands to allow besides
	Exclude    []string // commands of the default to leave out
	CustomList []string // all that is allowed, when UseDefault is false
}

// Compile turns the setting into a policy. What the profile denies stays denied.
func (a AllowedCommands) Compile(profile string, opts Options) (*Policy, error) {
	rules, err := defaultRules(profile)
	if err != nil {
		return nil, err
	}
	kept := rules[:0:0]
	for _, r := range rules {
		if r.effect == Deny || a.UseDefault && !a.excludes(r) {
			kept = append(kept, r)
		}
	}
	add := a.Additional
	if !a.UseDefault {
		add = slices.Concat(a.CustomList, a.Additional)
	}
	for i, line := range add {
		words, _, err := splitLine(line)
		where := fmt.Sprintf("allowed_commands:%d", i+1)
		if err != nil || len(words) == 0 {
			return nil, malformed(where, fmt.Sprintf("%q is not a command", line),
				"write a command name, such as npm or git status")
		}
		kept = append(kept, allowRule(words, "", where))
	}
	kept = append(kept, a.exclusions()...)
	return (&Policy{rules: newRuleSet(kept)}).For(profile, opts), nil
}

// excludes reports whether a default rule is about an excluded command.
func (a AllowedCommands) excludes(r rule) bool {
	return slices.ContainsFunc(a.Exclude, func(line string) bool {
		words := strings.Fields(line)
		return len(words) > 0 && len(r.words) >= len(words) && slices.Equal(r.words[:len(words)], words)
	})
}

func (a AllowedCommands) exclusions() []rule {
	var out []rule
	for i, line := range a.Exclude {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		r := rule{effect: Deny, why: "it is excluded by the configuration", where: fmt.Sprintf("allowed_commands.exclude:%d",
			i+1), listed: true}
		r.setWords(words)
		out = append(out, r)
	}
	return out
}
