package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hako/internal/app"
	"hako/internal/config"
	"hako/internal/text"
)

// A modelLine is one model that can be asked.
type modelLine struct {
	Model    string `json:"model"` // as --model takes it
	Provider string `json:"provider"`
	Note     string `json:"note,omitempty"`
	Used     bool   `json:"used"` // when nobody chooses
}

func newModels(s streams) *cobra.Command {
	var o common
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "models",
		Short: "List the models that can be asked from here",
		Long: `models asks OpenAI (if there is a key), the local Ollama and the built-in rules
what they have. The one marked * is asked if nobody chooses.`,
		Example: "  hako models\n  hako models --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			conf, err := o.load()
			if err != nil {
				return err
			}
			w := newShow(s, asJSON, false)
			w.spinner.Start("asking")
			b, err := app.Open(conf)
			if err != nil {
				return err
			}
			defer b.Close()
			lines, problems := listModels(cmd.Context(), app.ModelSource{Conf: conf, Record: b.RecordNetwork("user")})
			w.spinner.Stop()
			for _, p := range problems {
				fmt.Fprintln(s.err, "hako:", text.ForTerminal(p.Error()))
			}
			return printModels(s, lines, asJSON)
		},
	}
	cmd.Flags().StringVar(&o.config, "config", "", "read the settings from `FILE`")
	cmd.Flags().BoolVar(&o.noConfig, "no-config", false, "read no settings file")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// listTime is how long one provider may take to list its models.
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

// markUsed marks the model that is asked when the command line names none.
func markUsed(conf *config.Config, lines []modelLine) {
	name := config.ModelName.Of(conf).V
	if name == "" && config.OpenAIKey.Of(conf).V != "" && !app.CustomOpenAI(conf) {
		name = app.DefaultModel
	}
	if name == "" && app.CustomOpenAI(conf) && lines[0].Provider != "openai" {
		return // it is asked what it has, and does not say
	}
	if name == "" {
		name = lines[0].Model
	}
	for i := range lines {
		_, bare, _ := strings.Cut(lines[i].Model, ":")
		lines[i].Used = lines[i].Model == name || bare == name
	}
}

func printModels(s streams, lines []modelLine, asJSON bool) error {
	if asJSON {
		return encode(s.out, lines)
	}
	for _, l := range lines {
		mark := " "
		if l.Used {
			mark = "*"
		}
		if _, err := fmt.Fprintf(s.out, "%s %-40s %s\n", mark, visible(l.Model), l.Note); err != nil {
			return err
		}
	}
	return nil
}
