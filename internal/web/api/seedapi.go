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
func (s *Server) seedAPI() []route {
	return []route{
		prefixed(write("POST", "/chat", "talk to secretary", (*Server).seedChat)),
		alive("/health"), alive("/healthz"), // the one of the secretary, and where hako agent and most others have it
		prefixed(get("/todos", (*Server).seedTodos)),
		prefixed(write("POST", "/todos", "add to-do", (*Server).seedAddTodo)),
		prefixed(write("PATCH", "/todos/{id}", "change to-do", (*Server).seedChangeTodo)),
		prefixed(write("DELETE", "/todos/{id}", "delete to-do", (*Server).seedDeleteTodo)),
		prefixed(get("/bash/pending", (*Server).seedPending)),
		prefixed(withApproved(about(write("POST", "/bash/approve/{id}", "answer question", (*Server).seedApprove),
			(*Server).question))),
	}
}

func prefixed(r route) route {
	r.path = "/api" + strings.TrimPrefix(r.path, v1)
	return r
}

func withApproved(r route) route {
	r.query = []string{"approved"}
	return r
}

// A SeedMessage is what somebody says, with the fields of the seed API.
type SeedMessage struct {
	Message   string `json:"message"`
	PlayAudio *bool  `json:"play_audio,omitempty"` // nil means that it stays as it is
	Model     string `json:"model,omitempty"`      // is set where the server is
}

// A SeedReply is what she answers.
type SeedReply struct {
	VoicePlan   SeedPlan  `json:"voice_plan"`
	AudioPath   *string   `json:"audio_path"` // always null: what she speaks is not kept
	PlayedAudio bool      `json:"played_audio"`
	RawResponse *SeedPlan `json:"raw_response"`
}

// A SeedPlan is the part of her reply that others read.
type SeedPlan struct {
	Text    string       `json:"text"`
	Actions []SeedAction `json:"bashActions"`
}

// A SeedAction is a command she had run.
type SeedAction struct {
	Command string      `json:"command"`
	Reason  string      `json:"reason"` // in her words; empty means that she gave none
	Result  *SeedResult `json:"result"`
	Error   *string     `json:"error"`
}

// A SeedResult is what came of it.
type SeedResult struct {
	Stdout string `json:"stdout"`
	Stderr string `json:"stderr"`
	Exit   string `json:"exit_code"` // the document has it as a text
	Dir    string `json:"cwd"`       // empty means that it is not known
}

// familiarSession is the one conversation that clients know who know of none.
const familiarSession = "api"

func (s *Server) seedChat(c *call, in SeedMessage) (reply SeedReply, err error) {
	sec, err := s.secretary()
	if err != nil {
		return reply, err
	}
	if err := speaks(in.Message); err != nil {
		return reply, err
	}
	if in.Model != "" {
		return reply, invalid("talk to secretary", in.Model, "the model cannot be chosen here", "leave model out")
	}
	withoutDeadlines(c.w) // a model thinks for longer than an answer may take
	ctx, cancel := s.lasting(c.Context(), c.identity)
	defer cancel()
	if reply.PlayedAudio, err = speech(ctx, sec, in.PlayAudio); err != nil {
		return reply, err
	}
	var heard listener
	err = sec.Chat(ctx, c.identity.Actor, familiarSession, in.Message, heard.hear)
	reply.VoicePlan = heard.plan()
	reply.RawResponse = &reply.VoicePlan
	return reply, err
}

// speech switches her voice if that is wanted, and tells whether it is on.
func speech(ctx context.Context, sec Secretary, wanted *bool) (bool, error) {
	if wanted == nil {
		return sec.Speaks(ctx)
	}
	return sec.Voice(ctx, *wanted)
}

// A listener puts together what a client hears that does not follow a stream.
type listener struct {
	mu      sync.Mutex
	text    strings.Builder
	reasons map[string]string // of commands
	actions []SeedAction
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

func actionOf(o sessions.Outcome) SeedAction {
	if o.Denied != "" {
		denied := "SecurityError: " + o.Denied
		return SeedAction{Command: o.Command, Error: &denied}
	}
	return SeedAction{Command: o.Command, Result: &SeedResult{o.Stdout, o.Stderr, strconv.Itoa(o.Exit), o.Dir}}
}

func (l *listener) plan() SeedPlan {
	l.mu.Lock()
	defer l.mu.Unlock()
	return SeedPlan{l.text.String(), some(l.actions)}
}

// A SeedTodo is a to-do with the names of the seed API.
type SeedTodo struct {
	ID          int64     `json:"id"`
	Title       string    `json:"title"`
	Description string    `json:"description"`
	Status      string    `json:"status"` // pending, done
	DueDate     *string   `json:"due_date"`
	CreatedAt   time.Time `json:"created_at"`
	UpdatedAt   time.Time `json:"updated_at"`
}

// A SeedTodoEdit is what is to be changed; nil means that it stays as it is. A
// due_date of null takes it away.
type SeedTodoEdit struct {
	Title       *string `json:"title,omitempty"`
	Description *string `json:"description,omitempty"`
	DueDate     *string `json:"due_date,omitempty"`
	Status      *string `json:"status,omitempty"` // pending, in_progress, done
}

// UnmarshalJSON tells null from what is left out.
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

// Deleted tells that something is gone.
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

func (s *Server) seedTodos(c *call) ([]SeedTodo, error) {
	all, err := s.todos(c)
	list := make([]SeedTodo, len(all.Todos))
	for i, t := range all.Todos {
		list[i] = seedTodo(t)
	}
	return list, err
}

func (s *Server) seedAddTodo(c *call, in SeedTodoEdit) (SeedTodo, error) {
	edit, err := in.edit()
	if err != nil {
		return SeedTodo{}, err
	}
	t, err := s.addTodo(c, edit)
	return seedTodo(t), err
}

func (s *Server) seedChangeTodo(c *call, in SeedTodoEdit) (SeedTodo, error) {
	edit, err := in.edit()
	if err != nil {
		return SeedTodo{}, err
	}
	t, err := s.changeTodo(c, edit)
	return seedTodo(t), err
}

func (s *Server) seedDeleteTodo(c *call, in nothing) (Deleted, error) {
	_, err := s.deleteTodo(c, in)
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

func (s *Server) seedPending(c *call) (SeedQuestions, error) {
	all, err := s.pending(c)
	list := make([]SeedQuestion, len(all.Questions))
	for i, q := range all.Questions {
		list[i] = SeedQuestion{q.ID, q.Command, cmp.Or(q.Reason, q.Why), float64(q.Asked.UnixMilli()) / 1000}
	}
	return SeedQuestions{list}, err
}

// A SeedDecision tells what was decided.
type SeedDecision struct {
	Approved bool   `json:"approved"`
	Message  string `json:"message"`
}

// seedApprove has its answer in the address, as clients expect.
func (s *Server) seedApprove(c *call, _ nothing) (SeedDecision, error) {
	approved, err := strconv.ParseBool(c.query.Get("approved"))
	if err != nil {
		return SeedDecision{}, invalid("answer question", c.PathValue("id"), "approved is neither true nor false",
			"add ?approved=true or ?approved=false")
	}
	decision, said := gate.No, "Command rejected"
	if approved {
		decision, said = gate.Once, "Command approved"
	}
	_, err = s.answer(c, Decision{decision.String()})
	return SeedDecision{approved, said}, err
}
