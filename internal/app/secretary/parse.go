package secretary

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"hako/internal/lenientjson"
)

// Parse reads an answer, in whatever state the model left it. What is missing or
// makes no sense is as in usual; what cannot be used is noted. The error means
// that there is no answer in the text.
func Parse(text string, usual Speech) (Reply, error) {
	v, err := lenientjson.FindAmong(text, replyNames(), replyMembers...)
	if err != nil {
		return Reply{Misspelt: stray(text)}, err
	}
	p := parser{}
	r := Reply{Speech: usual, TodoActions: []TodoAction{}, BashActions: []Action{}}
	r.Text = strings.TrimSpace(harmless(p.words(v)))
	r.Cut = cutWords(v)
	p.voice(v, &r.Speech)
	r.BashActions = append(r.BashActions, p.actions(v)...)
	r.TodoActions = append(r.TodoActions, p.todos(v)...)
	p.strangers(v)
	p.misspelt(v)
	r.Notes, r.Lost, r.Twice, r.Misspelt = p.notes, p.lost, p.twice, p.wrong
	return r, nil
}

// A parser turns loose values into what was meant by them.
type parser struct {
	notes []string
	lost  int // actions that break off
	twice int // and those that are there in two versions
	wrong []Misspelling
}

func (p *parser) note(format string, args ...any) {
	if len(p.notes) < 20 {
		p.notes = append(p.notes, fmt.Sprintf(format, args...))
	}
}

