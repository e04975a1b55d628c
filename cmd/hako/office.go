package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"hako/agent"
	"hako/gate"
	"hako/internal/app"
	"hako/internal/app/jobs"
	"hako/internal/app/secretary"
	"hako/internal/app/secretary/speech"
	"hako/internal/app/secretary/speech/player"
	"hako/internal/app/secretary/store"
	"hako/internal/config"
	"hako/internal/redact"
	"hako/internal/websearch"
	"hako/llm"
	"hako/policy"
	"hako/run"
	"hako/run/fault"
)

func newSessionID() string { return agent.NewID() }

// A memory is the secretary's store: conversations and to-dos.
type memory struct {
	store   *store.Store
	session store.Session
}

func (m *memory) name() string {
	if m == nil {
		return ""
	}
	if m.session.Name != "" {
		return m.session.Name
	}
	return fmt.Sprint(m.session.ID)
}

// Append implements [secretary.History].
func (m *memory) Append(_ context.Context, msg secretary.Message) error {
	_, err := m.store.Append(m.session.ID, store.Message{Role: string(msg.Role), Text: msg.Text, Meta: msg.Meta})
	return err
}

// Do implements [secretary.Todos].
func (m *memory) Do(_ context.Context, a secretary.TodoAction) (string, error) {
	said, _, err := m.store.Do(store.TodoAction(a))
	return said, err
}

// Open implements [secretary.Todos].
func (m *memory) Open(context.Context) (string, error) {
	todos, err := m.store.List(store.Filter{Status: store.StatusOpen})
	var b strings.Builder
	for _, t := range todos {
		fmt.Fprintf(&b, "#%d %s", t.ID, t.Title)
		if t.Due != "" {
			fmt.Fprintf(&b, " (%s)", t.Due)
		}
		if t.Priority != "normal" {
			fmt.Fprintf(&b, " [%s]", t.Priority)
		}
		b.WriteByte('\n')
	}
	return b.String(), err
}

// remembered is how many messages of a conversation are taken up again.
const remembered = 200

// remember opens the store and takes up the conversation.
func (f *front) remember(name string) error {
	st, err := f.openStore()
	if err != nil {
		return err
	}
	m := &memory{store: st}
	f.Todos = m
	if name == "" {
		m.session, err = st.NewSession("")
	} else {
		m.session, err = st.Resume(name)
	}
	if err != nil {
		return err
	}
	f.memory, f.History = m, m
	old, err := st.Messages(m.session.ID, remembered)
	if err != nil {
		return err
	}
	messages := make([]secretary.Message, len(old))
	for i, o := range old {
		messages[i] = secretary.Message{Role: llm.Role(o.Role), Text: o.Text, Meta: o.Meta}
	}
	f.Resume(messages)
	return nil
}

// openStore opens the store, unless there is one already.
func (f *front) openStore() (*store.Store, error) {
	if f.among.store != nil {
		return f.among.store, nil
	}
	st, err := store.Open(config.SecretaryDatabase.Of(f.conf).V)
	if err == nil {
		f.later(func() { _ = st.Close() })
	}
	return st, err
}

// employ gives her hands: one pair of her own, others for what runs at the same
// time or in the background. Without a sandbox she has none.
func (f *front) employ(ctx context.Context) error {
	if !config.BashEnabled.Of(f.conf).V {
		return nil
	}
	f.Ask = f.unless(f.Ask)
	own, err := f.NewRunner(ctx)
	if err != nil {
		return err
	}
	f.later(own.Close)
	f.Hands, f.Dir = own.Runner, f.Options.Root
	f.Commands = f.rules()
	f.ReadOnly = func(script string) bool { return f.look(ctx, script).ReadOnly }
	f.Declares = func(script string) bool { return f.look(ctx, script).Declares }
	pool := &pool{hire: func() (app.HostRunner, error) { return f.NewRunner(ctx) }}
	f.later(pool.close)
	f.Spare = pool.lend
	f.background()
	return nil
}

