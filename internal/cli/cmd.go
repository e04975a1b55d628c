package cli

import (
	"github.com/spf13/cobra"

	"hako/internal/fault"
)

// newCmd answers for llmcmd, which needs a model, as long as there is none.
func newCmd(streams) *cobra.Command {
	return &cobra.Command{
		Use: "cmd", Hidden: true, DisableFlagParsing: true,
		Short: "Have a model work over files (needs a model)",
		RunE: func(*cobra.Command, []string) error {
			return &fault.Error{Kind: fault.Unavailable, Op: "llmcmd", Why: "this version has no language models",
				Hint: "run the commands yourself: hako sh -i FILE -c '…'"}
		},
	}
}
