package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hako/container"
	"hako/internal/app"
	"hako/internal/config"
	"hako/internal/text"
	"hako/run/fault"
)

// environmentLine is an environment as env list prints it with --json.
type environmentLine struct {
	Name        string   `json:"name"`
	Image       string   `json:"image"`
	Description string   `json:"description"`
	Use         []string `json:"recommended_for"`
	Built       bool     `json:"built"`
	Default     bool     `json:"default"`
	Warm        int      `json:"warm"` // containers in the pool
}

// environmentList is what env list prints with --json.
type environmentList struct {
	Environments []environmentLine `json:"environments"`
	Tasks        []container.Info  `json:"tasks"`
	Engine       string            `json:"engine,omitempty"` // its error; empty means none
}

func newEnvList(s streams) *cobra.Command {
	var o envFlags
	cmd := command("env list", cobra.NoArgs, o.run(s, func(ctx context.Context, b *app.Containers, _ []string) error {
		list, err := listEnvironments(ctx, b)
		if err != nil {
			return err
		}
		return o.output(s.out, list, func() error { return list.print(s) })
	}))
	o.register(cmd.Flags())
	o.registerJSON(cmd.Flags(), "")
	return cmd
}

// listEnvironments lists environments and tasks. The error of an engine is part of the list.
func listEnvironments(ctx context.Context, b *app.Containers) (environmentList, error) {
	var list environmentList
	var err error
	if list.Tasks, err = b.Tasks(ctx); err != nil {
		return list, err
	}
	warm := b.WarmCount()
	for _, l := range b.EnvironmentList() {
		line := environmentLine{Name: l.Name, Image: l.Image, Description: l.Description, Use: l.Use,
			Default: l.Name == b.DefaultEnvironment(), Warm: warm[l.Name]}
		if list.Engine == "" {
			if line.Built, err = b.HasImage(ctx, l); err != nil {
				list.Engine = err.Error()
			}
		}
		list.Environments = append(list.Environments, line)
	}
	return list, nil
}

func (l environmentList) print(s streams) error {
	rows := [][]string{{"ENVIRONMENT", "IMAGE", "STATE", "FOR"}}
	for _, e := range l.Environments {
		name, state := e.Name, "ready"
		if e.Default {
			name += " (default)"
		}
		switch {
		case l.Engine != "":
			state = "unknown"
		case !e.Built:
			state = "not built: hako env build " + e.Name
		case e.Warm > 0:
			state = fmt.Sprintf("ready, %d warm", e.Warm)
		}
		rows = append(rows, []string{name, e.Image, state, strings.Join(e.Use, ", ")})
	}
	if err := table(s.out, rows); err != nil {
		return err
	}
	if l.Engine != "" {
		fmt.Fprintln(s.err, "hako: "+l.Engine+
			"\nhako: hint: start Docker, join its group, or set DOCKER_HOST; hako doctor says more")
	}
	if len(l.Tasks) == 0 {
		return nil
	}
	fmt.Fprintln(s.out)
	rows = [][]string{{"TASK", "ENVIRONMENT", "STATE", "NETWORK", "SINCE"}}
	for _, t := range l.Tasks {
		rows = append(rows, []string{t.TaskUUID, t.Environment, string(t.Status), string(t.Network),
			t.Created.Local().Format("2006-01-02 15:04")})
	}
	return table(s.out, rows)
}

// envBuildOptions are the flags of hako env build.
type envBuildOptions struct {
	envFlags
	base string
	anew bool
}

func newEnvBuild(s streams) *cobra.Command {
	var o envBuildOptions
	cmd := command("env build", nil, func(cmd *cobra.Command, args []string) error {
		return o.run(cmd.Context(), s, args)
	})
	o.register(cmd.Flags())
	cmd.Flags().Var((*nonEmpty)(&o.base), "base", "build on `IMAGE` instead of the official one; for one environment")
	cmd.Flags().BoolVar(&o.anew, "no-cache", false, "do not use the build cache")
	cmd.Flags().BoolVar(&o.json, "json", false, "print {name, image, duration_ms} as JSON, a line for each image")
	return cmd
}

// imageBuilt is an image as env build prints it with --json.
type imageBuilt struct {
	Name     string `json:"name"`
	Image    string `json:"image"`
	Duration int64  `json:"duration_ms"`
}

func (o *envBuildOptions) run(ctx context.Context, s streams, names []string) error {
	if o.base != "" && len(names) != 1 {
		return &fault.Error{Kind: fault.Invalid, Op: "build environments", Subject: "--base " + o.base,
			Why: "each environment has a base of its own", Hint: "name one environment"}
	}
	b, err := o.openContainers(s)
	if err != nil {
		return err
	}
	defer b.Close()
	if len(names) == 0 {
		for _, l := range b.EnvironmentList() {
			if l.Dockerfile != "" {
				names = append(names, l.Name)
			}
		}
	}
	for _, name := range names {
		if err := o.build(ctx, s, b, name); err != nil {
			return err
		}
	}
	return nil
}

