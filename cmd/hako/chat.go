package main

import (
	"github.com/spf13/cobra"
)

// newChat is run without tools: one request, one answer.
func newChat(s streams) *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use:   "chat [--model M] [--system FILE] PROMPT",
		Short: "Ask a model once, without tools",
		Long: `chat gives one prompt, from the arguments or standard input, to a model and
prints the answer. Files given with --file are named to the model, not read:
use run to have them read.`,
		Example: `  hako chat "explain tar's -z in one sentence"
  hako chat --model ollama:qwen3 --system style.md "名前を三つ考えて"
  cat mail.txt | hako chat --stats
  hako chat --continue=ideas "and shorter?"`,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.NoTools = true
			return o.run(cmd, s, args)
		},
	}
	f := cmd.Flags()
	o.common.register(f)
	o.modelFlags.register(f)
	f.StringArrayVar(&o.Files, "file", nil, "tell the model of `FILE`; it is not read")
	f.StringVar(&o.System, "system", "", "add the instructions in `FILE`")
	f.StringVar(&o.Thread, "continue", "", "go on with the conversation `NAME` and keep it (default NAME: last)")
	f.Lookup("continue").NoOptDefVal = "last"
	return cmd
}
