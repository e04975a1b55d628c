package main

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
	"hako/internal/websearch"
	"hako/llm"
	"hako/policy"
	"hako/quota"
	"hako/run"
	"hako/run/fault"
)

// secretaryUser is who a secretary works for: the person at the terminal, or
// somebody at a page.
type secretaryUser struct {
	ask        asker                 // nil means that nobody can be asked
	background asker                 // about what jobs want to run
	store      *store.Store          // nil means that she opens it herself
	report     func(secretary.Event) // is told what happens
	speaks     func() bool           // whether she is to be heard just now; nil means always
}

// A secretaryBuilder puts a conversation together.
type secretaryBuilder struct {
	*secretaryOptions
	*workshop
	*secretary.Conversation
	conf  *config.Config
	user  secretaryUser
	model *mind
}

// open puts a conversation together.
func (o *secretaryOptions) open(ctx context.Context, conf *config.Config, user secretaryUser) (_ *secretary.Conversation, err error) {
	b := &secretaryBuilder{secretaryOptions: o, conf: conf, user: user, Conversation: secretary.NewConversation(user.report)}
	defer func() {
		if err != nil {
			b.Close()
		}
	}()
	if b.workshop, err = o.workshop(conf, quota.DefaultLimits(), user.ask); err != nil {
		return nil, err
	}
	b.OnClose(b.opened.close)
	b.opened.id, b.opened.workers = agent.NewID(), o.workers
	if err := b.chooseModel(ctx); err != nil && !secretary.IsCommand(o.once) {
		return nil, err
	} else if err != nil {
		b.model = &mind{front: absent{err}} // what is not for a model needs none
	}
	b.Use(b.settings())
	b.ModelName, b.Deadline = b.model.chosen.String(), b.meter.Deadline
	if err := b.openStore(); err != nil {
		b.Warn(&fault.Error{Kind: fault.KindOf(err), Op: "keep conversation", Why: "nothing is kept in this run", Err: err, Hint: fault.Hint(err)})
	}
	if err := b.addRunners(ctx); err != nil && o.root != "" && mistaken(err) {
		return nil, err
	} else if err != nil {
		b.Warn(err)
	}
	if err := b.addVoice(ctx); err != nil && o.speechFile != "" {
		return nil, err
	} else if err != nil {
		b.Warn(err)
	}
	b.addSearch()
	return b.Conversation, nil
}

// mistaken tells what the user can put right from what the machine lacks.
func mistaken(err error) bool {
	kind := fault.KindOf(err)
	return kind == fault.Invalid || kind == fault.NotFound
}

// absent is the model that could not be found.
type absent struct{ err error }

func (a absent) Next(context.Context, *llm.Dialog) (*llm.Turn, error) { return nil, a.err }

// chooseModel chooses the model and puts before it what counts, records and retries.
func (b *secretaryBuilder) chooseModel(ctx context.Context) error {
	o := b.secretaryOptions
	c, err := chooseSecretaryModel(ctx, place{b.conf, b.touched("secretary")}, o.model)
	if err != nil {
		return err
	}
	if c.why != "" {
		b.Note(c.why)
	}
	if err := apart(b.conf, o.record); err != nil {
		return err
	}
	tape, err := newTape(o.record, b.secrets)
	if err != nil {
		return err
	}
	o.modelFlags.tape = tape
	b.OnClose(tape.discard)
	m, err := o.modelFlags.think(c, b.conf, b.opened, b.meter, b.Retrying)
	if err != nil {
		return err
	}
	b.model, b.Book = m, func() error { return m.book(b.conf, b.meter.Used()) }
	b.OnClose(func() {
		if err := errors.Join(b.Book(), tape.keep()); err != nil {
			b.Warn(err)
		}
		if o.stats {
			b.Note(m.stats())
		}
	})
	return nil
}

// chooseSecretaryModel prefers a model on this machine: a conversation is
// nobody else's business unless somebody says so.
func chooseSecretaryModel(ctx context.Context, at place, spec string) (chosen, error) {
	if spec == "" {
		spec = config.SecretaryModel.Of(at.conf).V
	}
	if spec == "" && config.ModelName.Of(at.conf).V == "" {
		probe, cancel := context.WithTimeout(ctx, probeTime)
		defer cancel()
		if local, err := at.ollamas(probe); err == nil && len(local) > 0 {
			return ollamaModel(ctx, at, local[0].Name)
		}
	}
	c, err := chooseModel(ctx, at, spec)
	if err == nil && c.provider == "builtin" {
		return c, &fault.Error{Kind: fault.Unavailable, Op: "ask model", Why: "the secretary needs a model, and the built-in rules cannot talk",
			Hint:     "start Ollama (ollama serve), export OPENAI_API_KEY=…, or name a model in secretary.model; hako doctor says more",
			FlagHint: "start Ollama (ollama serve), export OPENAI_API_KEY=…, or name a model: --model ollama:qwen3; hako doctor says more"}
	}
	return c, err
}

