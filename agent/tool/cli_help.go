package tool

import (
	"context"
	_ "embed"
)

//go:embed cli_help.md
var cliHelpText string

// cliHelpInput is one call of cli_help.
type cliHelpInput struct {
	Topic string `json:"topic,omitempty" jsonschema:"a subcommand; none: the overview"`
}

// CLIHelp returns the tool that explains the command line. help returns the overview for an empty topic, and for an
// unknown one an error that names known ones.
func CLIHelp(help func(topic string) (string, error)) Tool {
	return New("cli_help", cliHelpText, func(_ context.Context, in cliHelpInput) (string, error) { return help(in.Topic) })
}
