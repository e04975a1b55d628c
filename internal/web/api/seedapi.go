package api

import (
	"cmp"
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"sync"
	"time"

	"hako/gate"
	"hako/internal/app/secretary/sessions"
)

// seedAPI has the routes and fields of the original secretary, for its clients.
func (s *Server) seedAPI() []route {
	return []route{
		unversioned(write("POST", "/chat", "talk to secretary", itself, (*Server).seedChat)),
		healthRoute("/health"), healthRoute("/healthz"), // the secretary's, and that of hako agent and most others
		unversioned(get("/todos", (*Server).todos, seedTodos)),
		unversioned(write("POST", "/todos", "add to-do", (*Server).todos, seedAddTodo)),
		unversioned(write("PATCH", "/todos/{id}", "change to-do", (*Server).todos, seedChangeTodo)),
		unversioned(write("DELETE", "/todos/{id}", "delete to-do", (*Server).todos, seedDeleteTodo)),
		unversioned(get("/bash/pending", (*Server).approvals, seedPending)),
		unversioned(withApproved(about(write("POST", "/bash/approve/{id}", "answer question", (*Server).approvals,
			seedApprove), (*Server).question))),
	}
}

func unversioned(r route) route {
	r.path = "/api" + strings.TrimPrefix(r.path, v1)
	return r
}

func withApproved(r route) route {
	r.query = []string{"approved"}
	return r
}

// A SeedMessage is a message to the secretary.
type SeedMessage struct {
	Message   string `json:"message"`
	PlayAudio *bool  `json:"play_audio,omitempty"` // nil means unchanged
	Model     string `json:"model,omitempty"`      // cannot be chosen here
}

// A SeedReply is an answer of the secretary.
type SeedReply struct {
	VoicePlan   SeedPlan  `json:"voice_plan"`
	AudioPath   *string   `json:"audio_path"` // always null: speech is not stored
	PlayedAudio bool      `json:"played_audio"`
	RawResponse *SeedPlan `json:"raw_response"`
}

// A SeedPlan is the text and the commands of an answer.
type SeedPlan struct {
	Text    string       `json:"text"`
	Actions []SeedAction `json:"bashActions"`
}

// A SeedAction is a command of an answer.
type SeedAction struct {
	Command string      `json:"command"`
	Reason  string      `json:"reason"` // empty means none
	Result  *SeedResult `json:"result"`
	Error   *string     `json:"error"`
}

// A SeedResult is the result of a command.
type SeedResult struct {
	Stdout string `json:"stdout"`
	Stderr string `json:"stderr"`
	Exit   string `json:"exit_code"` // a string in the original API
	Dir    string `json:"cwd"`       // empty means unknown
}

// seedSession is the conversation of clients of this API, which has only one.
const seedSession = "api"

func (s *Server) seedChat(c *call, in SeedMessage) (reply SeedReply, err error) {
	sec, err := s.secretary()
	if err != nil {
		return reply, err
	}
	if err := notEmpty(in.Message); err != nil {
		return reply, err
	}
	if in.Model != "" {
		return reply, invalid("talk to secretary", in.Model, "the model cannot be chosen here", "leave model out")
	}
	withoutDeadlines(c.w) // a model thinks for longer than an answer may take
	ctx, cancel := s.whileValid(c.Context(), c.identity)
	defer cancel()
	if reply.PlayedAudio, err = speech(ctx, sec, in.PlayAudio); err != nil {
		return reply, err
	}
	var turn turnCollector
	err = sec.Chat(ctx, c.identity.Actor, seedSession, in.Message, turn.add)
	reply.VoicePlan = turn.plan()
	reply.RawResponse = &reply.VoicePlan
	return reply, err
}

// speech switches speech on or off if wanted is set, and reports whether it is on.
func speech(ctx context.Context, sec Secretary, wanted *bool) (bool, error) {
	if wanted == nil {
		return sec.Speaks(ctx)
	}
	return sec.Voice(ctx, *wanted)
}

// A turnCollector collects the events of a turn for a client without a stream.
type turnCollector struct {
	mu      sync.Mutex
	text    strings.Builder
	reasons map[string]string // of commands
	actions []SeedAction
}

func (l *turnCollector) add(t sessions.Turn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case t.Type == turnAgain, t.Type == turnDone && t.Text != "": // the text so far is replaced
		l.text.Reset()
		l.text.WriteString(t.Text)
	case t.Type == turnText:
		l.text.WriteString(t.Text)
	case t.Result != nil:
		done := actionOf(*t.Result)
		done.Reason = l.reasons[done.Command]
		l.actions = append(l.actions, done)
	case t.Action != nil:
		l.remember(t.Action)
	}
}

// remember stores the reason of a command until its result comes.
func (l *turnCollector) remember(action json.RawMessage) {
	var wish struct{ Command, Reason string }
	if json.Unmarshal(action, &wish) != nil {
		return
	}
	if l.reasons == nil {
		l.reasons = map[string]string{}
	}
	l.reasons[wish.Command] = wish.Reason
}

func actionOf(o sessions.Outcome) SeedAction {
	if o.Denied != "" {
		denied := "SecurityError: " + o.Denied
		return SeedAction{Command: o.Command, Error: &denied}
	}
	return SeedAction{Command: o.Command, Result: &SeedResult{o.Stdout, o.Stderr, strconv.Itoa(o.Exit), o.Dir}}
}

