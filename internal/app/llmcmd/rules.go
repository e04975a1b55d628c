package llmcmd

import (
	"slices"

	"hako/internal/app/llmcmd/descriptors"
	"hako/internal/app/llmcmd/preset"
	"hako/internal/config"
	"hako/llm"
	"hako/llm/rules"
	"hako/run/fault"
)

// rules returns the built-in rules as a model. fallback adds to its errors that the user did not choose them.
func (c *Session) rules(fallback bool) (llm.Model, error) {
	d := rules.Descriptors{Inputs: c.given}
	if c.depth > 0 { // a nested session reads its standard input
		d.Inputs = []rules.Input{{FD: 0}}
	}
	if fallback {
		d.Why = "there is no key and no local model, and the built-in rules cannot do this work"
	}
	if c.toldMore() {
		return nil, &fault.Error{Kind: fault.Unavailable, Op: "cmd",
			Why:  "the built-in rules follow no prompts and presets of your own",
			Hint: "leave them out, or use a real model: export OPENAI_API_KEY=…, or start Ollama; hako doctor says what is missing"}
	}
	return d.New(), nil
}

// toldMore reports whether the user set a prompt or preset, which the rules would ignore.
func (c *Session) toldMore() bool {
	name := c.Preset
	if name == "" {
		name = config.LlmcmdPreset.Of(c.conf).V
	}
	_, err := preset.Find(name, nil)
	return c.Prompt != "" || c.conf.SystemPrompt("builtin") != "" || err != nil && name != preset.Choose
}

// inputsForRules lists the inputs of -i: files, and standard input.
func (c *Session) inputsForRules(inputs []descriptors.Input) (list []rules.Input) {
	numbers := slices.DeleteFunc(c.table.Readable(), func(n int) bool { return n == 0 })
	for i, in := range inputs {
		if in.Size < 0 {
			list = append(list, rules.Input{FD: numbers[i]})
		} else {
			list = append(list, rules.Input{Name: in.Name, Bytes: in.Size})
		}
	}
	return list
}
