package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"hako/agent"
	"hako/internal/app/jobs"
	"hako/internal/app/secretary"
	"hako/internal/app/secretary/sessions"
	"hako/internal/app/secretary/speech"
	"hako/internal/app/secretary/speech/player"
	"hako/internal/app/secretary/store"
	"hako/internal/config"
	"hako/internal/redact"
	"hako/internal/setup"
	"hako/internal/websearch"
	"hako/internal/worker"
	"hako/llm"
	"hako/policy"
	"hako/quota"
	"hako/run"
	"hako/run/fault"
)

// SecretaryOptions configure a conversation with the secretary.
type SecretaryOptions struct {
	Model     string // empty means that of the settings
	Session   string // name in the store; empty means a new one
	Record    string // file for the turns of the model; empty means none
	Stats     bool   // report the cost of the model at the end
	Modelless bool   // open also without a model
	NeedRoot  bool   // an unusable root is an error, not a warning
	NeedVoice bool   // an unusable voice is an error, not a warning

	Ask        Asker                 // nil means that nobody can be asked
	Background Asker                 // asks about commands of jobs; nil means that nobody can be asked
	Store      *store.Store          // nil means that the conversation opens it
	Report     func(secretary.Event) // gets all events
	Speaks     func() bool           // whether the voice is on; nil means always
	Workers    *worker.Pool          // runs the commands; nil means this process
}

// A secretaryBuilder assembles a conversation.
type secretaryBuilder struct {
	*Host
	*secretary.Conversation
	SecretaryOptions
	conf  *config.Config
	model *MeteredModel
}

// OpenSecretary assembles a conversation. The caller closes it.
func OpenSecretary(ctx context.Context, conf *config.Config, o SecretaryOptions) (_ *secretary.Conversation,
	err error) {
	b := &secretaryBuilder{SecretaryOptions: o, conf: conf, Conversation: secretary.NewConversation(o.Report)}
	defer func() {
		if err != nil {
			b.Conversation.Close()
		}
	}()
	if b.Host, err = OpenHost(conf, quota.DefaultLimits(), o.Ask); err != nil {
		return nil, err
	}
	b.OnClose(b.App.Close)
	b.App.ID, b.App.Workers = agent.NewID(), o.Workers
	if err := b.chooseModel(ctx); err != nil && !o.Modelless {
		return nil, err
	} else if err != nil {
		b.model = &MeteredModel{Wrapped: missingModel{err}}
	}
	b.Use(b.settings())
	b.ModelName, b.Deadline = b.model.String(), b.Budget.Deadline
	if err := b.openStore(); err != nil {
		b.Warn(&fault.Error{Kind: fault.KindOf(err), Op: "keep conversation", Why: "nothing is kept in this run", Err: err,
			Hint: fault.Hint(err)})
	}
	if err := b.addRunners(ctx); err != nil && o.NeedRoot && isUserError(err) {
		return nil, err
	} else if err != nil {
		b.Warn(err)
	}
	if err := b.addVoice(ctx); err != nil && o.NeedVoice {
		return nil, err
	} else if err != nil {
		b.Warn(err)
	}
	b.addSearch()
	return b.Conversation, nil
}

// isUserError reports whether the user, rather than the machine, is the cause.
func isUserError(err error) bool {
	kind := fault.KindOf(err)
	return kind == fault.Invalid || kind == fault.NotFound
}

// missingModel is a model that could not be found.
type missingModel struct{ err error }

func (a missingModel) Next(context.Context, *llm.Dialog) (*llm.Turn, error) { return nil, a.err }

// chooseModel chooses the model and wraps it with metering, recording and retries.
func (b *secretaryBuilder) chooseModel(ctx context.Context) error {
	c, err := chooseSecretaryModel(ctx, ModelSource{Conf: b.conf, Record: b.RecordNetwork("secretary")},
		b.SecretaryOptions.Model)
	if err != nil {
		return err
	}
	if c.Why != "" {
		b.Note(c.Why)
	}
	if err := setup.CheckGrants(b.conf, b.Record); err != nil {
		return err
	}
	turns, err := NewTurnRecorder(b.Record, b.App.Secrets)
	if err != nil {
		return err
	}
	b.OnClose(turns.Discard)
	m, err := b.App.Metered(c, b.conf, b.Budget, ModelOptions{Recorder: turns, Notify: b.Retrying})
	if err != nil {
		return err
	}
	b.model, b.Book = m, func() error { return m.Book(b.conf, b.Budget.Used()) }
	b.OnClose(func() {
		if err := errors.Join(b.Book(), turns.Commit()); err != nil {
			b.Warn(err)
		}
		if b.Stats {
			b.Note(m.Stats())
		}
	})
	return nil
}

