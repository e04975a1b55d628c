package secretary

import (
	"fmt"
	"slices"
	"strings"

	"hako/internal/lenientjson"
	"hako/run/fault"
)

// A Misspelling is a member that was meant as an action, by its look, and is none.
// It is never taken for one: what nobody defined could mean anything. But a model
// that is not told believes that it was done.
type Misspelling struct {
	Name  string // as the model spelled it
	Right string // as it is spelled
}

// mistakes are how models spell the lists of actions, or a command in them.
var mistakes = []struct {
	name, right string
	worded      bool // it says something else where it is a mere text
}{
	{"bash_actions", "bashActions", false}, {"bash_commands", "bashActions", false}, {"bash", "bashActions", false},
	{"shell", "bashActions", false},
	{"command", "bashActions", false}, {"commands", "bashActions", false}, {"cmd", "bashActions", false},
	{"cmds", "bashActions", false},
	{"action", "bashActions", true}, {"actions", "bashActions", true},
	{"todo_actions", "todoActions", false}, {"todo", "todoActions", true}, {"todos", "todoActions", true},
}

// mostMisspelt is how many of them are told.
const mostMisspelt = 5

// misspelt finds the members of an answer that look like lists of actions.
func (p *parser) misspelt(v lenientjson.Value) {
	known := append(replyNames(), "need_actions") // of plans
	for _, m := range v.Members {
		if slices.Contains(known, m.Name) || strings.EqualFold(strings.TrimSpace(m.Name), "bashActions") {
			continue
		}
		if right := meant(m); right != "" {
			p.misspell(m.Name, right)
		}
	}
}

// misspeltCommand finds what looks like the command of an action that has none.
func (p *parser) misspeltCommand(i int, action lenientjson.Value) {
	if _, there := action.Get("command"); there {
		return
	}
	for _, m := range action.Members {
		if meant(m) == "bashActions" {
			p.misspell(fmt.Sprintf("bashActions[%d].%s", i, m.Name), "command")
		}
	}
}

func (p *parser) misspell(name, right string) {
	if len(p.wrong) < mostMisspelt {
		p.wrong = append(p.wrong, Misspelling{name, right})
	}
}

// meant returns the list of actions that a member was meant to be; empty means none.
func meant(m lenientjson.Member) string {
	text := m.Value.Kind == lenientjson.Text && strings.TrimSpace(m.Value.Text) != ""
	if !text && len(m.Value.List)+len(m.Value.Members) == 0 {
		return "" // nothing is lost
	}
	name := letters(m.Name)
	for _, k := range mistakes {
		if letters(k.name) == name && !(text && k.worded) {
			return k.right
		}
	}
	lists := []string{"bashActions", "todoActions"}
	if near, ok := fault.Nearest(name, []string{letters(lists[0]), letters(lists[1])}); ok {
		return lists[slices.IndexFunc(lists, func(list string) bool { return letters(list) == near })]
	}
	return ""
}

// letters are what is the same in bashActions, bash_actions and Bash-Actions.
func letters(name string) string {
	return strings.ToLower(strings.Map(func(r rune) rune {
		if strings.ContainsRune("_- .", r) {
			return -1
		}
		return r
	}, name))
}

// stray finds misspelt actions in a text that has no answer in it.
func stray(text string) []Misspelling {
	var names []string
	for _, k := range mistakes {
		names = append(names, k.name)
	}
	v, err := lenientjson.Find(text, names...)
	if err != nil {
		return nil
	}
	var p parser
	p.misspelt(v)
	return p.wrong
}

// spelling returns a sentence with the wrong names and the right ones in it.
func (s *Secretary) spelling(name string, wrong []Misspelling) string {
	var list []string
	for _, m := range wrong {
		list = append(list, fmt.Sprintf("%.60q → %s", s.clean(m.Name), m.Right))
	}
	return strings.ReplaceAll(s.word(name), "{names}", strings.Join(list, ", "))
}
