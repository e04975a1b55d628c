package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/spf13/cobra"

	"hako/internal/app"
	"hako/internal/app/secretary"
	"hako/internal/app/secretary/store"
	"hako/internal/config"
	"hako/internal/redact"
	"hako/internal/text"
	"hako/internal/worker"
	"hako/llm"
	"hako/policy"
	"hako/quota"
	"hako/run/fault"
)

// secretaryOptions are the flags of hako secretary.
type secretaryOptions struct {
	hostFlags
	modelFlags
	noAudio    bool
	session    string
	once       string
	speechFile string
	requery    bool
	threeStep  bool
	search     string
	workers    *worker.Pool // where her commands run; nil means in this process
}

func newSecretary(s streams) *cobra.Command {
	var o secretaryOptions
	cmd := &cobra.Command{
		Use:   "secretary [--model M] [--session NAME] [--no-audio] [--root DIR] [--once TEXT]",
		Short: "Talk to a secretary who runs commands, keeps a to-do list and speaks",
		Long: `secretary is a conversation with a model that answers, runs programs of this
machine in a sandbox below --root, and keeps a to-do list. What the rules do not
allow is refused; what they want asked is asked here. In the conversation:
/todo, /history [WORDS], /reset, /help, exit; and @todo, @search, @bg, @job.
Ollama is used if it is there; --model chooses another.`,
		Example: `  hako secretary
  hako secretary --no-audio --session work --root ~/project
  hako secretary --model ollama:qwen3 --once '最新のGitコミットを教えて'
  hako secretary --once 'list the python files' --json
  hako secretary --search 'リリース'          # in all conversations that were kept`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), s) },
	}
	f := cmd.Flags()
	o.hostFlags.register(f)
	o.modelFlags.register(f)
	f.Lookup("json").Usage = "print each exchange as a JSON object (docs/secretary.md)"
	f.BoolVar(&o.noAudio, "no-audio", false, "do not speak")
	f.Var((*filled)(&o.session), "session", "go on with the conversation `NAME`, or begin it")
	f.Var((*filled)(&o.once), "once", "say `TEXT`, print the answer and leave")
	f.Var((*filled)(&o.speechFile), "speech-file", "write what she says to the WAV file `FILE` instead of playing it")
	f.BoolVar(&o.requery, "requery", false, "ask the model again with what came of its commands (bash_executor.requery_on_result)")
	f.BoolVar(&o.threeStep, "three-step", false, "plan, answer and check each answer (secretary.three_step)")
	f.Var((*filled)(&o.search), "search", "look for `WORDS` in the conversations that were kept, and leave")
	return cmd
}

func (o *secretaryOptions) run(ctx context.Context, s streams) error {
	conf, err := o.load()
	if err != nil {
		return err
	}
	if err := o.take(conf); err != nil {
		return err
	}
	if o.search != "" {
		return searchHistory(s, conf, o.search, o.json)
	}
	talks := o.once == "" && isTerminal(s.in) && !o.json
	if talks {
		// Ctrl-C ends an answer, not the conversation; what else ends a process does.
		var stop context.CancelFunc
		ctx, stop = signal.NotifyContext(context.WithoutCancel(ctx), syscall.SIGTERM, syscall.SIGHUP)
		defer stop()
	}
	f, err := o.open(ctx, s, conf, company{ask: askFor(s, conf)})
	if err != nil {
		return err
	}
	defer f.close()
	err = o.conduct(ctx, f, talks)
	if err == nil && o.speechFile != "" {
		return f.voice.unwritten()
	}
	return err
}

func (o *secretaryOptions) conduct(ctx context.Context, f *front, atTerminal bool) error {
	switch {
	case o.once != "":
		return f.once(ctx, o.once)
	case atTerminal:
		return f.converse(ctx)
	}
	return f.pipe(ctx)
}

// take takes in the flags that stand for settings.
func (o *secretaryOptions) take(conf *config.Config) error {
	for _, f := range []struct {
		given bool
		key   string
		flag  string
		value string
	}{
		{o.noAudio, "speech.enabled", "--no-audio", "false"},
		{o.speechFile != "", "speech.file", "--speech-file", o.speechFile},
		{o.requery, "bash_executor.requery_on_result", "--requery", "true"},
		{o.threeStep, "secretary.three_step", "--three-step", "true"},
	} {
		if f.given {
			if err := conf.Set(f.key, f.flag, f.value); err != nil {
				return err
			}
		}
	}
	if o.noAudio && o.speechFile != "" {
		return &fault.Error{Kind: fault.Invalid, Op: "secretary", Why: "--no-audio and --speech-file exclude each other", FlagHint: "leave --no-audio out: with --speech-file nothing is played"}
	}
	if o.speechFile != "" && !config.SpeechEnabled.Of(conf).V {
		return &fault.Error{Kind: fault.Invalid, Op: "secretary", Why: "--speech-file needs the voice, and speech.enabled is false", Hint: "set speech.enabled to true, for one run with HAKO_SPEECH_ENABLED=true"}
	}
	return nil
}

