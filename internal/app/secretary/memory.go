package secretary

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"hako/internal/app/secretary/speech"
	"hako/internal/app/secretary/store"
	"hako/llm"
)

// A memory is the part of the conversation that the model sees.
type memory struct {
	items   []llm.Item
	turns   []int // index of the first item of each turn
	leftOut bool  // older turns were dropped
}

func (m *memory) beginTurn() { m.turns = append(m.turns, len(m.items)) }

func (m *memory) add(role llm.Role, text string) {
	m.items = append(m.items, llm.Item{Role: role, Text: text})
}

// dropTurn removes the last turn.
func (m *memory) dropTurn() {
	last := len(m.turns) - 1
	m.items, m.turns = m.items[:m.turns[last]], m.turns[:last]
}

// trim drops the oldest turns until the rest fits. It drops more than necessary: the beginning then stays the
// same for some turns, and providers can cache it.
func (m *memory) trim(limit int64) {
	if weight(m.items) <= limit {
		return
	}
	drop := 0
	for drop < len(m.turns)-1 && weight(m.items[m.turns[drop]:]) > limit*3/4 {
		drop++
	}
	if drop == 0 {
		return
	}
	from := m.turns[drop]
	m.items = slices.Clone(m.items[from:])
	m.turns = slices.Clone(m.turns[drop:])
	for i := range m.turns {
		m.turns[i] -= from
	}
	m.leftOut = true
}

func weight(items []llm.Item) (n int64) {
	for i := range items {
		n += items[i].Weight()
	}
	return n
}

// minText is the length below which texts are not shortened.
const minText = 400

// shortenLongest shortens the longest texts of a dialog until it fits, or no long text is left.
func shortenLongest(items []llm.Item, limit int64) []llm.Item {
	if weight(items) <= limit {
		return items
	}
	items = slices.Clone(items)
	for weight(items) > limit {
		longest := 0
		for i := range items {
			if len(items[i].Text) > len(items[longest].Text) {
				longest = i
			}
		}
		if len(items[longest].Text) <= minText {
			break
		}
		items[longest].Text = elideMiddle(items[longest].Text, len(items[longest].Text)/2)
	}
	return items
}

const leftOutMark = "\n…（中略）…\n"

// elideMiddle keeps the beginning and the end of a text.
func elideMiddle(text string, keep int) string {
	if len(text) <= keep {
		return text
	}
	head, tail := text[:keep/2], text[len(text)-keep/2:]
	for len(head) > 0 && !utf8.RuneStart(text[len(head)]) {
		head = head[:len(head)-1]
	}
	for len(tail) > 0 && !utf8.RuneStart(tail[0]) {
		tail = tail[1:]
	}
	return head + leftOutMark + tail
}

// dialog returns the next request: prompt, memory, and aside for this call only.
func (s *Secretary) dialog(format *llm.Format, limit int64, aside ...llm.Item) *llm.Dialog {
	d := &llm.Dialog{System: s.Prompt(), Format: format, CacheKey: s.actor()}
	if left := s.budgetLeft(); left != "" {
		aside = append(aside[:len(aside):len(aside)], llm.Item{Role: llm.System, Text: left})
	}
	limit -= llm.Estimate(d.System) + llm.Estimate(string(format.Schema)) + weight(aside)
	limit = max(limit, 256)
	s.trim(limit)
	var items []llm.Item
	if s.leftOut {
		items = append(items, llm.Item{Role: llm.System, Text: s.message("left_out")})
	}
	d.Items = append(shortenLongest(append(items, s.items...), limit), aside...)
	return d
}

func (s *Secretary) budgetLeft() string {
	if s.Left == nil {
		return ""
	}
	return s.Left()
}

// contextLimit returns how many tokens a dialog may have.
func (s *Secretary) contextLimit() int64 {
	context := cmp.Or(s.Context, 8192)
	return context - context/4 // the rest is for the answer
}

// Resume loads earlier messages, oldest first.
func (s *Secretary) Resume(messages []Message) {
	s.turn.Lock()
	defer s.turn.Unlock()
	for _, m := range messages {
		if m.Role == store.User || len(s.turns) == 0 {
			s.beginTurn()
		}
		s.add(llm.Role(m.Role), s.redact(modelText(m)))
	}
}

// modelText returns a message as the model saw it.
func modelText(m Message) string {
	if m.Role != store.Assistant {
		return m.Text
	}
	var r Reply
	if json.Unmarshal(m.Meta, &r) != nil || r.Text != m.Text {
		r = Reply{Speech: speech.Speech{Text: m.Text}}
	}
	return r.modelJSON()
}

// Forget starts a new conversation. Stored messages stay.
func (s *Secretary) Forget() {
	s.turn.Lock()
	defer s.turn.Unlock()
	s.memory, s.shownTodos = memory{}, ""
	s.cache.clear()
}

// store stores a message. A failing store is reported once, and the conversation continues.
func (t *turn) store(ctx context.Context, m Message) {
	if t.History == nil {
		return
	}
	err := t.History.Append(context.WithoutCancel(ctx), m)
	t.history.mu.Lock()
	first := err != nil && !t.history.broken
	t.history.broken = err != nil
	t.history.mu.Unlock()
	if first {
		t.warn(t.message("no_history") + " " + t.redact(err.Error()))
	}
}

func (t *turn) warn(text string) {
	t.answer.Warnings = append(t.answer.Warnings, text)
	t.observe(Event{Type: Warning, Text: text})
}

// proseBeforeJSON returns the prose before any JSON of an answer without a reply object.
func proseBeforeJSON(text string) string {
	if _, answer, ok := strings.Cut(text, "</think>"); ok {
		text = answer
	} else if strings.HasPrefix(strings.TrimSpace(text), "<think>") {
		return ""
	}
	if at := strings.IndexAny(text, "{｛["); at >= 0 {
		text = text[:at]
	}
	text, _, _ = strings.Cut(text, "```")
	return strings.TrimSpace(printable(elideMiddle(text, 16<<10)))
}
