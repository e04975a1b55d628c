package cli

import (
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"hako/internal/fault"
)

// helpOf returns what the tool cli_help answers: the help of hako itself, or of
// one of its commands.
func helpOf(root *cobra.Command) func(topic string) (string, error) {
	var mu sync.Mutex // looking something up changes the tree of commands
	return func(topic string) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		words := strings.Fields(strings.TrimPrefix(topic, "hako"))
		cmd, rest, err := root.Find(words)
		if err != nil || len(rest) > 0 {
			var names []string
			for _, c := range root.Commands() {
				names = append(names, c.Name())
			}
			return "", &fault.Error{Kind: fault.NotFound, Op: "find help", Subject: topic, Why: "there is no such command", Hint: "the commands are " + strings.Join(names, ", ")}
		}
		text := cmd.Short
		if cmd.Long != "" {
			text = cmd.Long
		}
		return text + "\n\n" + cmd.UsageString(), nil
	}
}
