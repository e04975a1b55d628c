package cli

import (
	"fmt"

	"github.com/spf13/cobra"
)

func newConfig(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Show the settings and where each was set",
		Example: `  hako config show
  hako config check --config hako.yaml`,
		RunE: func(cmd *cobra.Command, args []string) error { return needSubcommand(cmd, args) },
	}
	cmd.AddCommand(newConfigShow(s), newConfigCheck(s))
	return cmd
}

func newConfigShow(s streams) *cobra.Command {
	var o common
	var asJSON bool
	cmd := &cobra.Command{
		Use: "show", Short: "Print every setting with its value and origin", Args: cobra.NoArgs,
		Example: "  hako config show --json",
		RunE: func(*cobra.Command, []string) error {
			c, err := o.load()
			if err != nil {
				return err
			}
			if asJSON {
				return encode(s.out, c.Show())
			}
			for _, v := range c.Show() {
				fmt.Fprintf(s.out, "%-48s %-24s %s\n", v.Name, v.Value, v.From)
			}
			return nil
		},
	}
	o.register(cmd.Flags())
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func newConfigCheck(s streams) *cobra.Command {
	var o common
	cmd := &cobra.Command{
		Use: "check", Short: "Check the settings, the rules and the examples in them", Args: cobra.NoArgs,
		Example: "  hako config check --config hako.yaml",
		RunE: func(*cobra.Command, []string) error {
			c, err := o.load()
			if err != nil {
				return err
			}
			p, err := loadPolicy(c, "host")
			if err != nil {
				return err
			}
			if err := p.Test(); err != nil {
				return err
			}
			file := c.File
			if file == "" {
				file = "no settings file"
			}
			fmt.Fprintf(s.out, "%s: fine\n", file)
			return nil
		},
	}
	o.register(cmd.Flags())
	return cmd
}
