package main

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"hako/internal/app"
	"hako/quota"
	"hako/run/fault"
)

func newQuota(s streams) *cobra.Command {
	var o common
	show := func(*cobra.Command, []string) error {
		c, err := o.load()
		if err != nil {
			return err
		}
		if err := app.UsageState(c).Reclaim(); err != nil {
			return err
		}
		used, err := app.UsageState(c).Show()
		if err != nil {
			return err
		}
		left := quota.New(c.Budget(quota.DefaultLimits())).Left()
		return o.output(s.out, map[string]any{"session": left, "used": used}, func() error {
			return printQuota(s.out, left, used, quota.New(quota.Limits{Weights: app.Weights(c)}))
		})
	}
	cmd, showCmd := command("quota", cobra.NoArgs, show), command("quota show", cobra.NoArgs, show)
	for _, c := range []*cobra.Command{cmd, showCmd} {
		o.registerSettings(c.Flags())
		o.registerJSON(c.Flags(), "")
	}
	cmd.AddCommand(showCmd, newQuotaReset(&o))
	return cmd
}

func newQuotaReset(o *common) *cobra.Command {
	return command("quota reset", cobra.MaximumNArgs(1), func(_ *cobra.Command, args []string) error {
		c, err := o.load()
		if err != nil {
			return err
		}
		state := app.UsageState(c)
		day := ""
		if len(args) > 0 {
			day = args[0]
			if used, err := state.Show(); err != nil {
				return err
			} else if _, ok := used[day]; !ok {
				return &fault.Error{Kind: fault.NotFound, Op: "reset usage", Subject: day, Why: "nothing is recorded for that day",
					Hint: "hako quota lists the days"}
			}
		}
		return state.Reset(day)
	})
}

func printQuota(w io.Writer, left quota.Left, used quota.Periods, scale *quota.Budget) error {
	fmt.Fprintf(w, "a session has: %s\n", left)
	if len(used) == 0 {
		fmt.Fprintln(w, "nothing has been used yet")
	}
	for _, day := range slices.Sorted(maps.Keys(used)) {
		for _, model := range slices.Sorted(maps.Keys(used[day])) {
			u := used[day][model]
			tokens := scale.Weigh(model, u)
			if model == "" {
				model = "(no model)"
			}
			fmt.Fprintf(w, "%s  %-20s %d calls, %d weighted tokens, %d scripts\n", day, model, u.Calls, tokens, u.Scripts)
		}
	}
	return nil
}
