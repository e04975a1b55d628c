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

// familiar are the routes that clients of the secretary know, with the fields
// they know.
func (s *Server) familiar() []route {
	return []route{
		known(change("POST", "/chat", "talk to secretary", (*Server).familiarChat)),
		alive("/health"), alive("/healthz"), // the one of the secretary, and where hako agent and most others have it
		known(look("/todos", (*Server).familiarTodos)),
		known(change("POST", "/todos", "add to-do", (*Server).familiarAdd)),
		known(change("PATCH", "/todos/{id}", "change to-do", (*Server).familiarChange)),
		known(change("DELETE", "/todos/{id}", "delete to-do", (*Server).familiarDelete)),
		known(look("/bash/pending", (*Server).familiarPending)),
		known(asking(about(change("POST", "/bash/approve/{id}", "answer question", (*Server).familiarApprove), (*Server).question))),
	}
}

func known(r route) route {
	r.path = "/api" + strings.TrimPrefix(r.path, v1)
	return r
}

func asking(r route) route {
	r.query = []string{"approved"}
	return r
}

// A FamiliarSaying is what somebody says, in the familiar way.
type FamiliarSaying struct {
	Message   string `json:"message"`
	PlayAudio *bool  `json:"play_audio,omitempty"` // nil means that it stays as it is
	Model     string `json:"model,omitempty"`      // is set where the server is
}

// A FamiliarReply is what she answers.
type FamiliarReply struct {
	VoicePlan   FamiliarPlan  `json:"voice_plan"`
	AudioPath   *string       `json:"audio_path"` // always null: what she speaks is not kept
	PlayedAudio bool          `json:"played_audio"`
	RawResponse *FamiliarPlan `json:"raw_response"`
}

// A FamiliarPlan is the part of her reply that others read.
type FamiliarPlan struct {
	Text    string           `json:"text"`
	Actions []FamiliarAction `json:"bashActions"`
}

// A FamiliarAction is a command she had run.
type FamiliarAction struct {
	Command string          `json:"command"`
	Reason  string          `json:"reason"` // in her words; empty means that she gave none
	Result  *FamiliarResult `json:"result"`
	Error   *string         `json:"error"`
}

// A FamiliarResult is what came of it.
type FamiliarResult struct {
	Stdout string `json:"stdout"`
	Stderr string `json:"stderr"`
	Exit   string `json:"exit_code"` // the document has it as a text
	Dir    string `json:"cwd"`       // empty means that it is not known
}

// familiarSession is the one conversation that clients know who know of none.
const familiarSession = "api"

func (s *Server) familiarChat(c *call, in FamiliarSaying) (reply FamiliarReply, err error) {
	clerk, err := s.secretary()
	if err != nil {
		return reply, err
	}
	if err := speaks(in.Message); err != nil {
		return reply, err
	}
	if in.Model != "" {
		return reply, invalid("talk to secretary", in.Model, "the model cannot be chosen here", "leave model out")
	}
	unhurried(c.w) // a model thinks for longer than an answer may take
	ctx, cancel := s.lasting(c.Context(), c.visit)
	defer cancel()
	if reply.PlayedAudio, err = speech(ctx, clerk, in.PlayAudio); err != nil {
		return reply, err
	}
	var heard listener
	err = clerk.Chat(ctx, c.visit.Actor, familiarSession, in.Message, heard.hear)
	reply.VoicePlan = heard.plan()
	reply.RawResponse = &reply.VoicePlan
	return reply, err
}

// speech switches her voice if that is wanted, and tells whether it is on.
func speech(ctx context.Context, clerk Secretary, wanted *bool) (bool, error) {
	if wanted == nil {
		return clerk.Speaks(ctx)
	}
	return clerk.Voice(ctx, *wanted)
}

// A listener puts together what a client hears that does not follow a stream.
type listener struct {
	mu      sync.Mutex
	text    strings.Builder
	reasons map[string]string // of commands
	actions []FamiliarAction
}

