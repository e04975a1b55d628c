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

// environmentLine is what env list prints about an environment with --json.
type environmentLine struct {
	Name        string   `json:"name"`
	Image       string   `json:"image"`
	Description string   `json:"description"`
	Use         []string `json:"recommended_for"`
	Built       bool     `json:"built"`
	Default     bool     `json:"default"`
	Warm        int      `json:"warm"` // containers that wait for a task
}

// environmentList is what env list prints with --json.
type environmentList struct {
	Environments []environmentLine `json:"environments"`
	Tasks        []container.Info  `json:"tasks"`
	Engine       string            `json:"engine,omitempty"` // what is wrong with it; empty means nothing
}

func newEnvList(s streams) *cobra.Command {
	var o envFlags
	cmd := &cobra.Command{
		Use:     "list [--json]",
		Short:   "List the environments, and the tasks that have a container",
		Example: "  hako env list\n  hako env list --json",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return o.list(cmd.Context(), s) },
	}
	o.register(cmd.Flags())
	cmd.Flags().BoolVar(&o.json, "json", false, "print JSON")
	return cmd
}

func (o *envFlags) list(ctx context.Context, s streams) error {
	b, err := o.berth(s, nil)
	if err != nil {
		return err
	}
	defer b.Close()
	list, err := inventory(ctx, b)
	if err != nil {
		return err
	}
	if o.json {
		return encode(s.out, list)
	}
	return list.print(s)
}

// inventory looks at what there is. An engine that does not answer is a part of
// the answer.
func inventory(ctx context.Context, b *app.Containers) (environmentList, error) {
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
	cmd := &cobra.Command{
		Use:   "build [NAME…] [--base IMAGE] [--no-cache] [--json]",
		Short: "Build the images of environments; without a name, of all",
		Example: `  hako env build
  hako env build python node --json
  hako env build go --base registry.example.com/golang:1.26-bookworm`,
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), s, args) },
	}
	o.register(cmd.Flags())
	cmd.Flags().Var((*filled)(&o.base), "base", "build on `IMAGE` instead of the official one; for one environment")
	cmd.Flags().BoolVar(&o.anew, "no-cache", false, "do every step anew")
	cmd.Flags().BoolVar(&o.json, "json", false, "print {name, image, duration_ms} as JSON, a line for each image")
	return cmd
}

// imageBuilt is what env build prints about an image with --json.
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
	b, err := o.berth(s, nil)
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
	say, end := telling(s, o.json)
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
	cmd := &cobra.Command{
		Use:   "up --task ID [--environment NAME] [--repo URL] [--branch B] [--push]",
		Short: "Give a task a clean container, with a repository and its dependencies",
		Long: `up starts a container for a task, clones the repository into /workspace/project
and installs its dependencies. One that the task had before is removed. Tokens
come from GITHUB_PERSONAL_ACCESS_TOKEN and GITLAB_PERSONAL_ACCESS_TOKEN (with
GITHUB_API_URL and GITLAB_API_URL for servers of your own) and never get into the
container. Git in it can fetch from the repository with them; with --push it can
also push, after the dependencies are installed: so can whatever runs in it.`,
		Example: `  hako env up --task t1
  hako env up --task t2 --environment node --network none
  hako env up --task t3 --repo https://github.com/owner/project --branch feature --target main`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), s) },
	}
	o.ofTask(cmd)
	f := cmd.Flags()
	f.Var((*filled)(&o.environment), "environment", "the `NAME` of the environment; hako env list shows which there are")
	f.Var((*filled)(&o.network), "network",
		"let it out as `MODE` says: none, open or allow-list (default by the settings, open)")
	f.Var((*filled)(&o.repo), "repo", "clone the repository at `URL`")
	f.Var((*filled)(&o.branch), "branch", "check out `BRANCH` (default the repository's own)")
	f.Var((*filled)(&o.target), "target", "fetch `BRANCH` too, which the other is to be merged into")
	f.BoolVar(&o.full, "full", false, "clone the whole history")
	f.BoolVar(&o.push, "push", false, "let git in the container push to the repository with your token")
	f.BoolVar(&o.noInstall, "no-install", false, "leave dependencies alone")
	f.BoolVar(&o.json, "json", false, "print what is known about the container as JSON")
	return cmd
}

