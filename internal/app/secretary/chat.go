package secretary

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"unicode"

	"hako/internal/app/secretary/speech"
	"hako/internal/app/secretary/store"
	"hako/internal/lenientjson"
	"hako/llm"
	"hako/run/fault"
)

// A turn is the state of one call of [Secretary.Chat].
type turn struct {
	*Secretary
	o      Options
	answer Answer
	heard  strings.Builder // the part of the current answer that was reported so far
	held   bool            // the answer begins like JSON: report it only when it is complete
	spoken bool            // the model answered, so the turn stays in memory
	hushed bool            // do not speak the answer yet
	knew   string          // the to-do list shown to the model before this turn
}

// Chat runs one turn of the conversation. It may return a partial answer together with an error; what
// was done by then stays in memory.
func (s *Secretary) Chat(ctx context.Context, text string, o Options) (Answer, error) {
	s.turn.Lock()
	defer s.turn.Unlock()
	t := s.newTurn(o)
	if !o.Proactive && strings.TrimSpace(text) == "" {
		return t.answer, &fault.Error{Kind: fault.Invalid, Op: "chat", Why: "nothing was said"}
	}
	t.begin(ctx, text)
	err := t.talk(ctx)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	if !t.spoken || t.answer.Silent {
		t.takeBack()
		s.told = t.knew
	}
	t.answer.Partial = t.answer.Partial || err != nil
	t.answer.Dir = s.dir
	return t.answer, err
}

func (s *Secretary) newTurn(o Options) *turn {
	if !s.began {
		s.dir, s.began = s.Dir, true
	}
	return &turn{Secretary: s, o: o, knew: s.told, answer: Answer{Earlier: []string{}, Results: []Result{},
		Todos: []TodoResult{}, Warnings: []string{}}}
}

func (t *turn) begin(ctx context.Context, text string) {
	t.open()
	t.tellTodos(ctx)
	if t.o.Proactive {
		said := t.word("proactive")
		if t.o.News != "" {
			said += "\n" + t.word("news") + "\n" + t.clean(t.o.News)
		}
		t.add(llm.System, said)
		return
	}
	text = t.clean(strings.ToValidUTF8(text, "\ufffd"))
	t.add(llm.User, text)
	t.keep(ctx, Message{Role: store.User, Text: text})
}

// tellTodos adds the to-do list to the dialog if it changed.
func (t *turn) tellTodos(ctx context.Context) {
	if t.Todos == nil {
		return
	}
	list, err := t.Todos.Open(ctx)
	if err != nil {
		t.warn(t.clean(err.Error()))
		return
	}
	if list = t.clean(strings.TrimSpace(list)); list == t.told {
		return
	}
	t.told = list
	if list == "" {
		list = "-"
	}
	t.add(llm.System, t.word("todo_list")+"\n"+list)
}

// talk asks the model and carries out its actions until there are none.
func (t *turn) talk(ctx context.Context) error {
	if t.ThreeStep && !t.o.Proactive {
		return t.threeSteps(ctx)
	}
	rounds := cmp.Or(t.Rounds, 3)
	for round := 0; ; round++ {
		reply, err := t.ask(ctx)
		if err != nil {
			return err
		}
		if round == rounds && t.Requery && len(reply.BashActions) > 0 {
			t.warn(t.count("rounds", rounds))
			reply.BashActions = nil
		}
		acted, err := t.act(ctx, reply)
		if !acted || !t.Requery || err != nil {
			return err
		}
	}
}

// ask gets an answer from the model and adds it to the conversation.
func (t *turn) ask(ctx context.Context, aside ...llm.Item) (Reply, error) {
	reply, err := t.reply(ctx, aside)
	if err != nil {
		t.interrupted(ctx)
		return reply, err
	}
	t.remember(ctx, reply)
	return reply, nil
}

func (t *turn) remember(ctx context.Context, reply Reply) {
	shown := t.cleaned(reply)
	if t.answer.Reply.Text != "" {
		t.answer.Earlier = append(t.answer.Earlier, t.answer.Reply.Text)
	}
	t.answer.Reply = shown
	if shown.Text != "" {
		t.answer.Text = shown.Text
	}
	if t.o.Proactive && shown.Text == "" {
		t.answer.Silent = true
		return
	}
	t.spoken = true
	t.add(llm.Assistant, shown.said())
	t.keep(ctx, Message{Role: store.Assistant, Text: shown.Text, Meta: json.RawMessage(jsonText(shown))})
	t.observe(Event{Type: ReplyDone, Text: shown.Text})
	t.speak(ctx, shown.Speech)
}

func (t *turn) speak(ctx context.Context, s speech.Speech) {
	if t.Voice == nil || s.Text == "" || t.hushed {
		return
	}
	if err := t.Voice.Say(ctx, s); err != nil {
		t.warn(t.clean(err.Error()))
	}
}

// cleaned returns a copy of a reply with secrets redacted, as it is shown and stored.
func (t *turn) cleaned(r Reply) Reply {
	r.Text = t.clean(r.Text)
	r.BashActions = append([]Action{}, r.BashActions...)
	for i := range r.BashActions {
		a := &r.BashActions[i]
		a.Command, a.Reason = t.clean(a.Command), t.clean(a.Reason)
	}
	r.TodoActions = append([]TodoAction{}, r.TodoActions...)
	for i := range r.TodoActions {
		r.TodoActions[i] = t.cleanTodo(r.TodoActions[i])
	}
	return r
}

