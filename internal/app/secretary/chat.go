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
	options     Options
	answer      Answer
	streamed    strings.Builder // the part of the current answer that was reported so far
	withheld    bool            // the answer begins like JSON: report it only when it is complete
	replied     bool            // the model answered, so the turn stays in memory
	muted       bool            // do not speak the answer yet
	todosBefore string          // the to-do list shown to the model before this turn
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
	err := t.run(ctx)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	if !t.replied || t.answer.Silent {
		t.dropTurn()
		s.shownTodos = t.todosBefore
	}
	t.answer.Partial = t.answer.Partial || err != nil
	t.answer.Dir = s.dir
	return t.answer, err
}

func (s *Secretary) newTurn(o Options) *turn {
	if !s.initialized {
		s.dir, s.initialized = s.Dir, true
	}
	return &turn{Secretary: s, options: o, todosBefore: s.shownTodos, answer: Answer{
		Earlier: []string{}, Results: []Result{}, Todos: []TodoResult{}, Warnings: []string{}}}
}

func (t *turn) begin(ctx context.Context, text string) {
	t.beginTurn()
	t.addTodoList(ctx)
	if t.options.Proactive {
		said := t.message("proactive")
		if t.options.News != "" {
			said += "\n" + t.message("news") + "\n" + t.redact(t.options.News)
		}
		t.add(llm.System, said)
		return
	}
	text = t.redact(strings.ToValidUTF8(text, "\ufffd"))
	t.add(llm.User, text)
	t.store(ctx, Message{Role: store.User, Text: text})
}

// addTodoList adds the to-do list to the dialog if it changed.
func (t *turn) addTodoList(ctx context.Context) {
	if t.Todos == nil {
		return
	}
	list, err := t.Todos.Open(ctx)
	if err != nil {
		t.warn(t.redact(err.Error()))
		return
	}
	if list = t.redact(strings.TrimSpace(list)); list == t.shownTodos {
		return
	}
	t.shownTodos = list
	if list == "" {
		list = "-"
	}
	t.add(llm.System, t.message("todo_list")+"\n"+list)
}