func (o *envBuildOptions) build(ctx context.Context, s streams, b *app.Containers, name string) error {
	say, end := showProgress(s, o.json)
	defer end()
	began := time.Now()
	say("building " + name)
	err := b.Build(ctx, name, o.base, o.anew, func(line string) {
		if isTerminal(s.err) || strings.HasPrefix(line, "Step ") {
			say(name + ": " + line)
		}
	})
	if err != nil {
		return err
	}
	end()
	image, took := b.AvailableEnvironments()[name], time.Since(began)
	if o.json {
		return encode(s.out, imageBuilt{name, image, took.Milliseconds()})
	}
	_, err = fmt.Fprintf(s.out, "built %s as %s in %.0f s\n", name, image, took.Seconds())
	return err
}

// envUpOptions are the flags of hako env up.
type envUpOptions struct {
	envFlags
	environment, network string
	repo, branch, target string
	full, noInstall      bool
	push                 bool
}

func newEnvUp(s streams) *cobra.Command {
	var o envUpOptions
	cmd := command("env up", cobra.NoArgs, func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), s) })
	o.ofTask(cmd)
	f := cmd.Flags()
	f.Var((*nonEmpty)(&o.environment), "environment", "the `NAME` of the environment; hako env list shows which there are")
	f.Var((*nonEmpty)(&o.network), "network",
		"let it out as `MODE` says: none, open or allow-list (default by the settings, open)")
	f.Var((*nonEmpty)(&o.repo), "repo", "clone the repository at `URL`")
	f.Var((*nonEmpty)(&o.branch), "branch", "check out `BRANCH` (default the repository's own)")
	f.Var((*nonEmpty)(&o.target), "target", "also fetch the target `BRANCH` of a merge")
	f.BoolVar(&o.full, "full", false, "clone the whole history")
	f.BoolVar(&o.push, "push", false, "let git in the container push to the repository with your token")
	f.BoolVar(&o.noInstall, "no-install", false, "do not install dependencies")
	o.registerJSON(f, "what is known about the container")
	return cmd
}

// networks are the values of --network.
var networks = map[string]container.Network{"none": container.None, "open": container.Open,
	"allow-list": container.AllowList}

func (o *envUpOptions) apply(c *container.Options) error {
	if o.network != "" {
		n, ok := networks[o.network]
		if !ok {
			return &fault.Error{Kind: fault.Invalid, Op: "start environment", Subject: "--network " + o.network,
				Why: "there is no such network", Hint: "use one of " + strings.Join(slices.Sorted(maps.Keys(networks)), ", ")}
		}
		c.Network = n
	}
	c.Full = c.Full || o.full
	c.Install = c.Install && !o.noInstall
	c.Push = o.push
	return nil
}

func (o *envUpOptions) run(ctx context.Context, s streams) error {
	if o.repo == "" && (o.branch != "" || o.target != "") {
		return &fault.Error{Kind: fault.Invalid, Op: "start environment", Why: "there is a branch, but no repository",
			Hint: "add --repo URL"}
	}
	if o.push && o.repo == "" {
		return &fault.Error{Kind: fault.Invalid, Op: "start environment", Subject: "--push",
			Why: "there is no repository to push to", Hint: "add --repo URL"}
	}
	say, end := showProgress(s, o.json)
	defer end()
	o.change = func(_ *config.Config, c *container.Options) error {
		c.Progress = say
		return o.apply(c)
	}
	b, err := o.openContainers(s)
	if err != nil {
		return err
	}
	defer b.Close()
	environment, err := environmentNamed(b, "start environment", o.environment)
	if err != nil {
		return err
	}
	info, err := b.Prepare(ctx, container.Task{ID: o.task, Repository: o.repo, Branch: o.branch, Target: o.target},
		environment)
	if err != nil {
		return err
	}
	end()
	return o.output(s.out, info, func() error { return printUp(s, info) })
}

// environmentNamed returns the environment of a flag; empty means the default. A plan with an unknown one gets the
// default; a person who mistyped it would not want that.
func environmentNamed(b *app.Containers, op, name string) (string, error) {
	if name == "" {
		return b.DefaultEnvironment(), nil
	}
	var names []string
	for _, l := range b.EnvironmentList() {
		names = append(names, l.Name)
	}
	if slices.Contains(names, name) {
		return name, nil
	}
	e := &fault.Error{Kind: fault.NotFound, Op: op, Subject: visible(name),
		Why:  "there is no such environment; there are " + strings.Join(names, ", "),
		Hint: "hako env list shows what each is for"}
	if near, ok := fault.Nearest(name, names); ok {
		e.Hint = "did you mean " + near + "?"
	}
	return "", e
}

