package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"hako/internal/app"
	"hako/internal/app/coder"
	"hako/internal/app/coder/dispatch"
)

func (o *agentFlags) status(s streams) *cobra.Command {
	return command("agent status", cobra.MaximumNArgs(1), func(cmd *cobra.Command, args []string) error {
		l, err := o.queue(cmd.Context(), s)
		if err != nil {
			return err
		}
		defer l.Close()
		if len(args) == 1 {
			return o.showTask(cmd.Context(), s, l, args[0])
		}
		return o.listTasks(cmd.Context(), s, l)
	})
}

func (o *agentFlags) listTasks(ctx context.Context, s streams, l *app.TaskQueue) error {
	lines, err := dispatch.Statuses(ctx, l.Queue)
	if err != nil {
		return err
	}
	if o.json {
		return encode(s.out, map[string][]dispatch.TaskStatus{"tasks": lines})
	}
	if len(lines) == 0 {
		fmt.Fprintln(s.err, "no tasks; hako agent once picks up what has the label")
		return nil
	}
	rows := [][]string{{"ISSUE", "TITLE", "STATE", "PHASE", "TOKENS", "CHANGED", "TASK", "WORKER"}}
	for _, t := range lines {
		phase := string(t.Phase)
		if t.State.Final() || t.State == coder.Pending {
			phase = ""
		}
		rows = append(rows, []string{visible(t.Short()), shortLine(visible(t.Job.Title), 30), shownState(t), phase,
			fmt.Sprint(t.Tokens), changedAt(t), visible(t.Job.ID), l.Worker(t)})
	}
	return table(s.out, rows)
}

func (o *agentFlags) showTask(ctx context.Context, s streams, l *app.TaskQueue, name string) error {
	t, err := dispatch.Find(ctx, l.Queue, name)
	if err != nil {
		return err
	}
	if o.json {
		return encode(s.out, t)
	}
	rows := [][]string{}
	for _, r := range [][]string{
		{"issue:", t.Thread + " " + t.Job.URL}, {"title:", t.Job.Title}, {"task:", t.Job.ID}, {"state:", string(t.State)},
		{"phase:", string(t.Phase)}, {"worker:", l.Worker(t)}, {"order:", t.Order},
		{"environment:", t.Environment}, {"goal:", t.Objective}, {"tokens:", fmt.Sprint(t.Tokens)}, {"why:", t.Why},
		{"hint:", t.Hint}, {"summary:", t.Summary}, {"commit:", t.Commit}, {"proposed:", t.Proposal},
	} {
		if r[1] = shortLine(r[1], 400); r[1] != "" {
			rows = append(rows, []string{r[0], visible(r[1])})
		}
	}
	return table(s.out, rows)
}

// shownState is the state, with an order that was not carried out yet.
func shownState(t dispatch.TaskStatus) string {
	if t.Order != "" && t.State == coder.Pending {
		return string(t.State) + ", to " + t.Order
	}
	return string(t.State)
}

func changedAt(t dispatch.TaskStatus) string {
	if t.Changed.IsZero() {
		return t.Job.Created.Local().Format("2006-01-02 15:04")
	}
	return t.Changed.Local().Format("2006-01-02 15:04")
}
