// Package secretary holds a conversation with a model that answers in JSON, carries out the actions in its
// answers, and returns their results to the model.
//
// Model, runner, store and voice are interfaces. The model charges and records its calls; the gate behind
// Runner judges and records commands; package lenientjson parses the JSON. Whatever a model, a command or the
// store does wrong, the conversation continues, and no user sees raw JSON.
package secretary

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"hako/internal/app/secretary/speech"
	"hako/internal/app/secretary/store"
	"hako/internal/redact"
	"hako/llm"
	"hako/run"
)

// Todos is the to-do list.
type Todos interface {
	// Do carries out a change and describes it in a line.
	Do(ctx context.Context, a TodoAction) (said string, err error)
	// Open lists the open to-dos with their IDs, one a line.
	Open(ctx context.Context) (string, error)
}

// A Voice speaks. Say should return at once; its error is only a warning.
type Voice interface {
	Say(ctx context.Context, s speech.Speech) error
}

// History stores messages.
type History interface {
	Append(ctx context.Context, m Message) error
}

// A Message is an entry of the history. Meta has the [Reply] of the assistant, or the [Result]s of the system.
type Message = store.Message

// Jobs runs commands in the background.
type Jobs interface {
	// Start starts a job and returns its handle.
	Start(ctx context.Context, req run.Request) (handle string, err error)
	// Ask answers in words: verb is status, output (from offset on), kill or list (without a handle).
	Ask(ctx context.Context, verb, handle string, offset int64) (string, error)
	// Busy reports whether a job is running.
	Busy() bool
}

// A Secretary has one conversation. Only Model is required. It is safe for concurrent use; turns run one at a time.
type Secretary struct {
	Model   llm.Model  // usually an [llm.Retry] before an agent.ChargedModel
	Runner  run.Runner // a gate; nil means that commands are ignored with a warning
	Todos   Todos      // nil means no list
	Voice   Voice      // nil means silence
	History History    // nil means that nothing is stored
	Jobs    Jobs       // nil means no background jobs
	// Search implements @search; nil means that there is no such command.
	Search func(ctx context.Context, query string) (string, error)
	// SpareRunner lends a runner for parallel commands; the function it returns gives it back. Nil means that
	// commands run one after another.
	SpareRunner func() (run.Runner, func(), error)
	Lang        string        // of the prompts: ja or en; empty means ja
	Name        string        // of the secretary; empty means none
	Commands    string        // what the policy allows, for the prompt
	Extra       string        // more instructions for the model
	Speech      speech.Speech // the default voice; one without a speaker means [defaultSpeech]

	Scripts  map[string]string        // @commands of the user: name to script
	ReadOnly func(script string) bool // whether a script is read-only; nil means that none is
	// Declares reports whether a script may declare functions or otherwise redefine names in the session:
	// after that no command counts as read-only. Nil means any script that is not ReadOnly.
	Declares func(script string) bool
	// Unlisted reports whether a denial is about the command itself rather than about its arguments, and the
	// name of the command; empty means the first word of the denied one. Nil means that none is.
	Unlisted func(error) (name string, unlisted bool)
	Secrets  *redact.Set // redacted before the model sees them; nil means only those recognized by their form

	ID    string // prefix of request IDs; empty means "secretary"
	Actor string // of requests, for the record; empty means "secretary"
	Dir   string // initial working directory; empty means unknown

	Requery    bool          // ask the model again with the results of commands
	Rounds     int           // at most so often; zero means 3
	ThreeStep  bool          // plan, answer, verify
	Actions    int           // commands run of one answer; zero means 5
	Timeout    time.Duration // of a command; zero means 30 s
	JobTimeout time.Duration // of a job without a timeout of its own; zero means 1 h
	Output     int           // bytes kept of each stream, half of them from its end; zero means 8192
	Parallel   int           // commands at the same time; zero means 4
	CacheTTL   time.Duration // of results of read-only commands; zero means 10 s, negative no cache
	RateLimit  int           // commands per minute; zero means 30, negative no limit

	// Left returns the remaining budget, which the model sees in every dialog; nil or empty means that it is
	// not shown.
	Left func() string

	Context int64 // tokens of the model's context window; zero means 8192

	Now     func() time.Time // nil means time.Now
	Observe func(Event)      // gets events one at a time; nil means that nobody does

	turn sync.Mutex // held during a turn; guards the fields below
	memory
	dir         string // current working directory; empty means unknown
	initialized bool
	shownTodos  string // the to-do list as the model knows it
	redefined   bool   // a script may have redefined names
	limiter     rateLimiter
	cache       cache
	requests    atomic.Int64 // for request IDs

	observing sync.Mutex // held while an event is reported
	history   struct {
		mu     sync.Mutex
		broken bool // the failure was reported
	}
}

// Options configure one turn.
type Options struct {
	// Proactive means that the user said nothing: the model may say something, or not.
	Proactive bool
	News      string // recent events, for a proactive turn
}

// An Answer is the result of a turn.
type Answer struct {
	Text      string       `json:"text"`       // of the last reply
	Earlier   []string     `json:"earlier"`    // texts of earlier replies of the same turn
	Reply     Reply        `json:"reply"`      // the last one
	Results   []Result     `json:"results"`    // of all commands, in order
	Todos     []TodoResult `json:"todos"`      // of all changes of the to-do list
	Warnings  []string     `json:"warnings"`   // failures that did not end the turn
	Asked     int          `json:"asked"`      // calls of the model
	CacheHits int          `json:"cache_hits"` // results from the cache
	Silent    bool         `json:"silent"`     // the model had nothing to say in a proactive turn
	Partial   bool         `json:"partial"`    // the turn was cut short
	Garbled   bool         `json:"-"`          // the reply of the model was unreadable
	Dir       string       `json:"cwd"`        // working directory afterwards
}

// A TodoResult is the result of a change of the to-do list.
type TodoResult struct {
	Action TodoAction `json:"action"`
	Said   string     `json:"said,omitempty"`
	Error  string     `json:"error,omitempty"`
}

func (s *Secretary) now() time.Time {
	if s.Now != nil {
		return s.Now()
	}
	return time.Now()
}

func (s *Secretary) defaultSpeech() speech.Speech {
	if s.Speech.Speaker == "" {
		return defaultSpeech()
	}
	return s.Speech
}

func (s *Secretary) timeout() time.Duration { return cmp.Or(s.Timeout, 30*time.Second) }
func (s *Secretary) maxActions() int        { return cmp.Or(s.Actions, 5) }
func (s *Secretary) actor() string          { return cmp.Or(s.Actor, "secretary") }

func (s *Secretary) observe(e Event) {
	if s.Observe == nil {
		return
	}
	s.observing.Lock()
	defer s.observing.Unlock()
	s.Observe(e)
}

func (s *Secretary) redact(text string) string { return s.Secrets.Text(text) }

// jsonText encodes a value for the model, with < and > as they are.
func jsonText(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		return "{}"
	}
	return strings.TrimSuffix(b.String(), "\n")
}
