package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hako/internal/app"
	"hako/internal/config"
	"hako/internal/text"
)

// A modelLine is an available model.
type modelLine struct {
	Model    string `json:"model"` // as --model takes it
	Provider string `json:"provider"`
	Note     string `json:"note,omitempty"`
	Used     bool   `json:"used"` // the default
}

func newModels(s streams) *cobra.Command {
	var o common
	cmd := command("models", cobra.NoArgs, func(cmd *cobra.Command, _ []string) error {
		conf, b, err := o.openApp()
		if err != nil {
			return err
		}
		defer b.Close()
		w := newTranscript(s, o.json, false)
		w.spinner.Start("asking")
		lines, problems := listModels(cmd.Context(), app.ModelSource{Conf: conf, Record: b.RecordNetwork("user")})
		w.spinner.Stop()
		for _, p := range problems {
			fmt.Fprintln(s.err, "hako:", text.ForTerminal(p.Error()))
		}
		return o.output(s.out, lines, func() error { return printModels(s.out, lines) })
	})
	o.registerSettings(cmd.Flags())
	o.registerJSON(cmd.Flags(), "")
	return cmd
}

// listTime is the time limit of one provider.
const listTime = 10 * time.Second

func listModels(ctx context.Context, at app.ModelSource) (lines []modelLine, problems []error) {
	ctx, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	conf := at.Conf
	if config.OpenAIKey.Of(conf).V != "" || app.CustomOpenAI(conf) {
		names, err := at.ServedModels(ctx)
		if err != nil {
			problems = append(problems, err)
		}
		for _, name := range names {
			lines = append(lines, modelLine{Model: "openai:" + name, Provider: "openai"})
		}
	}
	local, err := at.OllamaModels(ctx)
	if err != nil && strings.HasPrefix(config.ModelName.Of(conf).V, "ollama:") {
		problems = append(problems, err)
	}
	for _, m := range local {
		lines = append(lines, modelLine{Model: "ollama:" + m.Name, Provider: "ollama",
			Note: fmt.Sprintf("%.1f GB", float64(m.Bytes)/1e9)})
	}
	lines = append(lines, modelLine{Model: "builtin", Provider: "builtin", Note: "rules, no network"})
	markUsed(conf, lines)
	return lines, problems
}

// markUsed marks the default model.
func markUsed(conf *config.Config, lines []modelLine) {
	name := config.ModelName.Of(conf).V
	if name == "" && config.OpenAIKey.Of(conf).V != "" && !app.CustomOpenAI(conf) {
		name = app.DefaultModel
	}
	if name == "" && app.CustomOpenAI(conf) && lines[0].Provider != "openai" {
		return // the server does not list its models
	}
	if name == "" {
		name = lines[0].Model
	}
	for i := range lines {
		_, bare, _ := strings.Cut(lines[i].Model, ":")
		lines[i].Used = lines[i].Model == name || bare == name
	}
}

func printModels(w io.Writer, lines []modelLine) error {
	for _, l := range lines {
		mark := " "
		if l.Used {
			mark = "*"
		}
		if _, err := fmt.Fprintf(w, "%s %-40s %s\n", mark, visible(l.Model), l.Note); err != nil {
			return err
		}
	}
	return nil
}
