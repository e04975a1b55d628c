package secretary

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"hako/internal/app/secretary/speech"
	"hako/internal/lenientjson"
)

// parse parses an answer, however malformed. Missing and invalid members keep their value in usual; unusable
// ones are noted. The error means that the text contains no reply.
func parse(text string, usual speech.Speech) (Reply, error) {
	v, err := lenientjson.FindAmong(text, replyNames(), replyMembers...)
	if err != nil {
		return Reply{Misspelt: misspeltIn(text)}, err
	}
	p := parser{}
	r := Reply{Speech: usual, TodoActions: []TodoAction{}, BashActions: []Action{}}
	r.Text = strings.TrimSpace(printable(p.replyText(v)))
	r.Cut = cutWords(v)
	p.voice(v, &r.Speech)
	r.BashActions = append(r.BashActions, p.actions(v)...)
	r.TodoActions = append(r.TodoActions, p.todos(v)...)
	p.noteUnknown(v)
	p.findMisspelt(v)
	r.Notes, r.Lost, r.Twice, r.Misspelt = p.notes, p.lost, p.twice, p.misspellings
	return r, nil
}

// A parser converts lenient JSON values.
type parser struct {
	notes        []string
	lost         int // incomplete actions
	twice        int // duplicate actions
	misspellings []Misspelling
}

func (p *parser) note(format string, args ...any) {
	if len(p.notes) < 20 {
		p.notes = append(p.notes, fmt.Sprintf(format, args...))
	}
}

// replyText returns the text of a reply. Some models put the whole reply into its text once more.
func (p *parser) replyText(v lenientjson.Value) string {
	member, _ := v.Get("text")
	text := strings.TrimSpace(p.text("text", member))
	if strings.HasPrefix(text, "{") || strings.HasPrefix(text, "```") {
		if inner, err := lenientjson.FindAmong(text, replyNames(), replyMembers...); err == nil {
			p.note("the text was an answer in itself")
			member, _ = inner.Get("text")
			return p.text("text", member)
		}
	}
	return text
}

func cutWords(v lenientjson.Value) bool {
	text, there := v.Get("text")
	return there && text.Cut || !there && v.Cut
}

// text converts a scalar, or a list of them, to a string.
func (p *parser) text(name string, v lenientjson.Value) string {
	switch v.Kind {
	case lenientjson.Text, lenientjson.Number, lenientjson.Bool:
		return v.Text
	case lenientjson.List:
		var parts []string
		for _, e := range v.List {
			if t := p.text(name, e); t != "" {
				parts = append(parts, t)
			}
		}
		return strings.Join(parts, "\n")
	case lenientjson.Object:
		p.note("%s is not a text", name)
	}
	return ""
}

// number parses a number, also one in quotes.
func (p *parser) number(name string, v lenientjson.Value) (float64, bool) {
	if v.Kind == lenientjson.Null {
		return 0, false
	}
	n, err := strconv.ParseFloat(strings.TrimSpace(v.Text), 64)
	if v.Kind != lenientjson.Number && v.Kind != lenientjson.Text || err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
		p.note("%s is not a number", name)
		return 0, false
	}
	return n, true
}

// bool parses a boolean. An unclear value means doubt.
func (p *parser) bool(name string, v lenientjson.Value, doubt bool) bool {
	switch strings.ToLower(strings.TrimSpace(v.Text)) {
	case "true", "yes", "1", "はい":
		return true
	case "false", "no", "0", "いいえ":
		return false
	}
	if v.Kind == lenientjson.Null {
		return false
	}
	p.note("%s is neither true nor false", name)
	return doubt
}