// settings are what the configuration says about her.
func (b *secretaryBuilder) settings() *secretary.Secretary {
	conf := b.conf
	return &secretary.Secretary{
		Model: b.model.front, Lang: config.SecretaryLanguage.Of(conf).V, Name: config.SecretaryName.Of(conf).V, Extra: b.extra(),
		Speech: speechOf(conf), Scripts: config.SecretaryCommands.Of(conf).V, Secrets: b.secrets, ID: b.id,
		Requery: config.BashRequery.Of(conf).V, Rounds: config.BashMaxRounds.Of(conf).V,
		ThreeStep: config.SecretaryThreeStep.Of(conf).V, Actions: config.BashMaxActions.Of(conf).V,
		Timeout: config.BashTimeout.Of(conf).V, Parallel: config.BashParallel.Of(conf).V,
		CacheTTL: orNever(config.BashCacheTTL.Of(conf).V), RateLimit: orNever(config.BashRateLimit.Of(conf).V),
		Context: int64(config.SecretaryContext.Of(conf).V), Unlisted: unlisted, Left: b.left,
	}
}

// left is what remains of the budget.
func (b *secretaryBuilder) left() string {
	var parts []string
	left := b.meter.Left()
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

// unlisted names the command that was refused for want of a rule.
func unlisted(err error) (name string, ok bool) {
	var u *policy.UnlistedError
	if !errors.As(err, &u) {
		return "", false
	}
	return u.Name, true
}

// orNever turns a setting whose zero means never into an option whose zero
// means the usual.
func orNever[T int | ~int64](v T) T {
	if v == 0 {
		return -1
	}
	return v
}

// extra are the instructions of the user's own.
func (b *secretaryBuilder) extra() string {
	name := config.SecretarySystem.Of(b.conf).V
	if name == "" {
		return ""
	}
	text, err := os.ReadFile(name)
	if err != nil {
		b.Warn(&fault.Error{Kind: fault.NotFound, Op: "read instructions", Subject: name, Err: reasonOf(err), Hint: "secretary.system names a text file"})
		return ""
	}
	return strings.ToValidUTF8(string(text), "\uFFFD")
}

// openStore keeps the conversation in the store.
func (b *secretaryBuilder) openStore() error {
	st := b.user.store
	if st == nil {
		var err error
		if st, err = store.Open(config.SecretaryDatabase.Of(b.conf).V); err != nil {
			return err
		}
		b.OnClose(func() { _ = st.Close() })
	}
	return b.Keep(st, b.session)
}

// addRunners lets her run commands: with a runner of her own, with others for what
// runs at the same time, and with one for each job in the background. Without a
// sandbox she has none.
func (b *secretaryBuilder) addRunners(ctx context.Context) error {
	if !config.BashEnabled.Of(b.conf).V {
		return nil
	}
	b.ask = b.Attended(b.ask)
	own, err := b.hire(ctx)
	if err != nil {
		return err
	}
	b.OnClose(own.close)
	b.Hands, b.Dir, b.Commands = own.Runner, b.options.Root, b.rules()
	b.ReadOnly = func(script string) bool { return b.look(ctx, script).ReadOnly }
	b.Declares = func(script string) bool { return b.look(ctx, script).Declares }
	pool := &secretary.RunnerPool{New: func() (run.Runner, func(), error) {
		h, err := b.hire(ctx)
		return h.Runner, h.close, err
	}}
	b.OnClose(pool.Close)
	b.Spare = pool.Lend
	if err := b.RunInBackground(b.jobOptions()); err != nil {
		b.Warn(err)
	}
	return nil
}

// jobOptions are those of jobs in the background, about which somebody at a page is
// asked: the keyboard belongs to the conversation that goes on.
func (b *secretaryBuilder) jobOptions() jobs.Options {
	return jobs.Options{
		New: func(ctx context.Context) (run.Runner, func(), error) {
			h, err := b.hands(ctx, b.options, b.judge, b.user.background)
			return h.Runner, h.close, err
		},
		Clean: func(w io.Writer) io.WriteCloser { return redact.NewLiveWriter(w, b.secrets) },
		Lists: "@job list shows which there are",
	}
}

// look returns what is known of a script before it runs. One that cannot be read
// may do anything.
func (b *secretaryBuilder) look(ctx context.Context, script string) (a scriptAnswer) {
	unknown := scriptAnswer{Declares: true}
	if b.opened.workers != nil {
		if err := b.opened.workers.Judge(ctx, scriptQuestion{Profile: "host", Script: script}, &a); err != nil {
			return unknown
		}
		return a
	}
	file, err := policy.ParseScript(script)
	if err != nil {
		return unknown
	}
	return scriptAnswer{ReadOnly: b.judge.ReadOnly(file), Declares: policy.Declares(file)}
}

// rules are the live policy in the words of her prompt.
func (b *secretaryBuilder) rules() string {
	var lines []string
	for _, l := range b.judge.Summary(config.SecretaryLanguage.Of(b.conf).V, 12) {
		lines = append(lines, l.String())
	}
	return strings.Join(lines, "\n")
}

// speechOf is the voice of the settings.
func speechOf(conf *config.Config) secretary.Speech {
	return secretary.Speech{
		SpeakerUUID: config.SpeechSpeaker.Of(conf).V, StyleID: config.SpeechStyle.Of(conf).V,
		SpeedScale: config.SpeechSpeed.Of(conf).V, VolumeScale: config.SpeechVolume.Of(conf).V, PitchScale: config.SpeechPitch.Of(conf).V,
		IntonationScale: config.SpeechIntonation.Of(conf).V, PrePhonemeLength: config.SpeechPre.Of(conf).V, PostPhonemeLength: config.SpeechPost.Of(conf).V,
		OutputSamplingRate: config.SpeechRate.Of(conf).V, ProsodyDetail: [][]secretary.Mora{},
	}
}

// addVoice lets her speak. Without a voice everything else works.
func (b *secretaryBuilder) addVoice(ctx context.Context) error {
	conf := b.conf
	if !config.SpeechEnabled.Of(conf).V {
		return nil
	}
	engine, err := speech.New(speech.Options{
		URL: config.SpeechURL.Of(conf).V, Remote: config.SpeechURL.Of(conf).From != "default",
		Voice: speech.Voice{Speaker: config.SpeechSpeaker.Of(conf).V, Style: config.SpeechStyle.Of(conf).V}, Warn: b.Warn,
	})
	if err != nil {
		return err
	}
	s := &secretary.Speaker{Engine: engine, File: config.SpeechFile.Of(conf).V, Warn: b.Warn, Speaks: b.user.speaks}
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

// addSearch lets her search the web, if there is an engine.
func (b *secretaryBuilder) addSearch() {
	e, name, err := searchEngine(b.conf)
	if err != nil { // which says what to set
		b.Search = func(context.Context, string) (string, error) { return "", err }
		return
	}
	b.Search = func(ctx context.Context, query string) (string, error) {
		query = b.secrets.Text(query)
		if err := b.touched("secretary")(name + ": " + query); err != nil {
			return "", err
		}
		hits, err := e.Search(ctx, websearch.Query{Text: query})
		return websearch.Results(hits), err
	}
}

// sessions keeps conversations open for people at a page. She is silent at first
// unless the settings want her to speak. ask returns who is asked about what is to
// be done in a conversation.
func (o *secretaryOptions) sessions(conf *config.Config, st *store.Store, ask func(session string) asker) *sessions.Manager {
	return &sessions.Manager{
		Store: st, Silent: voiceless(conf), Aloud: config.SpeechEnabled.Of(conf).From != "default",
		Open: func(ctx context.Context, a sessions.OpenOptions) (sessions.Conversation, error) {
			own := *o // each has its own recording
			own.session, own.once, own.json = a.Session, "", false
			asked := ask(a.Name)
			c, err := own.open(ctx, conf, secretaryUser{ask: asked, background: asked, store: st, report: a.Observe, speaks: a.Speaks})
			if err != nil {
				return nil, err
			}
			c.Keeps = true
			return c, nil
		},
	}
}

// voiceless says why she cannot speak here; nil means that she can.
func voiceless(conf *config.Config) error {
	e := &fault.Error{Kind: fault.Unavailable, Op: "speak"}
	if !config.SpeechEnabled.Of(conf).V {
		e.Why, e.Hint = "the settings say that she is silent", "set speech.enabled to true"
		return e
	}
	if config.SpeechFile.Of(conf).V != "" {
		return nil
	}
	if _, ok := player.Find(player.Options{Name: config.SpeechPlayer.Of(conf).V}); !ok {
		e.Why, e.Hint = "there is no program here that plays sound", "install pw-play, paplay or aplay, or name a file with speech.file"
		return e
	}
	return nil
}
