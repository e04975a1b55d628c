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

// rules are the built-in rules at this desk. If nobody chose them, the error of
// what they cannot answer says so.
func (c *Session) rules(fallback bool) (llm.Model, error) {
	desk := rules.Descriptors{Inputs: c.given}
	if c.depth > 0 { // as a command of a script it reads its standard input
		desk.Inputs = []rules.Input{{FD: 0}}
	}
	if fallback {
		desk.Why = "there is no key and no local model, and the built-in rules cannot do this work"
	}
	if c.toldMore() {
		return nil, &fault.Error{Kind: fault.Unavailable, Op: "cmd",
			Why:  "the built-in rules follow no prompts and presets of your own",
			Hint: "leave them out, or use a real model: export OPENAI_API_KEY=…, or start Ollama; hako doctor says what is missing"}
	}
	return desk.New(), nil
}

// toldMore tells whether the user has put words of their own before the
// instructions, which the rules would not heed.
func (c *Session) toldMore() bool {
	name := c.Preset
	if name == "" {
		name = config.LlmcmdPreset.Of(c.conf).V
	}
	_, err := preset.Find(name, nil)
	return c.Prompt != "" || c.conf.SystemPrompt("builtin") != "" || err != nil && name != preset.Choose
}

// inputsForRules lists the inputs of -i: files that scripts can name, and
// standard input.
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