// toneMembers are the members of a reply that set the tone.
var toneMembers = []struct {
	name string
	of   func(*speech.Tone) *float64
}{
	{"speedScale", func(t *speech.Tone) *float64 { return &t.Speed }},
	{"volumeScale", func(t *speech.Tone) *float64 { return &t.Volume }},
	{"pitchScale", func(t *speech.Tone) *float64 { return &t.Pitch }},
	{"intonationScale", func(t *speech.Tone) *float64 { return &t.Intonation }},
	{"prePhonemeLength", func(t *speech.Tone) *float64 { return &t.Before }},
	{"postPhonemeLength", func(t *speech.Tone) *float64 { return &t.After }},
}

// voice sets the voice parameters, within their ranges.
func (p *parser) voice(v lenientjson.Value, s *speech.Speech) {
	for _, m := range toneMembers {
		member, _ := v.Get(m.name)
		if n, ok := p.number(m.name, member); ok {
			*m.of(&s.Tone) = n
		}
	}
	if member, _ := v.Get("speakerUuid"); isID(member.Text) {
		s.Speaker = strings.ToLower(member.Text)
	}
	style, _ := v.Get("styleId")
	if n, ok := p.number("styleId", style); ok && n >= 0 && n <= math.MaxInt32 {
		s.Style = int(n)
	}
	rate, _ := v.Get("outputSamplingRate")
	if n, ok := p.number("outputSamplingRate", rate); ok {
		if slices.Contains(speech.Rates, int(n)) {
			s.Rate = int(n)
		} else {
			p.note("outputSamplingRate cannot be %v", n)
		}
	}
	s.Tone = s.Tone.Clamped()
	s.Accents = p.prosody(v)
}

// isID reports whether a text looks like a UUID.
func isID(text string) bool {
	return len(text) == 36 && strings.Trim(strings.ToLower(text), "0123456789abcdef-") == ""
}

// maxMoras is the maximum number of morae.
const maxMoras = 2000

// prosody returns the prosody if all of it is valid.
func (p *parser) prosody(v lenientjson.Value) speech.Accents {
	all, _ := v.Get("prosodyDetail")
	phrases, n := speech.Accents{}, 0
	for _, phrase := range all.List {
		var moras []speech.Mora
		for _, m := range phrase.List {
			phoneme, _ := m.Get("phoneme")
			hira, _ := m.Get("hira")
			accent, _ := m.Get("accent")
			height, ok := p.number("accent", accent)
			if n++; !ok || phoneme.Text == "" || n > maxMoras {
				p.note("prosodyDetail makes no sense")
				return speech.Accents{}
			}
			moras = append(moras, speech.Mora{Phoneme: phoneme.Text, Hira: hira.Text, Accent: int(min(max(height, 0), 9))})
		}
		if moras != nil {
			phrases = append(phrases, moras)
		}
	}
	return phrases
}

// maxActionsParsed is the maximum number of actions of a kind.
const maxActionsParsed = 50

// asList converts a single value to a list.
func (p *parser) asList(name string, v lenientjson.Value) []lenientjson.Value {
	switch v.Kind {
	case lenientjson.Null:
		return nil
	case lenientjson.List:
		if len(v.List) > maxActionsParsed {
			p.note("only the first %d of %s were taken", maxActionsParsed, name)
		}
		return v.List[:min(len(v.List), maxActionsParsed)]
	}
	return []lenientjson.Value{v}
}

// actions parses the commands. An incomplete one is dropped: half a command is another command, and the
// confirm flag may be missing. Duplicate lists are dropped altogether: a text with unescaped quotes can
// inject a list.
func (p *parser) actions(v lenientjson.Value) (all []Action) {
	lists := membersNamed(v, "bashActions")
	if len(lists) > 1 {
		p.note("bashActions stands there %d times, and none was taken", len(lists))
		p.twice++
		return nil
	}
	for _, list := range lists {
		for i, e := range p.asList("bashActions", list) {
			if a, ok := p.parseAction(i, e); ok {
				all = append(all, a)
			}
		}
	}
	return all
}