// run asks the model and carries out its actions until there are none.
func (t *turn) run(ctx context.Context) error {
	if t.ThreeStep && !t.options.Proactive {
		return t.threeSteps(ctx)
	}
	rounds := cmp.Or(t.Rounds, 3)
	for round := 0; ; round++ {
		reply, err := t.ask(ctx)
		if err != nil {
			return err
		}
		if round == rounds && t.Requery && len(reply.BashActions) > 0 {
			t.warn(t.countMessage("rounds", rounds))
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
		t.keepPartial(ctx)
		return reply, err
	}
	t.addReply(ctx, reply)
	return reply, nil
}

func (t *turn) addReply(ctx context.Context, reply Reply) {
	shown := t.redacted(reply)
	if t.answer.Reply.Text != "" {
		t.answer.Earlier = append(t.answer.Earlier, t.answer.Reply.Text)
	}
	t.answer.Reply = shown
	if shown.Text != "" {
		t.answer.Text = shown.Text
	}
	if t.options.Proactive && shown.Text == "" {
		t.answer.Silent = true
		return
	}
	t.replied = true
	t.add(llm.Assistant, shown.modelJSON())
	t.store(ctx, Message{Role: store.Assistant, Text: shown.Text, Meta: json.RawMessage(jsonText(shown))})
	t.observe(Event{Type: ReplyDone, Text: shown.Text})
	t.speak(ctx, shown.Speech)
}

func (t *turn) speak(ctx context.Context, s speech.Speech) {
	if t.Voice == nil || s.Text == "" || t.muted {
		return
	}
	if err := t.Voice.Say(ctx, s); err != nil {
		t.warn(t.redact(err.Error()))
	}
}

// redacted returns a copy of a reply with secrets redacted, as it is shown and stored.
func (t *turn) redacted(r Reply) Reply {
	r.Text = t.redact(r.Text)
	r.BashActions = append([]Action{}, r.BashActions...)
	for i := range r.BashActions {
		a := &r.BashActions[i]
		a.Command, a.Reason = t.redact(a.Command), t.redact(a.Reason)
	}
	r.TodoActions = append([]TodoAction{}, r.TodoActions...)
	for i := range r.TodoActions {
		r.TodoActions[i] = t.redactTodo(r.TodoActions[i])
	}
	return r
}

// keepPartial keeps the streamed part of an answer that was cut off.
func (t *turn) keepPartial(ctx context.Context) {
	if t.streamed.Len() == 0 {
		return
	}
	r := t.redacted(Reply{Speech: t.defaultSpeech()})
	r.Text = t.redact(t.streamed.String()) + " […]"
	t.streamed.Reset()
	t.replied = true
	t.answer.Text, t.answer.Reply = r.Text, r
	t.add(llm.Assistant, r.modelJSON())
	t.store(ctx, Message{Role: store.Assistant, Text: r.Text})
}

// reply asks for an answer, and once more if it cannot be used.
func (t *turn) reply(ctx context.Context, aside []llm.Item) (Reply, error) {
	said, err := t.askModel(ctx, schema(), aside, true)
	if err != nil {
		return Reply{}, err
	}
	reply, perr := parse(said, t.defaultSpeech())
	why := t.retryReason(reply, perr)
	if why != "" {
		t.observe(Event{Type: Again})
		second, err := t.askModel(ctx, schema(), t.retryItems(aside, said, why), true)
		if err != nil {
			return Reply{}, err
		}
		reply, perr = parse(second, t.defaultSpeech())
		if perr != nil {
			lost := reply.Misspelt
			reply = t.proseReply(second, said)
			reply.Misspelt = lost
		}
		if reply.Cut {
			reply.Text += "…"
			t.answer.Partial = true
		}
	}
	t.answer.Garbled = reply.garbled
	t.flushText(reply.Text)
	t.warnDropped(reply)
	return reply, nil
}

// retryItems appends an unusable answer to aside, and why it is unusable.
func (t *turn) retryItems(aside []llm.Item, said, why string) []llm.Item {
	return append(aside[:len(aside):len(aside)], llm.Item{Role: llm.Assistant, Text: elideMiddle(t.redact(said), 2000)},
		llm.Item{Role: llm.System, Text: why})
}

// warnDropped warns of actions that were dropped because they are ambiguous or incomplete.
func (t *turn) warnDropped(r Reply) {
	if r.Lost > 0 {
		t.warn(t.countMessage("lost", r.Lost))
	}
	if r.Twice > 0 {
		t.warn(t.countMessage("twice", r.Twice))
	}
	if len(r.Misspelt) > 0 {
		t.warn(t.misspellingMessage("not_spelt", r.Misspelt))
	}
}

// retryReason returns why the answer must be requested again; empty means that it is usable.
func (t *turn) retryReason(r Reply, err error) string {
	switch {
	case r.Cut:
		return t.message("cut")
	case len(r.Misspelt) > 0 && !t.options.Proactive:
		return t.misspellingMessage("misspelt", r.Misspelt)
	case err != nil:
		return t.message("again")
	case t.options.Proactive: // it may be silent
	case r.Text == "" && len(r.BashActions)+len(r.TodoActions) == 0:
		return t.message("again")
	}
	return ""
}

// proseReply makes a reply of answers that contain no JSON object: the first text in them.
func (t *turn) proseReply(texts ...string) Reply {
	r := Reply{Speech: t.defaultSpeech(), BashActions: []Action{}, TodoActions: []TodoAction{}}
	for _, text := range texts {
		if r.Text = proseBeforeJSON(t.redact(text)); r.Text != "" {
			return r
		}
	}
	r.Text, r.garbled = t.message("unreadable"), true
	return r
}

// flushText reports the part of a text that was not streamed.
func (t *turn) flushText(text string) {
	heard := strings.TrimSpace(t.streamed.String())
	t.streamed.Reset()
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

// askModel asks the model, and again with a shorter dialog if the context overflowed. With aloud, the text
// of the answer is streamed as events.
func (t *turn) askModel(ctx context.Context, format *llm.Format, aside []llm.Item, aloud bool) (string, error) {
	room := t.contextLimit()
	turn, err := t.call(ctx, t.dialog(format, room, aside...), aloud)
	var refusal *llm.Refusal
	if errors.As(err, &refusal) && refusal.Code == llm.ContextOverflow && t.streamed.Len() == 0 {
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
	t.streamed.Reset()
	t.withheld = false
	if aloud {
		l := &lenientjson.MemberStream{Members: replyMembers, Names: replyNames()}
		d.OnText = func(piece string) { t.onText(l.Hear(piece)) }
	}
	return t.Model.Next(ctx, d)
}

// onText reports a piece of the answer's text. A text that begins like JSON is held back: some models put
// the whole answer into its text.
func (t *turn) onText(piece string) {
	piece = printable(piece)
	if t.streamed.Len() == 0 {
		piece = strings.TrimLeftFunc(piece, unicode.IsSpace)
	}
	if piece != "" && t.streamed.Len() == 0 && strings.IndexByte("{[`", piece[0]) >= 0 {
		t.withheld = true
	}
	if piece == "" || t.withheld {
		return
	}
	t.streamed.WriteString(piece)
	t.observe(Event{Type: Text, Text: piece})
}
