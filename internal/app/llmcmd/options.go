package llmcmd

import (
	"errors"
	"os"
	"slices"
	"strings"

	"hako/internal/app/llmcmd/plan"
	"hako/internal/app/llmcmd/preset"
	"hako/internal/config"
	"hako/run/fault"
)

// Check rejects options that exclude each other.
func (o *Options) Check(args []string) error {
	bad := func(why, hint string) error {
		return &fault.Error{Kind: fault.Invalid, Op: "cmd", Why: why, Hint: hint}
	}
	empty := strings.TrimSpace(strings.Join(args, " ")) == ""
	switch {
	case o.Prompt != "" && o.Preset != "":
		return bad("-p and -r are both given", "a prompt takes the place of a preset: leave one out")
	case empty && o.Prompt == "" && o.PlanFile == "":
		return bad("there are neither instructions nor a prompt",
			`say what to do: hako cmd -i app.log "count the errors by host"`)
	case o.PlanFile != "" && !empty:
		return bad("--execute-plan and instructions are both given", "the plan says what to do: leave the instructions out")
	case o.PlanFile != "" && (o.PlanModel != "" || o.PlanOnly):
		return bad("--execute-plan is for a plan that is there already", "leave --plan-model and --plan-only out")
	case o.PlanOnly && o.PlanModel == "" && o.Model == "":
		return bad("--plan-only needs a model to make the plan", "name it with --plan-model")
	case o.NoStdin && slices.Contains(o.Inputs, "-"):
		return bad("-i - and -n are both given",
			"-n leaves standard input out, -i - makes it an input: leave one of them out")
	}
	return nil
}

// Presets returns the configured presets.
func Presets(conf *config.Config) (list []preset.Preset) {
	for _, p := range conf.Presets() {
		list = append(list, preset.Preset{Name: p.Name, About: p.About, Text: p.Text})
	}
	return list
}

// readPlan reads the plan of --execute-plan.
func readPlan(name string) (*plan.Plan, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, &fault.Error{Kind: fault.NotFound, Op: "read plan", Subject: name, Err: fault.Reason(err),
			Hint: "--plan-only prints one"}
	}
	p, err := plan.Parse(string(text))
	if err != nil {
		var f *fault.Error
		if errors.As(err, &f) && f.Subject == "" {
			f.Subject = name
		}
		return nil, err
	}
	return p, nil
}