// look returns what is known of a script before it runs. One that cannot be read
// may do anything.
func (f *front) look(ctx context.Context, script string) (a app.JudgeResult) {
	unknown := app.JudgeResult{Declares: true}
	if f.Workers != nil {
		if err := f.Workers.Judge(ctx, app.JudgeRequest{Profile: "host", Script: script}, &a); err != nil {
			return unknown
		}
		return a
	}
	file, err := policy.ParseScript(script)
	if err != nil {
		return unknown
	}
	return app.JudgeResult{ReadOnly: f.Policy.ReadOnly(file), Declares: policy.Declares(file)}
}

// unless answers no for a person while the secretary speaks up herself.
func (f *front) unless(ask app.Asker) app.Asker {
	if ask == nil {
		return nil
	}
	var one sync.Mutex // the gates of several hands may ask at the same time
	return func(ctx context.Context, q gate.Question) (gate.Answer, error) {
		one.Lock()
		defer one.Unlock()
		if f.shy.Load() {
			return gate.No, nil
		}
		f.show.spinner.Stop()
		return ask(ctx, q)
	}
}

// rules are the live policy in the words of her prompt.
func (f *front) rules() string {
	var lines []string
	for _, l := range f.Policy.Summary(config.SecretaryLanguage.Of(f.conf).V, 12) {
		lines = append(lines, l.String())
	}
	return strings.Join(lines, "\n")
}

// background lets commands outlive a turn.
func (f *front) background() {
	desk, err := jobs.Open(jobs.Options{
		New: func(ctx context.Context) (run.Runner, func(), error) {
			h, err := f.HostRunner(ctx, f.Options, f.Policy, f.afar())
			return h.Runner, h.Close, err
		},
		Clean: func(w io.Writer) io.WriteCloser { return redact.NewLiveWriter(w, f.Secrets) },
		Lists: "@job list shows which there are",
	})
	if err != nil {
		f.warn(err)
		return
	}
	f.later(func() { _ = desk.Close() })
	f.Jobs = clerkOfJobs{desk}
}

// afar is who is asked about what runs in the background: somebody at a page, as
// the keyboard belongs to the conversation that goes on.
func (f *front) afar() app.Asker {
	if f.among.watch != nil {
		return f.among.ask
	}
	return askElsewhere(f.conf, func(string) {})
}

// A pool lends hands and keeps them for the next who needs some.
type pool struct {
	hire func() (app.HostRunner, error)
	mu   sync.Mutex // guards idle
	idle []app.HostRunner
}

func (p *pool) lend() (run.Runner, func(), error) {
	h, ok := p.take()
	if !ok {
		var err error
		if h, err = p.hire(); err != nil {
			return nil, nil, err
		}
	}
	return h.Runner, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.idle = append(p.idle, h)
	}, nil
}

func (p *pool) take() (h app.HostRunner, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.idle) == 0 {
		return h, false
	}
	h = p.idle[len(p.idle)-1]
	p.idle = p.idle[:len(p.idle)-1]
	return h, true
}

func (p *pool) close() {
	for h, ok := p.take(); ok; h, ok = p.take() {
		h.Close()
	}
}

// clerkOfJobs answers about jobs in words.
type clerkOfJobs struct{ desk *jobs.Desk }

// Start implements [secretary.Jobs].
func (c clerkOfJobs) Start(ctx context.Context, req run.Request) (string, error) {
	h, err := c.desk.Start(ctx, req)
	return string(h), err
}

// Busy tells that files may change by themselves.
func (c clerkOfJobs) Busy() bool { return c.desk.Busy() }