// networks are what --network may say.
var networks = map[string]container.Network{"none": container.None, "open": container.Open,
	"allow-list": container.AllowList}

func (o *envUpOptions) apply(_ *config.Config, c *container.Options) error {
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
	say, end := telling(s, o.json)
	defer end()
	b, err := o.berth(s, func(conf *config.Config, c *container.Options) error {
		c.Progress = say
		return o.apply(conf, c)
	})
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
	if o.json {
		return encode(s.out, info)
	}
	return printUp(s, info)
}

// environmentNamed returns the environment that a flag names; empty means the default. A plan
// with one that does not exist gets the default and a comment; a person who mistyped
// it would not want another one started.
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
	cmd := &cobra.Command{
		Use:     "info --task ID [--json]",
		Short:   "Say how the container of a task is, and what it uses",
		Example: "  hako env info --task t1\n  hako env info --task t1 --json",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return o.info(cmd.Context(), s) },
	}
	o.ofTask(cmd)
	cmd.Flags().BoolVar(&o.json, "json", false, "print JSON")
	return cmd
}

func (o *envFlags) info(ctx context.Context, s streams) error {
	b, err := o.berth(s, nil)
	if err != nil {
		return err
	}
	defer b.Close()
	x, err := b.Details(ctx, o.task)
	if err != nil {
		return err
	}
	if o.json {
		return encode(s.out, x)
	}
	return printInfo(s.out, x)
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
	cmd := &cobra.Command{
		Use:     "down --task ID [--json]",
		Short:   "Remove the container of a task with everything in it",
		Long:    "down asks what runs in the container to end, kills it after ten seconds, and\nremoves the container with its files.",
		Example: "  hako env down --task t1\n  hako env down --task t1 --json",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return o.down(cmd.Context(), s) },
	}
	o.ofTask(cmd)
	cmd.Flags().BoolVar(&o.json, "json", false, "print {task_uuid, status} as JSON")
	return cmd
}

// taskDown is what env down prints with --json, spelled as in env list.
type taskDown struct {
	TaskUUID string          `json:"task_uuid"`
	Status   container.State `json:"status"`
}

func (o *envFlags) down(ctx context.Context, s streams) error {
	b, err := o.berth(s, nil)
	if err != nil {
		return err
	}
	defer b.Close()
	_, end := telling(s, o.json)
	defer end()
	if err := b.Cleanup(ctx, o.task); err != nil {
		return notThere(err)
	}
	end()
	if o.json {
		return encode(s.out, taskDown{o.task, container.Deleted})
	}
	_, err = fmt.Fprintln(s.out, "removed: "+o.task)
	return err
}

// notThere gives a task that has nothing to be removed another hint.
func notThere(err error) error {
	var f *fault.Error
	if errors.As(err, &f) && f.Kind == fault.NotFound {
		f.Hint, f.FlagHint = "hako env list shows which tasks there are", ""
	}
	return err
}

func newEnvPrune(s streams) *cobra.Command {
	var o envFlags
	cmd := &cobra.Command{
		Use:   "prune [--json]",
		Short: "Remove what is left of processes that have ended, and what nobody uses",
		Long: `prune removes containers whose owner was killed, and those that nobody used
for command_executor.cleanup.stale_threshold_hours. One in which a command or job
runs is kept, and so is what belongs to a process that lives, to another user or
to another machine.`,
		Example: "  hako env prune\n  hako env prune --json",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return o.prune(cmd.Context(), s) },
	}
	o.register(cmd.Flags())
	cmd.Flags().BoolVar(&o.json, "json", false, "print {removed} as JSON")
	return cmd
}

func (o *envFlags) prune(ctx context.Context, s streams) error {
	b, err := o.berth(s, nil)
	if err != nil {
		return err
	}
	defer b.Close()
	n, err := b.CleanupStale(ctx)
	if err != nil {
		return err
	}
	if o.json {
		return encode(s.out, map[string]int{"removed": n})
	}
	_, err = fmt.Fprintf(s.out, "removed: %d\n", n)
	return err
}
