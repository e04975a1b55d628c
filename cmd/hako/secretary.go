package main

import (
	"context"
	"fmt"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"hako/internal/app"
	"hako/internal/app/secretary"
	"hako/internal/app/secretary/store"
	"hako/internal/config"
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
}

func newSecretary(s streams) *cobra.Command {
	var o secretaryOptions
	cmd := command("secretary", cobra.NoArgs, func(cmd *cobra.Command, _ []string) error {
		return o.run(cmd.Context(), s)
	})
	f := cmd.Flags()
	o.hostFlags.register(f)
	o.modelFlags.register(f)
	f.BoolVar(&o.json, "json", false, "print each exchange as a JSON object (docs/secretary.md)")
	f.BoolVar(&o.noAudio, "no-audio", false, "do not speak")
	f.Var((*nonEmpty)(&o.session), "session", "continue or begin the conversation `NAME`")
	f.Var((*nonEmpty)(&o.once), "once", "send `TEXT`, print the answer and exit")
	f.Var((*nonEmpty)(&o.speechFile), "speech-file", "write what she says to the WAV file `FILE` instead of playing it")
	f.BoolVar(&o.requery, "requery", false,
		"ask the model again with the results of its commands (bash_executor.requery_on_result)")
	f.BoolVar(&o.threeStep, "three-step", false, "plan, answer and check each answer (secretary.three_step)")
	f.Var((*nonEmpty)(&o.search), "search", "search the stored conversations for `WORDS`, and exit")
	return cmd
}

func (o *secretaryOptions) run(ctx context.Context, s streams) error {
	conf, err := o.load()
	if err != nil {
		return err
	}
	if err := o.applyFlags(conf); err != nil {
		return err
	}
	if o.search != "" {
		return o.searchHistory(s, conf)
	}
	talks := o.once == "" && isTerminal(s.in) && !o.json
	if talks {
		// Ctrl-C ends an answer, not the conversation; SIGTERM and SIGHUP end the process.
		var stop context.CancelFunc
		ctx, stop = signal.NotifyContext(context.WithoutCancel(ctx), syscall.SIGTERM, syscall.SIGHUP)
		defer stop()
	}
	t := newSecretaryTerminal(s, conf, o.json)
	c, err := app.OpenSecretary(ctx, conf, app.SecretaryOptions{
		Model: o.model, Session: o.session, Record: o.record, Stats: o.stats, Modelless: secretary.IsCommand(o.once),
		NeedRoot: o.root != "", NeedVoice: o.speechFile != "",
		Ask: askFor(s, conf), Background: askPage(conf, func(string) {}), Report: t.event,
	})
	if err != nil {
		return err
	}
	defer c.Close()
	t.Conversation, c.Strict = c, true
	err = o.talk(ctx, t, talks)
	if err == nil && o.speechFile != "" {
		return c.Speaker().Unwritten()
	}
	return err
}

func (o *secretaryOptions) talk(ctx context.Context, t *secretaryTerminal, atTerminal bool) error {
	switch {
	case o.once != "":
		return t.once(ctx, o.once)
	case atTerminal:
		return t.converse(ctx)
	}
	return t.pipe(ctx)
}

// applyFlags applies the flags that override settings.
func (o *secretaryOptions) applyFlags(conf *config.Config) error {
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
		return &fault.Error{Kind: fault.Invalid, Op: "secretary", Why: "--no-audio and --speech-file exclude each other",
			FlagHint: "leave --no-audio out: with --speech-file nothing is played"}
	}
	if o.speechFile != "" && !config.SpeechEnabled.Of(conf).V {
		return &fault.Error{Kind: fault.Invalid, Op: "secretary",
			Why:  "--speech-file needs the voice, and speech.enabled is false",
			Hint: "set speech.enabled to true, for one run with HAKO_SPEECH_ENABLED=true"}
	}
	return nil
}

// searchHistory searches the stored conversations.
func (o *secretaryOptions) searchHistory(s streams, conf *config.Config) error {
	st, err := store.Open(config.SecretaryDatabase.Of(conf).V)
	if err != nil {
		return err
	}
	defer st.Close()
	hits, err := st.Search(o.search, 50)
	if err != nil {
		return err
	}
	if o.json {
		return encode(s.out, hits)
	}
	if len(hits) == 0 {
		return &fault.Error{Kind: fault.NotFound, Op: "search conversations", Subject: o.search, Why: "no messages found",
			Hint: "try fewer or other words"}
	}
	for _, h := range hits {
		if _, err := fmt.Fprintln(s.out, h.Line()); err != nil {
			return err
		}
	}
	return nil
}
