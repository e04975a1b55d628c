package secretary

import (
	"fmt"
	"slices"
	"strings"

	"hako/internal/lenientjson"
	"hako/run/fault"
)

// A Misspelling is a member that looks like a misspelt action. It is never taken for one: an undefined
// name could mean anything. But a model that is not told believes that the action was carried out.
type Misspelling struct {
	Name  string // as the model wrote it
	Right string // the correct name
}

// misspellings are known misspellings of the lists of actions and of the command in them.
var misspellings = []struct {
	name, right string
	worded      bool // has another meaning if its value is a string
}{
	{"bash_actions", "bashActions", false}, {"bash_commands", "bashActions", false}, {"bash", "bashActions", false},
	{"shell", "bashActions", false},
	{"command", "bashActions", false}, {"commands", "bashActions", false}, {"cmd", "bashActions", false},
	{"cmds", "bashActions", false},
	{"action", "bashActions", true}, {"actions", "bashActions", true},
	{"todo_actions", "todoActions", false}, {"todo", "todoActions", true}, {"todos", "todoActions", true},
}

const maxMisspelt = 5

// findMisspelt finds members of a reply that look like lists of actions.
func (p *parser) findMisspelt(v lenientjson.Value) {
	known := append(replyNames(), "need_actions") // a member of plans
	for _, m := range v.Members {
		if slices.Contains(known, m.Name) || strings.EqualFold(strings.TrimSpace(m.Name), "bashActions") {
			continue
		}
		if right := intendedList(m); right != "" {
			p.addMisspelling(m.Name, right)
		}
	}
}

// findMisspeltCommand finds members that look like the command of an action without one.
func (p *parser) findMisspeltCommand(i int, action lenientjson.Value) {
	if _, there := action.Get("command"); there {
		return
	}
	for _, m := range action.Members {
		if intendedList(m) == "bashActions" {
			p.addMisspelling(fmt.Sprintf("bashActions[%d].%s", i, m.Name), "command")
		}
	}
}

func (p *parser) addMisspelling(name, right string) {
	if len(p.misspellings) < maxMisspelt {
		p.misspellings = append(p.misspellings, Misspelling{name, right})
	}
}

// intendedList returns the name of the list that a member was probably meant to be, or "".
func intendedList(m lenientjson.Member) string {
	text := m.Value.Kind == lenientjson.Text && strings.TrimSpace(m.Value.Text) != ""
	if !text && len(m.Value.List)+len(m.Value.Members) == 0 {
		return "" // it is empty anyway
	}
	name := normalizeName(m.Name)
	for _, k := range misspellings {
		if normalizeName(k.name) == name && !(text && k.worded) {
			return k.right
		}
	}
	lists := []string{"bashActions", "todoActions"}
	if near, ok := fault.Nearest(name, []string{normalizeName(lists[0]), normalizeName(lists[1])}); ok {
		return lists[slices.IndexFunc(lists, func(list string) bool { return normalizeName(list) == near })]
	}
	return ""
}

// normalizeName normalizes bashActions, bash_actions and Bash-Actions to the same name.
func normalizeName(name string) string {
	return strings.ToLower(strings.Map(func(r rune) rune {
		if strings.ContainsRune("_- .", r) {
			return -1
		}
		return r
	}, name))
}

// misspeltIn finds misspelt actions in an answer without a reply object.
func misspeltIn(text string) []Misspelling {
	var names []string
	for _, k := range misspellings {
		names = append(names, k.name)
	}
	v, err := lenientjson.Find(text, names...)
	if err != nil {
		return nil
	}
	var p parser
	p.findMisspelt(v)
	return p.misspellings
}

// misspellingMessage returns a sentence with the misspelt and the correct names filled in.
func (s *Secretary) misspellingMessage(name string, wrong []Misspelling) string {
	var list []string
	for _, m := range wrong {
		list = append(list, fmt.Sprintf("%.60q → %s", s.redact(m.Name), m.Right))
	}
	return strings.ReplaceAll(s.message(name), "{names}", strings.Join(list, ", "))
}
