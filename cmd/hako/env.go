package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hako/container"
	"hako/container/clone"
	"hako/container/deps"
	"hako/container/engine"
	"hako/container/lang"
	"hako/container/proxyproc"
	"hako/internal/app/coder/forge"
	"hako/internal/config"
	"hako/policy"
	"hako/quota"
	"hako/run/fault"
)

func newEnv(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "env",
		Short: "Run commands in a container of a language environment, one for each task",
		Long: `env gives each task a container of its own: Python, Node.js, Java, Go or conda,
with a repository cloned and its dependencies installed, without network but for
a proxy, and without anything of this machine inside. docs/environments.md says more.`,
		Example: `  hako env build python
  hako env up --task fix-42 --environment python --repo https://github.com/owner/project
  hako env exec --task fix-42 -- 'pytest -q'
  hako env down --task fix-42`,
		RunE: func(cmd *cobra.Command, args []string) error { return needSubcommand(cmd, args) },
	}
	for _, sub := range []func(streams) *cobra.Command{
		newEnvList, newEnvBuild, newEnvUp, newEnvExec, newEnvEdit, newEnvJobs, newEnvInfo, newEnvDown, newEnvPrune, newEnvPool, newEnvPrompt, newEnvKeep,
	} {
		cmd.AddCommand(sub(s))
	}
	return cmd
}

// envFlags are what every command about containers has.
type envFlags struct {
	common
	task string
	json bool
}

func (o *envFlags) register(f *pflag.FlagSet) {
	o.common.register(f)
	_ = f.MarkHidden("limit") // containers have limits of their own
}

// ofTask adds the flag for a task, which is required.
func (o *envFlags) ofTask(cmd *cobra.Command) {
	o.register(cmd.Flags())
	cmd.Flags().Var((*filled)(&o.task), "task", "the `ID` of the task")
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		if o.task != "" {
			return nil
		}
		e := &fault.Error{Kind: fault.Invalid, Op: called(cmd), Why: "it is not said for which task", Hint: "add --task ID: one that hako env list shows, or a new one for hako env up"}
		if len(args) == 1 && container.CheckTask(args[0]) == nil {
			e.Hint = "add --task: " + cmd.CommandPath() + " --task " + args[0]
		}
		return e
	}
}

// A berth is a dock with what is open for it.
type berth struct {
	*container.Manager
	*opened
	conf    *config.Config
	options container.Options
}

func (b *berth) close() {
	b.Manager.Close()
	b.opened.close()
}

// berth opens a dock with the settings. Change may be nil.
func (o *envFlags) berth(s streams, change func(*config.Config, *container.Options) error) (*berth, error) {
	conf, err := o.load()
	if err != nil {
		return nil, err
	}
	options, err := containerOptions(conf)
	if err != nil {
		return nil, err
	}
	if change != nil {
		if err := change(conf, &options); err != nil {
			return nil, err
		}
	}
	return openBerth(conf, options, askFor(s, conf))
}

// openBerthFor opens a dock as the settings say, for a look.
func openBerthFor(conf *config.Config) (*berth, error) {
	options, err := containerOptions(conf)
	if err != nil {
		return nil, err
	}
	return openBerth(conf, options, nil)
}

func openBerth(conf *config.Config, options container.Options, ask asker) (*berth, error) {
	judge, err := containerPolicy(conf)
	if err != nil {
		return nil, err
	}
	b, err := recorder(conf)
	if err != nil {
		return nil, err
	}
	options.Clones.Keys.Hide(b.secrets.Add)
	b.meter, b.patience = quota.New(conf.Budget(quota.Unlimited())), config.ApprovalTimeout.Of(conf).V
	options.Allowed = func() container.Allowed { return allowedCommands(judge) }
	options.Keep = keepWith(conf)
	d, err := b.dock(options, judge, ask)
	if err != nil {
		b.close()
		return nil, err
	}
	return &berth{d, b, conf, options}, nil
}

// containerPolicy returns the rules for commands in containers, whose paths have
// nothing to do with those of this machine.
func containerPolicy(conf *config.Config) (*policy.Policy, error) {
	p, err := loadPolicy(conf, "container")
	if err != nil {
		return nil, err
	}
	return p.For("container", policy.Options{Root: container.Workspace, Dir: container.Project, Home: container.Workspace + "/.home"}), nil
}

// containerOptions turns the settings into those of a dock.
func containerOptions(conf *config.Config) (container.Options, error) {
	var o container.Options
	e, err := engine.Open(config.DockerHost.Of(conf).V)
	if err != nil {
		return o, err
	}
	images, err := environmentImages(conf)
	if err != nil {
		return o, err
	}
	o = container.Options{
		Enabled: config.ContainerEnabled.Of(conf).V, State: conf.StateFile("env"), Engine: e, Images: images, Default: config.ContainerDefault.Of(conf).V,
		Resources: container.Resources{
			CPUs: config.DockerCPU.Of(conf).V, Memory: int64(config.DockerMemory.Of(conf).V),
			Disk: int64(config.DockerDisk.Of(conf).V), Pids: int64(config.DockerPids.Of(conf).V),
		},
		Network: networkOf(conf), Depth: depthOf(conf), Full: !config.CloneShallow.Of(conf).V,
		Install: config.CloneInstall.Of(conf).V, Own: config.CloneOwnImage.Of(conf).V,
		Timeout: time.Duration(config.ContainerTimeout.Of(conf).V) * time.Second, Output: int(config.ContainerOutput.Of(conf).V),
		Stale: time.Duration(config.CleanupStale.Of(conf).V) * time.Hour, Detached: true,
	}
	if path := config.DockerCA.Of(conf).V; path != "" {
		if o.CA, err = os.ReadFile(path); err != nil {
			return o, &fault.Error{Kind: fault.NotFound, Op: "read ca_certificates", Subject: path, Err: reasonOf(err), Hint: "name a file of certificates in PEM form"}
		}
	}
	st := wayOut(conf)
	if err := st.Check(); err != nil {
		return o, err
	}
	return o, caches(conf, &o)
}

