package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hako/agent/tool"
	"hako/internal/app"
	"hako/internal/app/access"
	"hako/internal/app/ask"
	"hako/internal/app/coder/dispatch"
	"hako/internal/app/coder/queue"
	"hako/internal/app/llmcmd"
	"hako/internal/app/llmcmd/preset"
	"hako/internal/app/records"
	"hako/internal/app/secretary/store"
	"hako/internal/config"
	"hako/quota"
	builtins "hako/shell/command"
	"hako/shell/spec"
)

// completeTime is the time limit of a completion.
const completeTime = 700 * time.Millisecond

// candidates returns completions. It creates no files, and returns nothing on errors.
type candidates func(ctx context.Context, conf *config.Config) []string

// flagValues completes the value of a flag, by its name in every command.
var flagValues = map[string]candidates{
	"model":           modelNames,
	"plan-model":      modelNames,
	"exec-model":      modelNames,
	"environment":     environmentNames,
	"profile":         fixed("virtual", "host", "container", "outside"),
	"session":         sessionNames,
	"continue":        threadNames,
	"preset":          presetNames,
	"available-tools": fixed(ask.ToolNames...),
	"force-tool":      fixed(ask.ToolNames...),
	"priority":        fixed("low", "normal", "high"),
	"status":          fixed(store.StatusOpen, store.StatusDone),
	"network":         fixed("none", "open", "allow-list"),
	"role":            fixed(string(access.Reader), string(access.Operator), string(access.Client)),
	"stream":          fixed("stdout", "stderr"),
	"freshness":       fixed("day", "week", "month", "year"),
	"task":            containerNames,
	"limit":           limitNames,
	"what":            fixed(records.Kinds()...),
}

// wordValues completes the arguments of a command, by its path.
var wordValues = map[string]candidates{
	"agent status": taskNames, "agent pause": taskNames, "agent resume": taskNames, "agent stop": taskNames,
	"env build": environmentNames,
	"todo get":  todoNumbers, "todo update": todoNumbers, "todo complete": todoNumbers, "todo delete": todoNumbers,
	"serve token remove": tokenNames,
	"doctor":             func(context.Context, *config.Config) []string { return allParts() },
}

// commandArgs completes the command line that a command judges or runs, by its path.
var commandArgs = map[string]func() []string{
	"policy check": func() []string { return slices.Sorted(maps.Keys(builtins.All())) },
	"exec":         tool.Names,
}

// directories are the flags whose value is a directory.
var directories = []string{"root", "rw", "read", "write", "dir"}

// complete adds completions to a tree of commands.
func complete(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) { completeFlag(cmd, f) })
	cmd.PersistentFlags().VisitAll(func(f *pflag.Flag) { completeFlag(cmd, f) })
	if find, ok := wordValues[pathOf(cmd)]; ok {
		cmd.ValidArgsFunction = completer(find)
	}
	if names, ok := commandArgs[pathOf(cmd)]; ok {
		cmd.ValidArgsFunction = completeCommandLine(names)
	}
	for _, sub := range cmd.Commands() {
		complete(sub)
	}
}

func completeFlag(cmd *cobra.Command, f *pflag.Flag) {
	find, known := flagValues[f.Name]
	switch {
	case f.Value.Type() == "int": // a number that has the name of another flag
	case known:
		_ = cmd.RegisterFlagCompletionFunc(f.Name, completer(find)) // fails only if there is one
	case slices.Contains(directories, f.Name):
		_ = cmd.MarkFlagDirname(f.Name)
	}
}

// completer makes a completion function for cobra. No space follows a word that ends with : or =.
func completer(find candidates) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		conf, err := settingsOf(cmd)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(context.Background(), completeTime)
		defer cancel()
		list := slices.DeleteFunc(find(ctx, conf), func(s string) bool { return !strings.HasPrefix(s, typed) })
		directive := cobra.ShellCompDirectiveNoFileComp
		if slices.ContainsFunc(list, wantsMore) {
			directive |= cobra.ShellCompDirectiveNoSpace
		}
		return list, directive
	}
}

// completeCommandLine completes the name of a command, or after it a long option, from its spec.
func completeCommandLine(names func() []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, typed string) (list []string, _ cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		name, _, hasOptions := strings.Cut(typed, " ")
		if s := spec.Lookup(name); hasOptions && s != nil {
			before := typed[:strings.LastIndexByte(typed, ' ')+1]
			for _, option := range s.Long() {
				list = append(list, before+option)
			}
		} else if !hasOptions {
			list = names()
		}
		list = slices.DeleteFunc(list, func(s string) bool { return !strings.HasPrefix(s, typed) })
		return list, cobra.ShellCompDirectiveNoFileComp
	}
}