func printUp(s streams, info container.Info) error {
	for _, w := range info.Warnings {
		fmt.Fprintln(s.err, "hako: warning: "+strings.ReplaceAll(text.ForTerminal(w), "\n", "\n  "))
	}
	line := "ready: " + info.TaskUUID + " in " + info.Environment + ", network " + string(info.Network)
	if info.Commit != "" {
		line += ", " + visible(info.Branch) + " at " + info.Commit[:min(12, len(info.Commit))]
	}
	if info.Push {
		line += ", may push"
	}
	_, err := fmt.Fprintf(s.out, "%s\nhako env exec --task %s -- 'ls -la'\n", line, info.TaskUUID)
	return err
}

func newEnvInfo(s streams) *cobra.Command {
	var o envFlags
	cmd := command("env info", cobra.NoArgs, o.run(s, func(ctx context.Context, b *app.Containers, _ []string) error {
		x, err := b.Details(ctx, o.task)
		if err != nil {
			return err
		}
		return o.output(s.out, x, func() error { return printInfo(s.out, x) })
	}))
	o.ofTask(cmd)
	o.registerJSON(cmd.Flags(), "")
	return cmd
}

func printInfo(w io.Writer, x container.Details) error {
	rows := [][]string{
		{"task:", x.TaskUUID}, {"state:", string(x.Status)}, {"environment:", x.Environment + " (" + x.Image + ")"},
		{"network:", string(x.Network)},
		{"container:", x.Name + " " + x.ContainerID[:min(12, len(x.ContainerID))]}, {"workspace:", x.Workspace},
		{"since:", x.Created.Local().Format("2006-01-02 15:04:05")},
	}
	if x.Repository != "" {
		rows = append(rows, []string{"repository:", visible(x.Repository + " " + x.Branch + " " + x.Commit)})
		rows = append(rows, []string{"git:", map[bool]string{false: "may fetch", true: "may fetch and push"}[x.Push]})
	}
	if u := x.Usage; u != nil {
		rows = append(rows,
			[]string{"processor:", fmt.Sprintf("%.1f s used, at most %v at once", u.CPU.Seconds(), x.Limit.CPUs)},
			[]string{"memory:", fmt.Sprintf("%d MB of %d MB", u.Memory>>20, u.MemoryLimit>>20)},
			[]string{"disk:", fmt.Sprintf("%d MB of %d MB", u.Disk>>20, x.Limit.Disk>>20)},
			[]string{"processes:", fmt.Sprintf("%d of %d, %d commands", u.Processes, x.Limit.Pids, u.Running)})
	}
	for _, warning := range x.Warnings {
		rows = append(rows, []string{"warning:", strings.ReplaceAll(warning, "\n", "\n              ")})
	}
	return table(w, rows)
}

func newEnvDown(s streams) *cobra.Command {
	var o envFlags
	cmd := command("env down", cobra.NoArgs, o.run(s, func(ctx context.Context, b *app.Containers, _ []string) error {
		_, end := showProgress(s, o.json)
		defer end()
		if err := b.Cleanup(ctx, o.task); err != nil {
			return noContainer(err)
		}
		end()
		return o.output(s.out, taskDown{o.task, container.Deleted}, func() error {
			_, err := fmt.Fprintln(s.out, "removed: "+o.task)
			return err
		})
	}))
	o.ofTask(cmd)
	o.registerJSON(cmd.Flags(), "{task_uuid, status}")
	return cmd
}

// taskDown is what env down prints with --json, with the fields of env list.
type taskDown struct {
	TaskUUID string          `json:"task_uuid"`
	Status   container.State `json:"status"`
}

// noContainer replaces the hint of the error that a task has no container.
func noContainer(err error) error {
	var f *fault.Error
	if errors.As(err, &f) && f.Kind == fault.NotFound {
		f.Hint, f.FlagHint = "hako env list shows which tasks there are", ""
	}
	return err
}

func newEnvPrune(s streams) *cobra.Command {
	var o envFlags
	cmd := command("env prune", cobra.NoArgs, o.run(s, func(ctx context.Context, b *app.Containers, _ []string) error {
		n, err := b.CleanupStale(ctx)
		if err != nil {
			return err
		}
		return o.output(s.out, map[string]int{"removed": n}, func() error {
			_, err := fmt.Fprintf(s.out, "removed: %d\n", n)
			return err
		})
	}))
	o.register(cmd.Flags())
	o.registerJSON(cmd.Flags(), "{removed}")
	return cmd
}
