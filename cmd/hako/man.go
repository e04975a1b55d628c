package main

import (
	"github.com/spf13/cobra"

	"hako/packaging/man"
)

// newMan returns the hidden command by which packagers write the manual pages.
func newMan(s streams) *cobra.Command {
	return &cobra.Command{
		Use:    "man DIRECTORY",
		Short:  "Write the manual pages",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE:   func(_ *cobra.Command, args []string) error { return man.Write(s.tree(), args[0]) },
	}
}