// Ask implements [secretary.Jobs].
func (c clerkOfJobs) Ask(ctx context.Context, verb, handle string, offset int64) (string, error) {
	h := jobs.Handle(handle)
	switch verb {
	case "list":
		var b strings.Builder
		for _, st := range c.desk.List() {
			b.WriteString(jobLine(st) + "\n")
		}
		return b.String(), nil
	case "kill":
		st, err := c.desk.Kill(ctx, h)
		return jobLine(st), err
	case "output":
		page, err := c.desk.Output(h, jobs.Both, offset, 0)
		if err != nil {
			return "", err
		}
		text := string(page.Data)
		if text == "" {
			text = "(nothing)"
		}
		if page.More || !page.Ended {
			text += fmt.Sprintf("\n(next: @job output %s %d)", handle, page.Next)
		}
		return text, nil
	}
	st, err := c.desk.Status(h)
	return jobLine(st), err
}

func jobLine(st jobs.Status) string {
	line := fmt.Sprintf("%s %s: %s", st.Handle, st.State, st.Command)
	if took := st.Ended.Sub(st.Began).Round(time.Millisecond); st.State == jobs.Done || st.State == jobs.Failed {
		line += fmt.Sprintf(" (exit %d, after %v)", st.Exit, took)
	} else if st.State != jobs.Running {
		line += fmt.Sprintf(" (after %v)", took)
	}
	if st.Err != "" && st.State != jobs.Killed {
		line += ": " + st.Err
	}
	return line
}

// usualSpeech is the voice of the settings.
func usualSpeech(conf *config.Config) secretary.Speech {
	return secretary.Speech{
		SpeakerUUID: config.SpeechSpeaker.Of(conf).V, StyleID: config.SpeechStyle.Of(conf).V,
		SpeedScale: config.SpeechSpeed.Of(conf).V, VolumeScale: config.SpeechVolume.Of(conf).V, PitchScale: config.SpeechPitch.Of(conf).V,
		IntonationScale: config.SpeechIntonation.Of(conf).V, PrePhonemeLength: config.SpeechPre.Of(conf).V, PostPhonemeLength: config.SpeechPost.Of(conf).V,
		OutputSamplingRate: config.SpeechRate.Of(conf).V, ProsodyDetail: [][]secretary.Mora{},
	}
}

// A voice speaks in the background, one thing after the other.
type voice struct {
	engine *speech.Engine
	player *player.Player // nil: nothing is played
	file   string         // the WAV file to write; empty: none
	warn   func(error)
	speaks func() bool // whether she is to be heard just now; nil means always
	last   string      // what was warned of last
	mute   atomic.Bool // what she said last could not be made heard
	queue  chan speech.Speech
	busy   sync.WaitGroup
}

// speak gives her a voice. Without one everything else works.
func (f *front) speak(ctx context.Context) error {
	if !config.SpeechEnabled.Of(f.conf).V {
		return nil
	}
	engine, err := speech.New(speech.Options{
		URL: config.SpeechURL.Of(f.conf).V, Remote: config.SpeechURL.Of(f.conf).From != "default",
		Voice: speech.Voice{Speaker: config.SpeechSpeaker.Of(f.conf).V, Style: config.SpeechStyle.Of(f.conf).V}, Warn: f.warn,
	})
	if err != nil {
		return err
	}
	v := &voice{engine: engine, file: config.SpeechFile.Of(f.conf).V, warn: f.warn, speaks: f.among.speaks, queue: make(chan speech.Speech, 16)}
	if ready, err := v.prepare(config.SpeechPlayer.Of(f.conf).V); !ready {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	f.later(cancel)
	go v.work(ctx)
	f.voice, f.Voice = v, v
	return nil
}

// prepare finds where the sound goes: to the file, if there is one, else to a
// player. It is not ready if there is nothing to hear it with.
func (v *voice) prepare(wish string) (ready bool, err error) {
	if v.file != "" {
		err := speech.CheckFile(v.file)
		return err == nil, err
	}
	found, ok := player.Find(player.Options{Name: wish})
	v.player = found
	return ok, nil
}

// unwritten says that the file which somebody asked for lacks what she said last.
func (v *voice) unwritten() error {
	if v == nil || !v.mute.Load() {
		return nil
	}
	return &fault.Error{Kind: fault.Unavailable, Op: "write", Subject: v.file, Why: "what she said last is not in it, as there is no sound of that", Hint: "the warning above says what to do; her words are whole"}
}

// silent tells that nobody wants to hear her just now.
func (v *voice) silent() bool { return v.speaks != nil && !v.speaks() }

// Say implements [secretary.Voice].
func (v *voice) Say(_ context.Context, s secretary.Speech) error {
	if v.silent() {
		return nil
	}
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	var words speech.Speech
	if err := json.Unmarshal(text, &words); err != nil {
		return err
	}
	v.busy.Add(1)
	select {
	case v.queue <- words:
	default:
		v.busy.Done() // she is far behind already
	}
	return nil
}

func (v *voice) work(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case s := <-v.queue:
			err := v.utter(ctx, s)
			if v.mute.Store(err != nil && ctx.Err() == nil); v.mute.Load() {
				v.complain(err)
			}
			v.busy.Done()
		}
	}
}

