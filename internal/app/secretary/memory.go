package secretary

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"hako/llm"
)

// A memory is what the model is shown of the conversation.
type memory struct {
	items   []llm.Item
	turns   []int // where each turn begins
	leftOut bool  // something older was left out
}

func (m *memory) open() { m.turns = append(m.turns, len(m.items)) }

func (m *memory) add(role llm.Role, text string) {
	m.items = append(m.items, llm.Item{Role: role, Text: text})
}

// takeBack forgets the last turn, as if it had not been.
func (m *memory) takeBack() {
	last := len(m.turns) - 1
	m.items, m.turns = m.items[:m.turns[last]], m.turns[:last]
}

// fit leaves the oldest turns out until the rest weighs little enough. It leaves
// out some more than it has to: the beginning is then the same for a while, and
// providers find it in their caches.
func (m *memory) fit(limit int64) {
	if weigh(m.items) <= limit {
		return
	}
	drop := 0
	for drop < len(m.turns)-1 && weigh(m.items[m.turns[drop]:]) > limit*3/4 {
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

func weigh(items []llm.Item) (n int64) {
	for i := range items {
		n += items[i].Weight()
	}
	return n
}

// leastText is how short a text may be made.
const leastText = 400

// squeeze shortens the longest texts of a dialog until it weighs little enough,
// or nothing is left to be shortened.
func squeeze(items []llm.Item, limit int64) []llm.Item {
	if weigh(items) <= limit {
		return items
	}
	items = slices.Clone(items)
	for weigh(items) > limit {
		longest := 0
		for i := range items {
			if len(items[i].Text) > len(items[longest].Text) {
				longest = i
			}
		}
		if len(items[longest].Text) <= leastText {
			break
		}
		items[longest].Text = middleOut(items[longest].Text, len(items[longest].Text)/2)
	}
	return items
}

const leftOutMark = "\n…（中略）…\n"

// middleOut keeps the beginning and the end of a text.
func middleOut(text string, keep int) string {
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

// dialog is what is sent: what stands before, what is remembered, and what is
// only said this time.
func (s *Secretary) dialog(format *llm.Format, limit int64, aside ...llm.Item) *llm.Dialog {
	d := &llm.Dialog{System: s.Prompt(), Format: format, MaxOutput: s.MaxOutput, Temperature: s.Temperature,
		CacheKey: s.actor()}
	if left := s.left(); left != "" {
		aside = append(aside[:len(aside):len(aside)], llm.Item{Role: llm.System, Text: left})
	}
	limit -= llm.Estimate(d.System) + llm.Estimate(string(format.Schema)) + weigh(aside)
	limit = max(limit, 256)
	s.fit(limit)
	var items []llm.Item
	if s.leftOut {
		items = append(items, llm.Item{Role: llm.System, Text: s.word("left_out")})
	}
	d.Items = append(squeeze(append(items, s.items...), limit), aside...)
	return d
}

func (s *Secretary) left() string {
	if s.Left == nil {
		return ""
	}
	return s.Left()
}

// room is how many tokens a dialog may have.
func (s *Secretary) room() int64 {
	context := cmp.Or(s.Context, 8192)
	return context - min(cmp.Or(s.MaxOutput, context/4), context/2)
}

// Resume takes up what was said before, the oldest first.
func (s *Secretary) Resume(messages []Message) {
	s.turn.Lock()
	defer s.turn.Unlock()
	for _, m := range messages {
		if m.Role == llm.User || len(s.turns) == 0 {
			s.open()
		}
		s.add(m.Role, s.clean(m.retold()))
	}
}

// retold is a message as the model saw it.
func (m *Message) retold() string {
	if m.Role != llm.Assistant {
		return m.Text
	}
	var r Reply
	if json.Unmarshal(m.Meta, &r) != nil || r.Text != m.Text {
		r = Reply{Speech: Speech{Text: m.Text}}
	}
	return r.said()
}

// Forget begins the conversation anew. What was stored stays.
func (s *Secretary) Forget() {
	s.turn.Lock()
	defer s.turn.Unlock()
	s.memory, s.told = memory{}, ""
	s.cache.empty()
}

// keep stores a message. A store that breaks is reported once, and the
// conversation goes on.
func (t *turn) keep(ctx context.Context, m Message) {
	if t.History == nil {
		return
	}
	err := t.History.Append(context.WithoutCancel(ctx), m)
	t.store.mu.Lock()
	first := err != nil && !t.store.broken
	t.store.broken = err != nil
	t.store.mu.Unlock()
	if first {
		t.warn(t.word("no_history") + " " + t.clean(err.Error()))
	}
}

func (t *turn) warn(text string) {
	t.answer.Warnings = append(t.answer.Warnings, text)
	t.observe(Event{Type: Warning, Text: text})
}

// plainWords is what can be said of an answer that is not the form asked for:
// the prose before any JSON.
func plainWords(text string) string {
	if _, answer, ok := strings.Cut(text, "</think>"); ok {
		text = answer
	} else if strings.HasPrefix(strings.TrimSpace(text), "<think>") {
		return ""
	}
	if at := strings.IndexAny(text, "{｛["); at >= 0 {
		text = text[:at]
	}
	text, _, _ = strings.Cut(text, "```")
	return strings.TrimSpace(harmless(middleOut(text, 16<<10)))
}