func (l *listener) hear(t sessions.Turn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case t.Type == turnAgain, t.Type == turnDone && t.Text != "": // what was said so far does not count
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

// remember keeps why she wants a command, for when its result comes.
func (l *listener) remember(action json.RawMessage) {
	var wish struct{ Command, Reason string }
	if json.Unmarshal(action, &wish) != nil {
		return
	}
	if l.reasons == nil {
		l.reasons = map[string]string{}
	}
	l.reasons[wish.Command] = wish.Reason
}

func actionOf(o sessions.Outcome) FamiliarAction {
	if o.Denied != "" {
		denied := "SecurityError: " + o.Denied
		return FamiliarAction{Command: o.Command, Error: &denied}
	}
	return FamiliarAction{Command: o.Command, Result: &FamiliarResult{o.Stdout, o.Stderr, strconv.Itoa(o.Exit), o.Dir}}
}

func (l *listener) plan() FamiliarPlan {
	l.mu.Lock()
	defer l.mu.Unlock()
	return FamiliarPlan{l.text.String(), some(l.actions)}
}

// A FamiliarTodo is a to-do with the familiar names.
type FamiliarTodo struct {
	ID          int64     `json:"id"`
	Title       string    `json:"title"`
	Description string    `json:"description"`
	Status      string    `json:"status"` // pending, done
	DueDate     *string   `json:"due_date"`
	CreatedAt   time.Time `json:"created_at"`
	UpdatedAt   time.Time `json:"updated_at"`
}

// A FamiliarEdit is what is to be changed; nil means that it stays as it is. A
// due_date of null takes it away.
type FamiliarEdit struct {
	Title       *string `json:"title,omitempty"`
	Description *string `json:"description,omitempty"`
	DueDate     *string `json:"due_date,omitempty"`
	Status      *string `json:"status,omitempty"` // pending, in_progress, done
}

// UnmarshalJSON tells null from what is left out.
func (e *FamiliarEdit) UnmarshalJSON(text []byte) error {
	type plain FamiliarEdit
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

// Deleted tells that something is gone.
type Deleted struct {
	Deleted bool `json:"deleted"`
}

func familiarTodo(t sessions.Todo) FamiliarTodo {
	f := FamiliarTodo{ID: t.ID, Title: t.Title, Description: t.Note, Status: "pending", CreatedAt: t.Created, UpdatedAt: t.Updated}
	if t.Status == statusDone {
		f.Status = statusDone
	}
	if day, _, _ := strings.Cut(t.Due, "T"); day != "" {
		f.DueDate = &day
	}
	return f
}

func (e FamiliarEdit) edit() (TodoEdit, error) {
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

func (s *Server) familiarTodos(c *call) ([]FamiliarTodo, error) {
	all, err := s.todos(c)
	list := make([]FamiliarTodo, len(all.Todos))
	for i, t := range all.Todos {
		list[i] = familiarTodo(t)
	}
	return list, err
}

func (s *Server) familiarAdd(c *call, in FamiliarEdit) (FamiliarTodo, error) {
	edit, err := in.edit()
	if err != nil {
		return FamiliarTodo{}, err
	}
	t, err := s.addTodo(c, edit)
	return familiarTodo(t), err
}

func (s *Server) familiarChange(c *call, in FamiliarEdit) (FamiliarTodo, error) {
	edit, err := in.edit()
	if err != nil {
		return FamiliarTodo{}, err
	}
	t, err := s.changeTodo(c, edit)
	return familiarTodo(t), err
}

func (s *Server) familiarDelete(c *call, in nothing) (Deleted, error) {
	_, err := s.deleteTodo(c, in)
	return Deleted{err == nil}, err
}

// FamiliarRequests are the commands that wait for an answer.
type FamiliarRequests struct {
	Requests []FamiliarRequest `json:"requests"`
}

// A FamiliarRequest is one of them.
type FamiliarRequest struct {
	ID        string  `json:"request_id"`
	Command   string  `json:"command"`
	Reason    string  `json:"reason"`
	Timestamp float64 `json:"timestamp"` // seconds since 1970
}

func (s *Server) familiarPending(c *call) (FamiliarRequests, error) {
	all, err := s.pending(c)
	list := make([]FamiliarRequest, len(all.Questions))
	for i, q := range all.Questions {
		list[i] = FamiliarRequest{q.ID, q.Command, cmp.Or(q.Reason, q.Why), float64(q.Asked.UnixMilli()) / 1000}
	}
	return FamiliarRequests{list}, err
}

// A FamiliarAnswer tells what was decided.
type FamiliarAnswer struct {
	Approved bool   `json:"approved"`
	Message  string `json:"message"`
}

// familiarApprove has its answer in the address, as clients expect.
func (s *Server) familiarApprove(c *call, _ nothing) (FamiliarAnswer, error) {
	approved, err := strconv.ParseBool(c.query.Get("approved"))
	if err != nil {
		return FamiliarAnswer{}, invalid("answer question", c.PathValue("id"), "approved is neither true nor false", "add ?approved=true or ?approved=false")
	}
	decision, said := gate.No, "Command rejected"
	if approved {
		decision, said = gate.Once, "Command approved"
	}
	_, err = s.answer(c, Decision{decision.String()})
	return FamiliarAnswer{approved, said}, err
}
