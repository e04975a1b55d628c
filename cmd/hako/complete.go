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

	"hako/audit"
	"hako/internal/app"
	"hako/internal/app/access"
	"hako/internal/app/ask"
	"hako/internal/app/coder/dispatch"
	"hako/internal/app/coder/queue"
	"hako/internal/app/llmcmd"
	"hako/internal/app/llmcmd/preset"
	"hako/internal/app/secretary/store"
	"hako/internal/config"
	"hako/quota"
)

// completeTime is how long somebody who pressed the key may be kept waiting.
const completeTime = 700 * time.Millisecond

// A look finds the words that may stand where one is being typed. It makes
// nothing that was not there, and says nothing if it cannot look.
type look func(ctx context.Context, conf *config.Config) []string

// flagValues is what may follow a flag, by its name in every command.
var flagValues = map[string]look{
	"model":           modelNames,
	"plan-model":      modelNames,
	"exec-model":      modelNames,
	"environment":     environmentNames,
	"profile":         always("virtual", "host", "container", "outside"),
	"session":         sessionNames,
	"continue":        threadNames,
	"preset":          presetNames,
	"available-tools": always(ask.ToolNames...),
	"force-tool":      always(ask.ToolNames...),
	"priority":        always("low", "normal", "high"),
	"status":          always(store.StatusOpen, store.StatusDone),
	"network":         always("none", "open", "allow-list"),
	"role":            always(string(access.Reader), string(access.Operator), string(access.Client)),
	"stream":          always("stdout", "stderr"),
	"freshness":       always("day", "week", "month", "year"),
	"task":            boxNames,
	"limit":           limitNames,
	"what": always(audit.Asked, audit.Judged, audit.Approved, audit.Refused, audit.Denied, audit.Started, audit.Allowed,
		audit.Opened, audit.Closed, audit.Removed, audit.Model, audit.Called, audit.Answered, audit.Ordered, audit.Ended),
}

// wordValues is what may follow a command, by its path below hako.
var wordValues = map[string]look{
	"agent status": taskNames, "agent pause": taskNames, "agent resume": taskNames, "agent stop": taskNames,
	"env build": environmentNames,
	"todo get":  todoNumbers, "todo update": todoNumbers, "todo complete": todoNumbers, "todo delete": todoNumbers,
	"serve token remove": tokenNames,
	"doctor":             func(context.Context, *config.Config) []string { return allParts() },
}

// directories are the flags that want the name of one.
var directories = []string{"root", "rw", "read", "write", "dir"}

// complete teaches a tree of commands what may be typed.
func complete(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) { completeFlag(cmd, f) })
	cmd.PersistentFlags().VisitAll(func(f *pflag.Flag) { completeFlag(cmd, f) })
	if find, ok := wordValues[pathBelow(cmd)]; ok {
		cmd.ValidArgsFunction = completer(find)
	}
	for _, sub := range cmd.Commands() {
		complete(sub)
	}
}

func completeFlag(cmd *cobra.Command, f *pflag.Flag) {
	find, known := flagValues[f.Name]
	switch {
	case f.Value.Type() == "int": // a number of the same name
	case known:
		_ = cmd.RegisterFlagCompletionFunc(f.Name, completer(find)) // fails only if there is one already
	case slices.Contains(directories, f.Name):
		_ = cmd.MarkFlagDirname(f.Name)
	}
}

// pathBelow is the path of a command without the name of the program.
func pathBelow(cmd *cobra.Command) string {
	_, path, _ := strings.Cut(cmd.CommandPath(), " ")
	return path
}

// completer makes of a look what cobra asks. A word that ends with a sign wants
// more after it, so no space follows.
func completer(find look) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		conf, err := settingsAt(cmd)
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

func wantsMore(entry string) bool {
	word, _, _ := strings.Cut(entry, "\t")
	return strings.HasSuffix(word, ":") || strings.HasSuffix(word, "=")
}

// settingsAt reads the settings that the command being typed would read.
func settingsAt(cmd *cobra.Command) (*config.Config, error) {
	var o common
	if f := cmd.Flag("config"); f != nil {
		o.config = f.Value.String()
	}
	if f := cmd.Flag("no-config"); f != nil {
		o.noConfig = f.Value.String() == "true"
	}
	return o.load()
}

// always offers the same words always.
func always(list ...string) look {
	return func(context.Context, *config.Config) []string { return slices.Clone(list) }
}

// described is a word with what the shell may show beside it.
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

// memoryOf opens the secretary's memory if there is one.
func memoryOf(conf *config.Config) (*store.Store, bool) {
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
	s, ok := memoryOf(conf)
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
	s, ok := memoryOf(conf)
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

// boxNames are the tasks that have a container.
func boxNames(ctx context.Context, conf *config.Config) (list []string) {
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