// parseAction parses one command and reports whether it is usable.
func (p *parser) parseAction(i int, e lenientjson.Value) (a Action, ok bool) {
	switch {
	case e.Cut:
		p.note("bashActions[%d] breaks off and was left out", i)
		p.lost++
	case e.Kind == lenientjson.Text:
		return Action{Command: e.Text}, true
	case e.Kind == lenientjson.Object && len(membersNamed(e, "command")) > 1:
		p.note("bashActions[%d] has several commands and was left out", i)
		p.twice++
	case e.Kind == lenientjson.Object:
		p.findMisspeltCommand(i, e)
		return p.action(e), true
	case e.Kind != lenientjson.Null:
		p.note("bashActions[%d] is not an action", i)
	}
	return a, false
}

// membersNamed returns all members of a name, ignoring case.
func membersNamed(v lenientjson.Value, name string) (all []lenientjson.Value) {
	for _, m := range v.Members {
		if strings.EqualFold(strings.TrimSpace(m.Name), name) {
			all = append(all, m.Value)
		}
	}
	return all
}

func (p *parser) action(v lenientjson.Value) (a Action) {
	command, _ := v.Get("command")
	if command.Kind == lenientjson.Text {
		a.Command = command.Text
	} else if command.Kind != lenientjson.Null {
		p.note("command is not a text") // a list of words could be joined in more than one way
	}
	reason, _ := v.Get("reason")
	a.Reason = p.text("reason", reason)
	limit, _ := v.Get("timeout")
	if n, ok := p.number("timeout", limit); ok && n != 0 {
		a.Timeout = int(min(max(n, minTimeout.Seconds()), maxTimeout.Seconds()))
	}
	for _, m := range v.Members { // one true value is enough
		a.Confirm = asksConfirmation(m.Name) && p.bool("confirm", m.Value, true) || a.Confirm
	}
	return a
}

// asksConfirmation reports whether a member asks for confirmation, however it is spelled: it is better to ask a
// person once too often.
func asksConfirmation(name string) bool {
	name = normalizeName(name)
	return strings.Contains(name, "confirm") || strings.Contains(name, "approv")
}

// firstMember returns the first member that exists.
func firstMember(v lenientjson.Value, names ...string) lenientjson.Value {
	for _, name := range names {
		if m, ok := v.Get(name); ok && m.Kind != lenientjson.Null {
			return m
		}
	}
	return lenientjson.Value{}
}

func (p *parser) todos(v lenientjson.Value) (all []TodoAction) {
	member, _ := v.Get("todoActions")
	for i, e := range p.asList("todoActions", member) {
		if e.Kind != lenientjson.Object || e.Cut {
			p.note("todoActions[%d] is not an action", i)
			continue
		}
		a := TodoAction{
			Action:   strings.ToLower(p.text("action", firstMember(e, "action", "type", "op"))),
			Title:    p.text("title", firstMember(e, "title", "text", "task")),
			Note:     p.text("note", firstMember(e, "note", "description")),
			Due:      p.text("due", firstMember(e, "due", "due_date", "dueDate", "deadline")),
			Priority: strings.ToLower(p.text("priority", firstMember(e, "priority"))),
		}
		if n, ok := p.number("id", firstMember(e, "id", "todo_id", "todoId")); ok && n == math.Trunc(n) && math.Abs(n) < 1<<53 {
			a.ID = int64(n)
		}
		all = append(all, a)
	}
	return all
}

// noteUnknown notes unknown members.
func (p *parser) noteUnknown(v lenientjson.Value) {
	known := replyNames()
	for _, m := range v.Members {
		if !slices.Contains(known, m.Name) {
			p.note("there is no field %.40q", m.Name)
		}
	}
}

// replyNames are the names of all members of a reply.
func replyNames() []string {
	names := append([]string{"speakerUuid", "styleId", "outputSamplingRate", "prosodyDetail"}, replyMembers...)
	for _, m := range toneMembers {
		names = append(names, m.name)
	}
	return names
}