// company is who a secretary works for: the person at the terminal, or somebody
// elsewhere.
type company struct {
	ask    app.Asker             // nil means that nobody can be asked
	store  *store.Store          // nil means that she opens it herself
	watch  func(secretary.Event) // is told what happens; nil means that the terminal shows it
	speaks func() bool           // whether she is to be heard just now; nil means always
}

// A front is the secretary with all that is around her.
type front struct {
	*secretary.Secretary
	*app.Host
	among  company
	conf   *config.Config
	s      streams
	show   *show
	json   bool
	mind   *app.MeteredModel
	tape   *app.TurnRecorder
	memory *memory
	voice  *voice
	put    []func()    // what is to be put away at the end, in reverse
	shy    atomic.Bool // she speaks up herself: nobody is asked, nothing is shown but her words
}

func (f *front) close() {
	for i := len(f.put) - 1; i >= 0; i-- {
		f.put[i]()
	}
}

func (f *front) later(do func()) { f.put = append(f.put, do) }

// warn tells of what does not work but does not matter.
func (f *front) warn(err error) {
	if f.among.watch != nil {
		f.among.watch(secretary.Event{Type: "warning", Text: hinted(err)})
		return
	}
	f.show.note(text.ForTerminal(err.Error()))
	if h := fault.FlagHint(err); h != "" {
		f.show.note("hint: " + h)
	}
}

// open puts the secretary together.
func (o *secretaryOptions) open(ctx context.Context, s streams, conf *config.Config, among company) (_ *front, err error) {
	f := &front{among: among, conf: conf, s: s, json: o.json, show: newShow(s, o.json, false)}
	if among.watch != nil {
		f.show.notes = warnings(among.watch)
	}
	defer func() {
		if err != nil {
			f.close()
		}
	}()
	if f.Host, err = app.OpenHost(conf, quota.DefaultLimits(), among.ask); err != nil {
		return nil, err
	}
	f.later(f.App.Close)
	f.App.Id, f.App.Workers = newSessionID(), o.workers
	if err := f.think(ctx, o); err != nil && !isCommand(o.once) {
		return nil, err
	} else if err != nil {
		f.mind = &app.MeteredModel{Front: absent{err}} // what is not for a model needs none
	}
	f.Secretary = f.settings()
	if err := f.remember(o.session); err != nil {
		f.warn(&fault.Error{Kind: fault.KindOf(err), Op: "keep conversation", Why: "nothing is kept in this run", Err: err, Hint: fault.Hint(err)})
	}
	if err := f.employ(ctx); err != nil && o.root != "" && mistaken(err) {
		return nil, err
	} else if err != nil {
		f.warn(err)
	}
	if err := f.speak(ctx); err != nil && o.speechFile != "" {
		return nil, err
	} else if err != nil {
		f.warn(err)
	}
	f.find()
	return f, nil
}

// mistaken tells what the user can put right from what the machine lacks.
func mistaken(err error) bool {
	kind := fault.KindOf(err)
	return kind == fault.Invalid || kind == fault.NotFound
}

// absent is the model that could not be found.
type absent struct{ err error }

func (a absent) Next(context.Context, *llm.Dialog) (*llm.Turn, error) { return nil, a.err }

// isCommand tells what is said to hako rather than to a model.
func isCommand(line string) bool {
	return strings.HasPrefix(line, "@") || strings.HasPrefix(line, "/")
}

// think chooses the model.
func (f *front) think(ctx context.Context, o *secretaryOptions) error {
	c, err := chooseSecretaryModel(ctx, app.ModelSource{Conf: f.conf, Record: f.RecordNetwork("secretary")}, o.model)
	if err != nil {
		return err
	}
	if c.Why != "" {
		f.show.note(c.Why)
	}
	if err := app.CheckGrants(f.conf, o.record); err != nil {
		return err
	}
	if f.tape, err = app.NewTurnRecorder(o.record, f.Secrets); err != nil {
		return err
	}
	f.later(f.tape.Discard)
	f.mind, err = f.App.Metered(c, f.conf, f.Meter, app.ModelOptions{Recorder: f.tape, Notify: f.show.retry})
	if err != nil {
		return err
	}
	f.later(func() {
		if err := errors.Join(f.mind.Book(f.conf, f.Meter.Used()), f.tape.Commit()); err != nil {
			f.warn(err)
		}
		if o.stats {
			f.show.note(f.mind.Stats())
		}
	})
	return nil
}

