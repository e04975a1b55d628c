// Package secretary is the mind of the AI secretary: it asks a model that
// answers in JSON, carries out the actions in the answer, and tells the model
// what came of them.
//
// It knows no provider, no runner, no database and no voice; it is handed them
// behind small interfaces. Charging and recording of model calls is done by the
// model it is given, judging and recording of commands by the gate behind Runner.
// Reading the JSON is done by package loose. The one rule to keep: whatever a
// model, a command or the store does wrong, the conversation can go on, and
// nobody is shown raw JSON.
package secretary

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"hako/internal/redact"
	"hako/llm"
	"hako/run"
)

// Todos is the to-do list.
type Todos interface {
	// Do carries out a change and says in a line what was done.
	Do(ctx context.Context, a TodoAction) (said string, err error)
	// Open lists what is to be done, one line each, with ids. Empty means nothing.
	Open(ctx context.Context) (string, error)
}

// A Voice speaks. The turn waits for it, so it had better return at once; what
// goes wrong is only a warning.
type Voice interface {
	Say(ctx context.Context, s Speech) error
}

// History keeps what was said.
type History interface {
	Append(ctx context.Context, m Message) error
}

// A Message is one entry of the history.
type Message struct {
	Role llm.Role
	Text string          // as people read it
	Meta json.RawMessage // the [Reply] of the assistant, the [Result]s of the system; nil means none
}

// Jobs run in the background.
type Jobs interface {
	// Start begins a job and returns its handle.
	Start(ctx context.Context, req run.Request) (handle string, err error)
	// Ask answers about jobs in words: verb is status, output, kill or list.
	// An output begins at offset; a list has no handle.
	Ask(ctx context.Context, verb, handle string, offset int64) (string, error)
}

// A Secretary has one conversation. Only Model is required. Its methods can be
// called at any time; turns wait for each other.
type Secretary struct {
	Model   llm.Model  // usually a Ledger behind an [llm.Retry]: it charges and records
	Runner  run.Runner // a gate; nil means that commands are ignored with a warning
	Todos   Todos      // nil means no list
	Voice   Voice      // nil means silence
	History History    // nil means that nothing is kept
	Jobs    Jobs       // nil means that nothing runs in the background; with a method Busy() bool they say whether one does
	// Search answers @search; nil means that there is no such command.
	Search func(ctx context.Context, query string) (string, error)
	// SpareRunner lends hands for running commands at the same time; the function
	// it returns gives them back. Nil means one after the other.
	SpareRunner func() (run.Runner, func(), error)

	Lang     string // of the prompts: ja or en; empty means ja
	Name     string // of the secretary; empty means none
	Commands string // what the live policy permits, for the prompt
	Extra    string // more instructions for the model
	Speech   Speech // the usual voice; one without a speaker means [UsualSpeech]

	Scripts  map[string]string        // the user's own @commands: name to script
	ReadOnly func(script string) bool // whether a script only looks; nil means that none does
	// Declares tells whether a script may declare functions or change
	// otherwise what names mean in the session: after that nothing only
	// looks. Nil means that what is not ReadOnly and contains a
	// parenthesis or a word such as alias, eval or source may.
	Declares func(script string) bool
	// Unlisted tells whether a refusal is about what the command is, rather
	// than about how it is used, and the name of that command; empty means
	// the first word of what was refused. Nil means that none is.
	Unlisted func(error) (name string, unlisted bool)
	Secrets  *redact.Set // values that no model is shown; nil means only those known by their spelling

	ID    string // begins the ids of its requests; empty means "secretary"
	Actor string // who asks, for the record; empty means "secretary"
	Dir   string // where the hands stand at first; empty means that they do not say

	Requery    bool          // the model is asked again with the results
	Rounds     int           // how often at most; zero means 3
	ThreeStep  bool          // plan, answer, verify
	Actions    int           // how many commands of one answer are run; zero means 5
	Timeout    time.Duration // of a command; zero means 30 s
	JobTimeout time.Duration // of a job, unless the model says otherwise; zero means 1 h
	Output     int           // how many bytes of each stream are kept, half of them from the end; zero means 8192
	Parallel   int           // how many commands at the same time; zero means 4
	CacheTTL   time.Duration // how long results of looking are good; zero means 10 s, less than zero not at all
	RateLimit  int           // commands a minute; zero means 30, less than zero any number

	// Left says what is left of the budget. The model is told with every
	// question; nil, or an empty text, means that it is told nothing.
	Left func() string

	Context     int64    // tokens that the model can hold; zero means 8192
	MaxOutput   int64    // tokens of an answer; zero means the provider's own limit
	Temperature *float64 // nil means the provider's own

	Now     func() time.Time // nil means the real time
	Observe func(Event)      // is told what happens, one at a time; nil means nobody is

	turn sync.Mutex // held during a turn; guards what follows
	memory
	dir      string // where the hands stand; empty means not known
	began    bool
	told     string // the to-do list as the model knows it
	declared bool   // names may mean something else than they did
	started  bool   // a job was started
	bucket   bucket
	cache    cache
	requests atomic.Int64 // for their ids

	watch sync.Mutex // held while an event is told
	store struct {
		mu     sync.Mutex
		broken bool // somebody was told
	}
}

// Options are about one turn.
type Options struct {
	// Proactive says that nobody has spoken: she may say something, or not.
	Proactive bool
	News      string // what has happened meanwhile, for a proactive turn; empty means nothing
}

// An Answer is what came of a turn.
type Answer struct {
	Text      string       `json:"text"`       // her last words
	Earlier   []string     `json:"earlier"`    // what she said in the same turn before
	Reply     Reply        `json:"reply"`      // the last one whole
	Results   []Result     `json:"results"`    // of all commands, in their order
	Todos     []TodoResult `json:"todos"`      // of all changes of the to-do list
	Warnings  []string     `json:"warnings"`   // what did not work but did not matter
	Asked     int          `json:"asked"`      // how often the model was asked
	CacheHits int          `json:"cache_hits"` // results that were not run for
	Silent    bool         `json:"silent"`     // she had nothing to say on her own
	Partial   bool         `json:"partial"`    // it was cut short
	Garbled   bool         `json:"-"`          // her last words are only that the model's could not be read
	Dir       string       `json:"cwd"`        // where the hands stand now
}

// A TodoResult is what came of one change of the to-do list.
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

func (s *Secretary) usual() Speech {
	if s.Speech.SpeakerUUID == "" {
		return UsualSpeech()
	}
	return s.Speech
}

func (s *Secretary) timeout() time.Duration { return cmp.Or(s.Timeout, 30*time.Second) }
func (s *Secretary) mostActions() int       { return cmp.Or(s.Actions, 5) }
func (s *Secretary) actor() string          { return cmp.Or(s.Actor, "secretary") }

func (s *Secretary) observe(e Event) {
	if s.Observe == nil {
		return
	}
	s.watch.Lock()
	defer s.watch.Unlock()
	s.Observe(e)
}

func (s *Secretary) clean(text string) string { return s.Secrets.Text(text) }

// jsonText spells a value for a model to read: commands are full of < and >.
func jsonText(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		return "{}"
	}
	return strings.TrimSuffix(b.String(), "\n")
}