func (l *turnCollector) plan() SeedPlan {
	l.mu.Lock()
	defer l.mu.Unlock()
	return SeedPlan{l.text.String(), nonNil(l.actions)}
}

// A SeedTodo is a to-do.
type SeedTodo struct {
	ID          int64     `json:"id"`
	Title       string    `json:"title"`
	Description string    `json:"description"`
	Status      string    `json:"status"` // pending, done
	DueDate     *string   `json:"due_date"`
	CreatedAt   time.Time `json:"created_at"`
	UpdatedAt   time.Time `json:"updated_at"`
}

// A SeedTodoEdit has the fields to set; nil means unchanged. A due_date of null removes it.
type SeedTodoEdit struct {
	Title       *string `json:"title,omitempty"`
	Description *string `json:"description,omitempty"`
	DueDate     *string `json:"due_date,omitempty"`
	Status      *string `json:"status,omitempty"` // pending, in_progress, done
}

// UnmarshalJSON distinguishes null from a missing field.
func (e *SeedTodoEdit) UnmarshalJSON(text []byte) error {
	type plain SeedTodoEdit
	if err := json.Unmarshal(text, (*plain)(e)); err != nil {
		return err
	}
	var sent struct {
		DueDate json.RawMessage `json:"due_date"`
	}
	if err := json.Unmarshal(text, &sent); err == nil && string(sent.DueDate) == "null" {
		e.DueDate = new(string)
	}
	return nil
}

// Deleted confirms a deletion.
type Deleted struct {
	Deleted bool `json:"deleted"`
}

func seedTodo(t sessions.Todo) SeedTodo {
	f := SeedTodo{ID: t.ID, Title: t.Title, Description: t.Note, Status: "pending", CreatedAt: t.Created,
		UpdatedAt: t.Updated}
	if t.Status == statusDone {
		f.Status = statusDone
	}
	if day, _, _ := strings.Cut(t.Due, "T"); day != "" {
		f.DueDate = &day
	}
	return f
}

func (e SeedTodoEdit) edit() (TodoEdit, error) {
	edit := TodoEdit{Title: e.Title, Note: e.Description, Due: e.DueDate}
	if e.Status == nil {
		return edit, nil
	}
	status, ok := map[string]string{"pending": statusOpen, "in_progress": statusOpen, "done": statusDone}[*e.Status]
	if !ok {
		return edit, invalid("change to-do", *e.Status, "there is no such status", "it is one of pending, in_progress, done")
	}
	edit.Status = &status
	return edit, nil
}

func seedTodos(from Todos, c *call) ([]SeedTodo, error) {
	all, err := from.List(c.Context())
	list := make([]SeedTodo, len(all))
	for i, t := range all {
		list[i] = seedTodo(t)
	}
	return list, err
}

func seedAddTodo(list Todos, c *call, in SeedTodoEdit) (SeedTodo, error) {
	edit, err := in.edit()
	if err != nil {
		return SeedTodo{}, err
	}
	t, err := addTodo(list, c, edit)
	return seedTodo(t), err
}

func seedChangeTodo(list Todos, c *call, in SeedTodoEdit) (SeedTodo, error) {
	edit, err := in.edit()
	if err != nil {
		return SeedTodo{}, err
	}
	t, err := changeTodo(list, c, edit)
	return seedTodo(t), err
}

func seedDeleteTodo(list Todos, c *call, in nothing) (Deleted, error) {
	_, err := deleteTodo(list, c, in)
	return Deleted{err == nil}, err
}

// SeedQuestions are the commands that wait for an answer.
type SeedQuestions struct {
	Requests []SeedQuestion `json:"requests"`
}

// A SeedQuestion is one of them.
type SeedQuestion struct {
	ID        string  `json:"request_id"`
	Command   string  `json:"command"`
	Reason    string  `json:"reason"`
	Timestamp float64 `json:"timestamp"` // seconds since 1970
}

func seedPending(from Approvals, c *call) (SeedQuestions, error) {
	all, err := pending(from, c)
	list := make([]SeedQuestion, len(all.Questions))
	for i, q := range all.Questions {
		list[i] = SeedQuestion{q.ID, q.Command, cmp.Or(q.Reason, q.Why), float64(q.Asked.UnixMilli()) / 1000}
	}
	return SeedQuestions{list}, err
}

// A SeedDecision is the answer to a question.
type SeedDecision struct {
	Approved bool   `json:"approved"`
	Message  string `json:"message"`
}

// seedApprove reads the answer from the query.
func seedApprove(to Approvals, c *call, _ nothing) (SeedDecision, error) {
	approved, err := strconv.ParseBool(c.query.Get("approved"))
	if err != nil {
		return SeedDecision{}, invalid("answer question", c.PathValue("id"), "approved is neither true nor false",
			"add ?approved=true or ?approved=false")
	}
	decision, message := gate.No, "Command rejected"
	if approved {
		decision, message = gate.Once, "Command approved"
	}
	_, err = answer(to, c, Decision{decision.String()})
	return SeedDecision{approved, message}, err
}