// chooseSecretaryModel prefers a model on this machine: a conversation is
// nobody else's business unless somebody says so.
func chooseSecretaryModel(ctx context.Context, at app.ModelSource, spec string) (app.Model, error) {
	if spec == "" {
		spec = config.SecretaryModel.Of(at.Conf).V
	}
	if spec == "" && config.ModelName.Of(at.Conf).V == "" {
		probe, cancel := context.WithTimeout(ctx, app.ProbeTime)
		defer cancel()
		if local, err := at.Ollamas(probe); err == nil && len(local) > 0 {
			return app.OllamaModel(ctx, at, local[0].Name)
		}
	}
	c, err := app.ChooseModel(ctx, at, spec)
	if err == nil && c.Provider == "builtin" {
		return c, &fault.Error{Kind: fault.Unavailable, Op: "ask model", Why: "the secretary needs a model, and the built-in rules cannot talk",
			Hint:     "start Ollama (ollama serve), export OPENAI_API_KEY=…, or name a model in secretary.model; hako doctor says more",
			FlagHint: "start Ollama (ollama serve), export OPENAI_API_KEY=…, or name a model: --model ollama:qwen3; hako doctor says more"}
	}
	return c, err
}

// settings are what the configuration says about her.
func (f *front) settings() *secretary.Secretary {
	conf := f.conf
	lang := config.SecretaryLanguage.Of(conf).V
	return &secretary.Secretary{
		Model: f.mind.Front, Lang: lang, Name: config.SecretaryName.Of(conf).V, Extra: f.extra(),
		Speech: usualSpeech(conf), Scripts: config.SecretaryCommands.Of(conf).V, Secrets: f.Secrets, ID: f.Id,
		Requery: config.BashRequery.Of(conf).V, Rounds: config.BashMaxRounds.Of(conf).V, ThreeStep: config.SecretaryThreeStep.Of(conf).V,
		Actions: config.BashMaxActions.Of(conf).V, Timeout: config.BashTimeout.Of(conf).V, Parallel: config.BashParallel.Of(conf).V,
		CacheTTL: orNever(config.BashCacheTTL.Of(conf).V), RateLimit: orNever(config.BashRateLimit.Of(conf).V),
		Context: int64(config.SecretaryContext.Of(conf).V), Observe: f.event,
		Unlisted: unlisted, Left: f.left,
	}
}

// left is what remains of the budget.
func (f *front) left() string {
	var parts []string
	left := f.Meter.Left()
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
func (f *front) extra() string {
	name := config.SecretarySystem.Of(f.conf).V
	if name == "" {
		return ""
	}
	text, err := os.ReadFile(name)
	if err != nil {
		f.warn(&fault.Error{Kind: fault.NotFound, Op: "read instructions", Subject: name, Err: app.ReasonOf(err), Hint: "secretary.system names a text file"})
		return ""
	}
	return strings.ToValidUTF8(string(text), "\uFFFD")
}

// event shows what happens in a turn.
func (f *front) event(e secretary.Event) {
	if f.among.watch != nil {
		f.among.watch(e)
		return
	}
	if f.json || f.shy.Load() {
		return // the answer has it all
	}
	switch e.Type {
	case "text":
		f.show.piece(text.ForTerminal(e.Text))
	case "again":
		f.show.endText()
	case "reply":
		f.show.endText()
	case "action":
		f.show.endText()
		f.show.spinner.Label("running")
		if !e.Beside { // else each stands above what came of it
			f.commandLine(e.Action.Command)
		}
	case "result":
		if e.Beside {
			f.commandLine(e.Result.Command)
		}
		f.result(e.Result)
	case "todo":
		f.show.note(e.Text)
	case "warning":
		f.show.endText()
		f.show.note("warning: " + e.Text)
	}
}

func (f *front) commandLine(command string) {
	if config.BashLogCommands.Of(f.conf).V {
		f.show.note("$ " + brief(command, f.show.room()))
	}
}

// shownLines is how much of a command's output people see; the model sees more.
const shownLines = 12

func (f *front) result(r *secretary.Result) {
	f.show.spinner.Label("thinking")
	if !config.BashLogCommands.Of(f.conf).V {
		return
	}
	if o := r.Output; o != nil {
		f.lines(o.Stdout)
		f.lines(o.Stderr)
		if o.ExitCode != "0" && r.Error == "" {
			fmt.Fprintf(f.show.notes, "  (exit %s)\n", o.ExitCode)
		}
		if o.Redacted > 0 {
			f.show.note("note: " + redact.Note(o.Redacted))
		}
	}
	if r.Error != "" {
		f.show.note("✗ " + brief(withRule(r, r.Error), 300))
	}
	if r.Detail != "" {
		f.show.note(brief(withRule(r, r.Detail), 300))
	}
	if r.Hint != "" {
		f.show.note("hint: " + brief(r.Hint, 300))
	}
}

// withRule adds the rule that decided to the line that has its reason.
func withRule(r *secretary.Result, line string) string {
	if d := r.Denied; d != nil && d.Rule != "" && strings.HasSuffix(line, d.Why) {
		return line + " (" + d.Rule + ")"
	}
	return line
}

// lines shows the beginning of an output.
func (f *front) lines(text string) {
	text = strings.TrimRight(text, "\n")
	if text == "" {
		return
	}
	lines := strings.Split(text, "\n")
	for _, line := range lines[:min(len(lines), shownLines)] {
		fmt.Fprintf(f.show.notes, "  %s\n", visible(line))
	}
	if more := len(lines) - shownLines; more > 0 {
		fmt.Fprintf(f.show.notes, "  … %d more lines\n", more)
	}
}

// turn has one exchange with her.
func (f *front) turn(ctx context.Context, text string, o secretary.Options) (secretary.Answer, error) {
	f.show.spinner.Start("thinking")
	if end, ok := f.Meter.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, end)
		defer cancel()
	}
	answer, err := f.Chat(ctx, text, o)
	f.show.spinner.Stop()
	f.show.endText()
	return answer, err
}