// chooseSecretaryModel prefers a local model: a conversation stays on this machine unless configured otherwise.
func chooseSecretaryModel(ctx context.Context, at ModelSource, spec string) (Model, error) {
	if spec == "" {
		spec = config.SecretaryModel.Of(at.Conf).V
	}
	if spec == "" && config.ModelName.Of(at.Conf).V == "" {
		probe, cancel := context.WithTimeout(ctx, probeTime)
		defer cancel()
		if local, err := at.OllamaModels(probe); err == nil && len(local) > 0 {
			return ollamaModel(ctx, at, local[0].Name)
		}
	}
	c, err := ChooseModel(ctx, at, spec)
	if err == nil && c.Provider == "builtin" {
		const hint = "start Ollama (ollama serve), export OPENAI_API_KEY=…, or name a model"
		return c, &fault.Error{Kind: fault.Unavailable, Op: "ask model",
			Why:      "the secretary needs a model, and the built-in rules cannot talk",
			Hint:     hint + " in secretary.model; hako doctor says more",
			FlagHint: hint + ": --model ollama:qwen3; hako doctor says more"}
	}
	return c, err
}

// settings configures the secretary.
func (b *secretaryBuilder) settings() *secretary.Secretary {
	conf := b.conf
	return &secretary.Secretary{
		Model: b.model.Wrapped, Lang: config.SecretaryLanguage.Of(conf).V, Name: config.SecretaryName.Of(conf).V,
		Extra:  b.instructions(),
		Speech: speechSettings(conf), Scripts: config.SecretaryCommands.Of(conf).V, Secrets: b.App.Secrets, ID: b.App.ID,
		Requery: config.BashRequery.Of(conf).V, Rounds: config.BashMaxRounds.Of(conf).V,
		ThreeStep: config.SecretaryThreeStep.Of(conf).V, Actions: config.BashMaxActions.Of(conf).V,
		Timeout: config.BashTimeout.Of(conf).V, Parallel: config.BashParallel.Of(conf).V,
		CacheTTL: zeroMeansNever(config.BashCacheTTL.Of(conf).V), RateLimit: zeroMeansNever(config.BashRateLimit.Of(conf).V),
		Context: int64(config.SecretaryContext.Of(conf).V), Unlisted: unlisted, Left: b.budgetLeft,
	}
}