func wantsMore(entry string) bool {
	word, _, _ := strings.Cut(entry, "\t")
	return strings.HasSuffix(word, ":") || strings.HasSuffix(word, "=")
}

// settingsOf loads the settings of the command that is being typed.
func settingsOf(cmd *cobra.Command) (*config.Config, error) {
	var o common
	if f := cmd.Flag("config"); f != nil {
		o.File = f.Value.String()
	}
	if f := cmd.Flag("no-config"); f != nil {
		o.NoFile = f.Value.String() == "true"
	}
	return o.load()
}

// fixed always returns the same words.
func fixed(list ...string) candidates {
	return func(context.Context, *config.Config) []string { return slices.Clone(list) }
}

// described is a completion with its description.
func described(word, about string) string { return word + "\t" + visible(about) }

func modelNames(_ context.Context, conf *config.Config) (list []string) {
	for _, p := range app.Providers {
		word := p.Prefix + ":"
		if p.Prefix == "builtin" {
			word = p.Prefix
		}
		list = append(list, described(word, p.Help))
	}
	if name := config.ModelName.Of(conf).V; name != "" {
		list = append(list, described(name, "as in the settings"))
	}
	return list
}

func environmentNames(_ context.Context, conf *config.Config) []string {
	images, err := app.EnvironmentImages(conf)
	if err != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(images))
}

func presetNames(_ context.Context, conf *config.Config) []string {
	list := []string{described(preset.Choose, "picks one by what the input is")}
	for _, p := range preset.All(llmcmd.Presets(conf)) {
		list = append(list, described(p.Name, p.About))
	}
	return list
}

func limitNames(context.Context, *config.Config) (list []string) {
	for _, name := range quota.ScriptLimitNames {
		list = append(list, name+"=")
	}
	return list
}

func threadNames(_ context.Context, conf *config.Config) (list []string) {
	all, err := ask.Threads(conf).List()
	if err != nil {
		return nil
	}
	for _, t := range all {
		list = append(list, t.Name)
	}
	return list
}

// openStore opens the secretary's database if there is one.
func openStore(conf *config.Config) (*store.Store, bool) {
	path := config.SecretaryDatabase.Of(conf).V
	if !exists(path) {
		return nil, false
	}
	s, err := store.Open(path)
	return s, err == nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func sessionNames(_ context.Context, conf *config.Config) (list []string) {
	s, ok := openStore(conf)
	if !ok {
		return nil
	}
	defer s.Close()
	all, _ := s.Sessions(50)
	for _, one := range all {
		if one.Name != "" {
			list = append(list, described(one.Name, one.First))
		}
	}
	return list
}

func todoNumbers(_ context.Context, conf *config.Config) (list []string) {
	s, ok := openStore(conf)
	if !ok {
		return nil
	}
	defer s.Close()
	all, _ := s.List(store.Filter{})
	for _, t := range all {
		list = append(list, described(strconv.FormatInt(t.ID, 10), t.Title))
	}
	return list
}

func tokenNames(_ context.Context, conf *config.Config) (list []string) {
	all, _ := app.TokenStore(conf).List()
	for _, t := range all {
		list = append(list, described(t.Name, string(t.Role)))
	}
	return list
}

func taskNames(ctx context.Context, conf *config.Config) (list []string) {
	o := app.QueueOptions(conf)
	if o.URL == "" && !exists(o.Dir) {
		return nil
	}
	o.RetryFor = completeTime
	q, err := queue.Open(ctx, o)
	if err != nil {
		return nil
	}
	defer q.Close()
	all, _ := q.List(ctx)
	for _, t := range all {
		l := dispatch.StatusOf(t)
		list = append(list, described(visible(l.Short()), fmt.Sprintf("%s: %s", l.State, shortLine(l.Job.Title, 40))))
	}
	return list
}

// containerNames are the tasks that have a container.
func containerNames(ctx context.Context, conf *config.Config) (list []string) {
	if !exists(conf.StateFile("env")) {
		return nil
	}
	b, err := app.InspectContainers(conf)
	if err != nil {
		return nil
	}
	defer b.Close()
	all, _ := b.Tasks(ctx)
	for _, t := range all {
		list = append(list, described(visible(t.TaskUUID), t.Environment))
	}
	return list
}