// caches are where clones and dependencies are kept.
func caches(conf *config.Config, o *container.Options) error {
	keys, err := clone.FromEnviron(func(name string) string { return forgeSetting(conf, name) })
	if err != nil {
		return err
	}
	if err := lendApp(conf, keys); err != nil {
		return err
	}
	base, err := os.UserCacheDir()
	if err != nil {
		base = conf.StateFile("cache")
	}
	o.Clones = &clone.Store{
		Dir: filepath.Join(base, "hako", "git"), Keys: keys, CAFile: config.DockerCA.Of(conf).V, InsecureTLS: config.CloneInsecure.Of(conf).V, Environ: os.Environ(),
	}
	o.Packages = &deps.Store{Dir: filepath.Join(base, "hako", "deps")}
	return nil
}

// lendApp lets git use the tokens of the GitHub App, if there is one.
func lendApp(conf *config.Config, keys *clone.Keyring) error {
	app, err := githubApp(conf)
	if app == nil || err != nil {
		return err
	}
	at := config.GitHub.APIURL.Of(conf).V
	f, err := forge.New(forge.Config{Provider: forge.GitHub, APIURL: at, App: app, CAFile: cmp.Or(config.GitHub.CA.Of(conf).V, config.DockerCA.Of(conf).V)})
	if err != nil {
		return err
	}
	return keys.Add(clone.Account{API: at, Name: fmt.Sprintf("GitHub App %d installation %d", app.ID, app.Installation), Token: f.(forge.Tokens).Token})
}

// forgeSetting returns a variable about a forge, which the settings may have in
// its place.
func forgeSetting(conf *config.Config, name string) string {
	switch name {
	case "GITHUB_PERSONAL_ACCESS_TOKEN":
		return config.GitHub.Token.Of(conf).V
	case "GITHUB_API_URL":
		return config.GitHub.APIURL.Of(conf).V
	case "GITLAB_PERSONAL_ACCESS_TOKEN":
		return config.GitLab.Token.Of(conf).V
	case "GITLAB_API_URL":
		return config.GitLab.APIURL.Of(conf).V
	}
	return os.Getenv(name)
}

// environmentImages returns the image of each environment: those there are, with
// what the settings say.
func environmentImages(conf *config.Config) (map[string]string, error) {
	all, err := lang.All()
	if err != nil {
		return nil, err
	}
	images := make(map[string]string)
	for _, l := range all {
		images[l.Name] = l.Image
	}
	for name, image := range config.ContainerEnvironments.Of(conf).V {
		if image == "" {
			image = config.DockerBaseImage.Of(conf).V
		}
		if image == "" {
			return nil, &fault.Error{Kind: fault.Invalid, Op: "read environments", Subject: name, Why: "it has no image", Hint: "give it one, or set command_executor.docker.base_image"}
		}
		images[name] = image
	}
	return images, nil
}

// depthOf is how many commits are cloned; zero leaves it to the clone, which
// takes more where there is a branch to merge into.
func depthOf(conf *config.Config) int {
	if d := config.CloneDepth.Of(conf); d.From != "default" {
		return d.V
	}
	return 0
}

func networkOf(conf *config.Config) container.Network {
	switch {
	case !config.DockerExternal.Of(conf).V:
		return container.None
	case config.DockerWhitelist.Of(conf).V:
		return container.AllowList
	}
	return container.Open
}

// keepWith returns what has a process serve the way out of a container.
func keepWith(conf *config.Config) func(context.Context, container.Way) error {
	return func(_ context.Context, w container.Way) error {
		program, err := os.Executable()
		if err != nil {
			return err
		}
		record, err := filepath.Abs(config.AuditPath.Of(conf).V)
		if err != nil {
			return err
		}
		st := wayOut(conf)
		st.Task, st.Guest, st.Open, st.Audit, st.Hidden = w.Task, w.Guest, w.Open, record, w.Hidden
		if err := st.Lend(w.Credentials); err != nil {
			return err
		}
		if err := st.Check(); err != nil {
			return err
		}
		return proxyproc.Start(program, []string{"hako", "env", "keep"}, st, w.Listener)
	}
}

// wayOut is what the settings say about the way out of containers.
func wayOut(conf *config.Config) proxyproc.Settings {
	return proxyproc.Settings{Allow: config.DockerDomains.Of(conf).V, Private: config.DockerPrivate.Of(conf).V, CA: config.DockerCA.Of(conf).V}
}

// telling shows what is being done: turning in place on a terminal, in lines
// elsewhere.
func telling(s streams, quiet bool) (say func(string), end func()) {
	w := newShow(s, quiet, false)
	w.spinner.Start("working")
	terminal := isTerminal(s.err)
	return func(line string) {
		if line = strings.TrimSpace(line); line == "" {
			return
		}
		w.spinner.Label(line)
		if !terminal && !quiet {
			fmt.Fprintln(s.err, line)
		}
	}, w.spinner.Stop
}

// table prints rows in columns.
func table(w io.Writer, rows [][]string) error {
	var width []int
	for _, r := range rows {
		for i, cell := range r {
			if i == len(width) {
				width = append(width, 0)
			}
			width[i] = max(width[i], len([]rune(cell)))
		}
	}
	var b strings.Builder
	for _, r := range rows {
		line := ""
		for i, cell := range r {
			line += cell + strings.Repeat(" ", width[i]-len([]rune(cell))+2)
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}