// readable has one exchange with her, in which an answer that cannot be read is
// none.
func (f *front) readable(ctx context.Context, text string) (secretary.Answer, error) {
	answer, err := f.turn(ctx, text, secretary.Options{})
	if err == nil && answer.Garbled {
		answer.Partial = true
		err = &fault.Error{Kind: fault.Unavailable, Op: "ask model", Subject: f.mind.Model.String(), Why: "its answer cannot be read", Hint: "say it in other words, or name another model in secretary.model", FlagHint: "say it in other words, or name another model: --model"}
	}
	return answer, err
}

// once has one exchange and ends.
func (f *front) once(ctx context.Context, text string) error {
	if strings.HasPrefix(text, "@bg") {
		return &fault.Error{Kind: fault.Invalid, Op: "secretary", Subject: text, Why: "a job ends with the conversation, and this one ends at once", Hint: "run it in a conversation: hako secretary"}
	}
	if isCommand(text) {
		return f.command(ctx, f.s.out, text)
	}
	answer, err := f.readable(ctx, text)
	if f.json {
		if jerr := f.printJSON(answer, err); jerr != nil {
			return jerr
		}
		if err != nil {
			return exitStatus(status[fault.KindOf(err)])
		}
	}
	f.voice.wait(ctx)
	return err
}

// secretaryAnswer is what --json prints for each exchange.
type secretaryAnswer struct {
	Session string `json:"session,omitempty"`
	secretary.Answer
	Error *fault.Error `json:"error,omitempty"`
}

func (f *front) printJSON(answer secretary.Answer, err error) error {
	out := secretaryAnswer{Session: f.memory.name(), Answer: answer}
	if err != nil && !errors.As(err, &out.Error) {
		out.Error = &fault.Error{Op: "talk", Err: err}
	}
	return encode(f.s.out, out)
}

// commandAnswer is what --json prints for a line that is not for the model.
type commandAnswer struct {
	Command string       `json:"command"`
	Output  string       `json:"output"`
	Error   *fault.Error `json:"error,omitempty"`
}

func (f *front) commandJSON(ctx context.Context, line string) error {
	var b strings.Builder
	err := f.command(ctx, &b, line)
	out := commandAnswer{Command: line, Output: b.String()}
	if err != nil && !errors.As(err, &out.Error) {
		out.Error = &fault.Error{Op: "talk", Err: err}
	}
	return encode(f.s.out, out)
}

// pipe takes each line of standard input for something that is said.
func (f *front) pipe(ctx context.Context) error {
	lines := bufferedLines(f.s.in)
	for {
		line, err := lines()
		if err == io.EOF || leaves(line) {
			f.voice.wait(ctx)
			return nil
		}
		if err != nil {
			return err
		}
		if err := f.say(ctx, line); err != nil {
			return err
		}
	}
}

// leaves tells a line that ends the conversation.
func leaves(line string) bool {
	line = strings.TrimSpace(line)
	return line == "exit" || line == "quit"
}

// say carries out one line. Only what ends the conversation is an error.
func (f *front) say(ctx context.Context, line string) error {
	line = strings.TrimSpace(line)
	switch {
	case line == "":
		return nil
	case isCommand(line) && f.json:
		return f.commandJSON(ctx, line)
	case isCommand(line):
		if err := f.command(ctx, f.s.out, line); err != nil {
			f.warn(err)
		}
		return nil
	}
	answer, err := f.readable(ctx, line)
	switch {
	case f.json:
		return f.printJSON(answer, err)
	case err != nil && (fault.KindOf(err) == fault.Exhausted || ctx.Err() != nil):
		return err
	case err != nil:
		f.warn(err)
	}
	return nil
}