// interrupted keeps the streamed part of an answer that was cut off.
func (t *turn) interrupted(ctx context.Context) {
	if t.heard.Len() == 0 {
		return
	}
	r := t.cleaned(Reply{Speech: t.usual()})
	r.Text = t.clean(t.heard.String()) + " […]"
	t.heard.Reset()
	t.spoken = true
	t.answer.Text, t.answer.Reply = r.Text, r
	t.add(llm.Assistant, r.said())
	t.keep(ctx, Message{Role: store.Assistant, Text: r.Text})
}

// reply asks for an answer, and once more if it cannot be used.
func (t *turn) reply(ctx context.Context, aside []llm.Item) (Reply, error) {
	said, err := t.next(ctx, Schema(), aside, true)
	if err != nil {
		return Reply{}, err
	}
	reply, perr := Parse(said, t.usual())
	why := t.wrong(reply, perr)
	if why != "" {
		t.observe(Event{Type: Again})
		second, err := t.next(ctx, Schema(), t.onceMore(aside, said, why), true)
		if err != nil {
			return Reply{}, err
		}
		reply, perr = Parse(second, t.usual())
		if perr != nil {
			lost := reply.Misspelt
			reply = t.prose(second, said)
			reply.Misspelt = lost
		}
		if reply.Cut {
			reply.Text += "…"
			t.answer.Partial = true
		}
	}
	t.answer.Garbled = reply.garbled
	t.passOn(reply.Text)
	t.warnOfLosses(reply)
	return reply, nil
}

// onceMore appends an unusable answer to aside, and why it is unusable.
func (t *turn) onceMore(aside []llm.Item, said, why string) []llm.Item {
	return append(aside[:len(aside):len(aside)], llm.Item{Role: llm.Assistant, Text: middleOut(t.clean(said), 2000)},
		llm.Item{Role: llm.System, Text: why})
}

// warnOfLosses warns of actions that were dropped because they are ambiguous or incomplete.
func (t *turn) warnOfLosses(r Reply) {
	if r.Lost > 0 {
		t.warn(t.count("lost", r.Lost))
	}
	if r.Twice > 0 {
		t.warn(t.count("twice", r.Twice))
	}
	if len(r.Misspelt) > 0 {
		t.warn(t.spelling("not_spelt", r.Misspelt))
	}
}

// wrong returns why the answer must be requested again; empty means that it is usable.
func (t *turn) wrong(r Reply, err error) string {
	switch {
	case r.Cut:
		return t.word("cut")
	case len(r.Misspelt) > 0 && !t.o.Proactive:
		return t.spelling("misspelt", r.Misspelt)
	case err != nil:
		return t.word("again")
	case t.o.Proactive: // it may be silent
	case r.Text == "" && len(r.BashActions)+len(r.TodoActions) == 0:
		return t.word("again")
	}
	return ""
}

// prose makes a reply of answers that contain no JSON object: the first text in them.
func (t *turn) prose(texts ...string) Reply {
	r := Reply{Speech: t.usual(), BashActions: []Action{}, TodoActions: []TodoAction{}}
	for _, text := range texts {
		if r.Text = plainWords(t.clean(text)); r.Text != "" {
			return r
		}
	}
	r.Text, r.garbled = t.word("unreadable"), true
	return r
}

// passOn reports the part of a text that was not streamed.
func (t *turn) passOn(text string) {
	heard := strings.TrimSpace(t.heard.String())
	t.heard.Reset()
	if heard == text || text == "" {
		return
	}
	if rest, ok := strings.CutPrefix(text, heard); ok {
		t.observe(Event{Type: Text, Text: rest})
		return
	}
	t.observe(Event{Type: Again})
	t.observe(Event{Type: Text, Text: text})
}

// next asks the model, and again with a shorter dialog if the context overflowed. With aloud, the text
// of the answer is streamed as events.
func (t *turn) next(ctx context.Context, format *llm.Format, aside []llm.Item, aloud bool) (string, error) {
	room := t.room()
	turn, err := t.call(ctx, t.dialog(format, room, aside...), aloud)
	var refusal *llm.Refusal
	if errors.As(err, &refusal) && refusal.Code == llm.ContextOverflow && t.heard.Len() == 0 {
		turn, err = t.call(ctx, t.dialog(format, room/2, aside...), aloud)
	}
	if err != nil {
		return "", err
	}
	if turn.Cut == "content_filter" {
		return "", &fault.Error{Kind: fault.Unavailable, Op: "ask model", Subject: turn.Model,
			Why: "the provider's content filter stopped the answer", Hint: "word the request differently"}
	}
	return turn.Text, nil
}

func (t *turn) call(ctx context.Context, d *llm.Dialog, aloud bool) (*llm.Turn, error) {
	t.answer.Asked++
	t.heard.Reset()
	t.held = false
	if aloud {
		l := &lenientjson.MemberStream{Members: replyMembers, Names: replyNames()}
		d.OnText = func(piece string) { t.hear(l.Hear(piece)) }
	}
	return t.Model.Next(ctx, d)
}

// hear reports a piece of the answer's text. A text that begins like JSON is held back: some models put
// the whole answer into its text.
func (t *turn) hear(piece string) {
	piece = harmless(piece)
	if t.heard.Len() == 0 {
		piece = strings.TrimLeftFunc(piece, unicode.IsSpace)
	}
	if piece != "" && t.heard.Len() == 0 && strings.IndexByte("{[`", piece[0]) >= 0 {
		t.held = true
	}
	if piece == "" || t.held {
		return
	}
	t.heard.WriteString(piece)
	t.observe(Event{Type: Text, Text: piece})
}
