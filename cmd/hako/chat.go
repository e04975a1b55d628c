package main

import (
	"github.com/spf13/cobra"
)

// newChat is run without tools: one request, one answer.
func newChat(s streams) *cobra.Command {
	var o runOptions
	cmd := command("chat", nil, func(cmd *cobra.Command, args []string) error {
		o.NoTools = true
		return o.run(cmd, s, args)
	})
	f := cmd.Flags()
	o.common.register(f)
	o.modelFlags.register(f)
	f.StringArrayVar(&o.Files, "file", nil, "tell the model of `FILE`; it is not read")
	f.StringVar(&o.System, "system", "", "add the instructions in `FILE`")
	f.StringVar(&o.Thread, "continue", "", "go on with the conversation `NAME` and keep it (default NAME: last)")
	f.Lookup("continue").NoOptDefVal = "last"
	return cmd
}