// words returns what is to be said. Some models put the whole answer into its
// text once more; nobody is to see that.
func (p *parser) words(v lenientjson.Value) string {
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

// text takes anything that can be written down in a line for a text.
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

// number reads a number, also one in quotes.
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

// yes reads a yes or no. In doubt it is what doubt says.
func (p *parser) yes(name string, v lenientjson.Value, doubt bool) bool {
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

// A span is what a value of the voice may be.
type span struct {
	name      string
	low, high float64
	to        func(*Speech) *float64
}

var spans = []span{
	{"speedScale", 0.5, 2, func(s *Speech) *float64 { return &s.SpeedScale }},
	{"volumeScale", 0, 2, func(s *Speech) *float64 { return &s.VolumeScale }},
	{"pitchScale", -0.15, 0.15, func(s *Speech) *float64 { return &s.PitchScale }},
	{"intonationScale", 0, 2, func(s *Speech) *float64 { return &s.IntonationScale }},
	{"prePhonemeLength", 0, 1.5, func(s *Speech) *float64 { return &s.PrePhonemeLength }},
	{"postPhonemeLength", 0, 1.5, func(s *Speech) *float64 { return &s.PostPhonemeLength }},
}

// voice takes over how the text is to be spoken, within what an engine can do.
func (p *parser) voice(v lenientjson.Value, s *Speech) {
	for _, sp := range spans {
		member, _ := v.Get(sp.name)
		if n, ok := p.number(sp.name, member); ok {
			*sp.to(s) = min(max(n, sp.low), sp.high)
		}
	}
	if member, _ := v.Get("speakerUuid"); isID(member.Text) {
		s.SpeakerUUID = strings.ToLower(member.Text)
	}
	style, _ := v.Get("styleId")
	if n, ok := p.number("styleId", style); ok && n >= 0 && n <= math.MaxInt32 {
		s.StyleID = int(n)
	}
	rate, _ := v.Get("outputSamplingRate")
	if n, ok := p.number("outputSamplingRate", rate); ok {
		switch n {
		case 16000, 24000, 44100, 48000:
			s.OutputSamplingRate = int(n)
		default:
			p.note("outputSamplingRate cannot be %v", n)
		}
	}
	s.ProsodyDetail = p.prosody(v)
}

// isID tells whether a text is a UUID, more or less.
func isID(text string) bool {
	return len(text) == 36 && strings.Trim(strings.ToLower(text), "0123456789abcdef-") == ""
}

// mostMoras is how many beats an answer can have.
const mostMoras = 2000

// prosody takes the detail over if all of it makes sense.
func (p *parser) prosody(v lenientjson.Value) [][]Mora {
	all, _ := v.Get("prosodyDetail")
	phrases, n := [][]Mora{}, 0
	for _, phrase := range all.List {
		var moras []Mora
		for _, m := range phrase.List {
			phoneme, _ := m.Get("phoneme")
			hira, _ := m.Get("hira")
			accent, _ := m.Get("accent")
			height, ok := p.number("accent", accent)
			if n++; !ok || phoneme.Text == "" || n > mostMoras {
				p.note("prosodyDetail makes no sense")
				return [][]Mora{}
			}
			moras = append(moras, Mora{phoneme.Text, hira.Text, int(min(max(height, 0), 9))})
		}
		if moras != nil {
			phrases = append(phrases, moras)
		}
	}
	return phrases
}

// mostWishes is how many actions of a kind are looked at.
const mostWishes = 50

// several takes a single value for a list of it.
func (p *parser) several(name string, v lenientjson.Value) []lenientjson.Value {
	switch v.Kind {
	case lenientjson.Null:
		return nil
	case lenientjson.List:
		if len(v.List) > mostWishes {
			p.note("only the first %d of %s were taken", mostWishes, name)
		}
		return v.List[:min(len(v.List), mostWishes)]
	}
	return []lenientjson.Value{v}
}

// actions reads the commands. One that has no proper end is left out: half a
// command is another command, and the wish to be asked first may be missing. Nor
// are there any if they are listed twice: a text whose quotes nobody escaped can
// bring a list of its own.
func (p *parser) actions(v lenientjson.Value) (all []Action) {
	lists := named(v, "bashActions")
	if len(lists) > 1 {
		p.note("bashActions stands there %d times, and none was taken", len(lists))
		p.twice++
		return nil
	}
	for _, list := range lists {
		for i, e := range p.several("bashActions", list) {
			if a, ok := p.wish(i, e); ok {
				all = append(all, a)
			}
		}
	}
	return all
}

// wish reads one of the commands, and tells whether it can be used.
func (p *parser) wish(i int, e lenientjson.Value) (a Action, ok bool) {
	switch {
	case e.Cut:
		p.note("bashActions[%d] breaks off and was left out", i)
		p.lost++
	case e.Kind == lenientjson.Text:
		return Action{Command: e.Text}, true
	case e.Kind == lenientjson.Object && len(named(e, "command")) > 1:
		p.note("bashActions[%d] has several commands and was left out", i)
		p.twice++
	case e.Kind == lenientjson.Object:
		p.misspeltCommand(i, e)
		return p.action(e), true
	case e.Kind != lenientjson.Null:
		p.note("bashActions[%d] is not an action", i)
	}
	return a, false
}

// named returns all members of a name, however it is spelled.
func named(v lenientjson.Value, name string) (all []lenientjson.Value) {
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
		p.note("command is not a text") // words in a list could be joined in more than one way
	}
	reason, _ := v.Get("reason")
	a.Reason = p.text("reason", reason)
	limit, _ := v.Get("timeout")
	if n, ok := p.number("timeout", limit); ok && n != 0 {
		a.Timeout = int(min(max(n, leastTimeout.Seconds()), mostTimeout.Seconds()))
	}
	for _, m := range v.Members { // one that wants it is enough
		a.Confirm = confirming(m.Name) && p.yes("confirm", m.Value, true) || a.Confirm
	}
	return a
}

// confirming tells whether a member is about asking first, in whatever spelling: a
// person who is asked once too often is better off than one who is not.
func confirming(name string) bool {
	name = letters(name)
	return strings.Contains(name, "confirm") || strings.Contains(name, "approv")
}

// first returns the first of several names that is there.
func first(v lenientjson.Value, names ...string) lenientjson.Value {
	for _, name := range names {
		if m, ok := v.Get(name); ok && m.Kind != lenientjson.Null {
			return m
		}
	}
	return lenientjson.Value{}
}

func (p *parser) todos(v lenientjson.Value) (all []TodoAction) {
	member, _ := v.Get("todoActions")
	for i, e := range p.several("todoActions", member) {
		if e.Kind != lenientjson.Object || e.Cut {
			p.note("todoActions[%d] is not an action", i)
			continue
		}
		a := TodoAction{
			Action: strings.ToLower(p.text("action", first(e, "action", "type", "op"))),
			Title:  p.text("title", first(e, "title", "text", "task")), Note: p.text("note", first(e, "note", "description")),
			Due:      p.text("due", first(e, "due", "due_date", "dueDate", "deadline")),
			Priority: strings.ToLower(p.text("priority", first(e, "priority"))),
		}
		if n, ok := p.number("id", first(e, "id", "todo_id", "todoId")); ok && n == math.Trunc(n) && math.Abs(n) < 1<<53 {
			a.ID = int64(n)
		}
		all = append(all, a)
	}
	return all
}

// strangers notes the members that nobody knows.
func (p *parser) strangers(v lenientjson.Value) {
	known := replyNames()
	for _, m := range v.Members {
		if !slices.Contains(known, m.Name) {
			p.note("there is no field %.40q", m.Name)
		}
	}
}

// replyNames are the names of all members an answer can have.
func replyNames() []string {
	names := append([]string{"speakerUuid", "styleId", "outputSamplingRate", "prosodyDetail"}, replyMembers...)
	for _, sp := range spans {
		names = append(names, sp.name)
	}
	return names
}