// complain warns, but not of the same twice in a row.
func (v *voice) complain(err error) {
	if text := err.Error(); text != v.last {
		v.last = text
		v.warn(err)
	}
}

func (v *voice) utter(ctx context.Context, s speech.Speech) error {
	if v.silent() { // by now
		return nil
	}
	if v.file == "" {
		_, err := v.engine.Speak(ctx, s, v.player)
		return err
	}
	wav, err := v.engine.Say(ctx, s)
	if err != nil || wav == nil {
		return err
	}
	return speech.WriteFile(v.file, wav)
}

// wait returns when all is said, or nobody wants to hear it.
func (v *voice) wait(ctx context.Context) {
	if v == nil {
		return
	}
	done := make(chan struct{})
	go func() { v.busy.Wait(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// find lets her search the web, if there is an engine.
func (f *front) find() {
	e, name, err := app.SearchEngine(f.conf)
	if err != nil { // which says what to set
		f.Search = func(context.Context, string) (string, error) { return "", err }
		return
	}
	f.Search = func(ctx context.Context, query string) (string, error) {
		query = f.Secrets.Text(query)
		if err := f.RecordNetwork("secretary")(name + ": " + query); err != nil {
			return "", err
		}
		hits, err := e.Search(ctx, websearch.Query{Text: query})
		return websearch.Results(hits), err
	}
}

// searchHistory looks through the conversations that were kept.
func searchHistory(s streams, conf *config.Config, words string, asJSON bool) error {
	st, err := store.Open(config.SecretaryDatabase.Of(conf).V)
	if err != nil {
		return err
	}
	defer st.Close()
	hits, err := st.Search(words, 50)
	if err != nil {
		return err
	}
	if asJSON {
		return encode(s.out, hits)
	}
	if len(hits) == 0 {
		return &fault.Error{Kind: fault.NotFound, Op: "search conversations", Subject: words, Why: "nobody said so", Hint: "try fewer or other words"}
	}
	return printSaid(s.out, hits)
}

func printSaid(w io.Writer, hits []store.Hit) error {
	var b bytes.Buffer
	for _, h := range hits {
		name := h.Name
		if name == "" {
			name = fmt.Sprint(h.Session)
		}
		fmt.Fprintf(&b, "%s  %s  %s: %s\n", h.Time.Local().Format("2006-01-02 15:04"), visible(name), h.Role, visible(strings.Join(strings.Fields(h.Snippet), " ")))
	}
	_, err := w.Write(b.Bytes())
	return err
}

// bufferedLines returns what reads one line after the other.
func bufferedLines(r io.Reader) func() (string, error) {
	in := bufio.NewReader(r)
	return func() (string, error) {
		line, err := in.ReadString('\n')
		if err == io.EOF && line != "" {
			err = nil
		}
		return strings.TrimRight(line, "\r\n"), err
	}
}