// budgetLeft returns the remaining budget.
func (b *secretaryBuilder) budgetLeft() string {
	var parts []string
	left := b.Budget.Left()
	for _, name := range []string{"calls", "tokens"} {
		if n := left.Of(name); n != quota.NoLimit {
			parts = append(parts, fmt.Sprintf("%d %s", n, name))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "left: " + strings.Join(parts, ", ")
}

// unlisted returns the name of a command that no rule allows.
func unlisted(err error) (name string, ok bool) {
	var u *policy.UnlistedError
	if !errors.As(err, &u) {
		return "", false
	}
	return u.Name, true
}

// zeroMeansNever converts a setting whose zero means never to an option whose zero means the default.
func zeroMeansNever[T int | ~int64](v T) T {
	if v == 0 {
		return -1
	}
	return v
}

// instructions returns the user's instructions.
func (b *secretaryBuilder) instructions() string {
	name := config.SecretarySystem.Of(b.conf).V
	if name == "" {
		return ""
	}
	text, err := os.ReadFile(name)
	if err != nil {
		b.Warn(&fault.Error{Kind: fault.NotFound, Op: "read instructions", Subject: name, Err: fault.Reason(err),
			Hint: "secretary.system names a text file"})
		return ""
	}
	return strings.ToValidUTF8(string(text), "\uFFFD")
}

// openStore stores the conversation.
func (b *secretaryBuilder) openStore() error {
	st := b.Store
	if st == nil {
		var err error
		if st, err = store.Open(config.SecretaryDatabase.Of(b.conf).V); err != nil {
			return err
		}
		b.OnClose(func() { _ = st.Close() })
	}
	return b.Keep(st, b.SecretaryOptions.Session)
}

// addRunners adds the main runner, a pool of runners for parallel commands, and a runner for each background
// job. Without a sandbox there are none.
func (b *secretaryBuilder) addRunners(ctx context.Context) error {
	if !config.BashEnabled.Of(b.conf).V {
		return nil
	}
	b.Host.Ask = b.Attended(b.Host.Ask)
	own, err := b.NewRunner(ctx)
	if err != nil {
		return err
	}
	b.OnClose(own.Close)
	b.Runner, b.Dir, b.Commands = own.Runner, b.Host.Options.Root, b.policySummary()
	b.ReadOnly = func(script string) bool { return b.classify(ctx, script).ReadOnly }
	b.Declares = func(script string) bool { return b.classify(ctx, script).Declares }
	pool := &secretary.RunnerPool{New: func() (run.Runner, func(), error) {
		h, err := b.NewRunner(ctx)
		return h.Runner, h.Close, err
	}}
	b.OnClose(pool.Close)
	b.SpareRunner = pool.Lend
	if err := b.RunInBackground(b.jobOptions()); err != nil {
		b.Warn(err)
	}
	return nil
}

// jobOptions configures background jobs, whose questions go to the web page: the keyboard belongs to the
// conversation.
func (b *secretaryBuilder) jobOptions() jobs.Options {
	return jobs.Options{
		New: func(ctx context.Context) (run.Runner, func(), error) {
			h, err := b.HostRunner(ctx, b.Host.Options, b.Policy, b.Background)
			return h.Runner, h.Close, err
		},
		Clean: func(w io.Writer) io.WriteCloser { return redact.NewLiveWriter(w, b.App.Secrets) },
		Lists: "@job list shows which there are",
	}
}

// classify classifies a script before it runs. One that cannot be parsed may do anything.
func (b *secretaryBuilder) classify(ctx context.Context, script string) (a judgeResult) {
	unknown := judgeResult{Declares: true}
	if b.App.Workers != nil {
		if err := b.App.Workers.Judge(ctx, JudgeRequest{Profile: "host", Script: script}, &a); err != nil {
			return unknown
		}
		return a
	}
	file, err := policy.ParseScript(script)
	if err != nil {
		return unknown
	}
	return judgeResult{ReadOnly: b.Policy.ReadOnly(file), Declares: policy.Declares(file)}
}

// policySummary describes the policy for the prompt.
func (b *secretaryBuilder) policySummary() string {
	var lines []string
	for _, l := range b.Policy.Summary(config.SecretaryLanguage.Of(b.conf).V, 12) {
		lines = append(lines, l.String())
	}
	return strings.Join(lines, "\n")
}

// speechSettings returns the configured voice.
func speechSettings(conf *config.Config) speech.Speech {
	return speech.Speech{
		Voice: speech.Voice{Speaker: config.SpeechSpeaker.Of(conf).V, Style: config.SpeechStyle.Of(conf).V},
		Tone: speech.Tone{
			Speed: config.SpeechSpeed.Of(conf).V, Volume: config.SpeechVolume.Of(conf).V,
			Pitch: config.SpeechPitch.Of(conf).V, Intonation: config.SpeechIntonation.Of(conf).V,
			Before: config.SpeechPre.Of(conf).V, After: config.SpeechPost.Of(conf).V, Rate: config.SpeechRate.Of(conf).V,
		},
		Accents: speech.Accents{},
	}
}

// addVoice adds speech output, which is optional.
func (b *secretaryBuilder) addVoice(ctx context.Context) error {
	conf := b.conf
	if !config.SpeechEnabled.Of(conf).V {
		return nil
	}
	engine, err := speech.New(speech.Options{
		URL: config.SpeechURL.Of(conf).V, Remote: config.SpeechURL.Of(conf).From != "default",
		Voice: speechSettings(conf).Voice, Warn: b.Warn,
	})
	if err != nil {
		return err
	}
	s := &secretary.Speaker{Engine: engine, File: config.SpeechFile.Of(conf).V, Warn: b.Warn,
		Speaks: b.SecretaryOptions.Speaks}
	if s.File != "" {
		if err := speech.CheckFile(s.File); err != nil {
			return err
		}
	} else if found, ok := player.Find(player.Options{Name: config.SpeechPlayer.Of(conf).V}); ok {
		s.Player = found
	} else {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	b.OnClose(cancel)
	s.Begin(ctx)
	b.SpeakWith(s)
	return nil
}

// addSearch adds web search.
func (b *secretaryBuilder) addSearch() {
	e, name, err := SearchEngine(b.conf)
	if err != nil { // which says what to set
		b.Search = func(context.Context, string) (string, error) { return "", err }
		return
	}
	b.Search = func(ctx context.Context, query string) (string, error) {
		query = b.App.Secrets.Text(query)
		if err := b.RecordNetwork("secretary")(name + ": " + query); err != nil {
			return "", err
		}
		hits, err := e.Search(ctx, websearch.Query{Text: query})
		return websearch.Results(hits), err
	}
}

// SecretarySessions opens conversations for users of the HTTP API. The voice is off at first unless it is
// configured. ask returns who is asked about the commands of a session.
func SecretarySessions(conf *config.Config, o SecretaryOptions, ask func(session string) Asker) *sessions.Manager {
	return &sessions.Manager{
		Store: o.Store, NoVoice: speechUnavailable(conf), VoiceOn: config.SpeechEnabled.Of(conf).From != "default",
		Open: func(ctx context.Context, a sessions.OpenOptions) (sessions.Conversation, error) {
			own := o
			own.Session, own.Report, own.Speaks = a.Session, a.Observe, a.Speaks
			own.Ask = ask(a.Name)
			own.Background = own.Ask
			c, err := OpenSecretary(ctx, conf, own)
			if err != nil {
				return nil, err
			}
			c.NoReset = true
			return c, nil
		},
	}
}

// speechUnavailable returns why speech is unavailable, or nil.
func speechUnavailable(conf *config.Config) error {
	e := &fault.Error{Kind: fault.Unavailable, Op: "speak"}
	if !config.SpeechEnabled.Of(conf).V {
		e.Why, e.Hint = "speech is disabled in the settings", "set speech.enabled to true"
		return e
	}
	if config.SpeechFile.Of(conf).V != "" {
		return nil
	}
	if _, ok := player.Find(player.Options{Name: config.SpeechPlayer.Of(conf).V}); !ok {
		e.Why, e.Hint = "there is no program here that plays sound",
			"install pw-play, paplay or aplay, or name a file with speech.file"
		return e
	}
	return nil
}
