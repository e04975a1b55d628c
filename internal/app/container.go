package app

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"hako/container"
	"hako/container/clone"
	"hako/container/deps"
	"hako/container/engine"
	"hako/container/lang"
	"hako/container/proxyproc"
	"hako/internal/app/coder/forge"
	"hako/internal/config"
	"hako/quota"
	"hako/run/fault"
)

// githubApp returns the configured GitHub App; nil means that a token is used.
func githubApp(conf *config.Config) (*forge.App, error) {
	id, file := config.GitHubAppID.Of(conf).V, config.GitHubAppKey.Of(conf).V
	if id == 0 && file == "" {
		return nil, nil
	}
	if id == 0 || file == "" || config.GitHubAppInstallation.Of(conf).V == 0 {
		return nil, &fault.Error{Kind: fault.Invalid, Op: "read github.app",
			Why:  "id, installation_id and private_key_file belong together, and one is not set",
			Hint: "set all three, or none and a token"}
	}
	key, err := os.ReadFile(file)
	if err != nil {
		return nil, &fault.Error{Kind: fault.NotFound, Op: "read github.app.private_key_file", Subject: file,
			Err: fault.Reason(err), Hint: "name the file that GitHub gave you when you made the key"}
	}
	return &forge.App{ID: id, Installation: config.GitHubAppInstallation.Of(conf).V, Key: key}, nil
}

// A Containers is a container manager with its record.
type Containers struct {
	*container.Manager
	*App
	Conf    *config.Config
	options container.Options
}

func (b *Containers) Close() {
	b.Manager.Close()
	b.App.Close()
}

// InspectContainers opens a container manager as configured, for inspection.
func InspectContainers(conf *config.Config) (*Containers, error) {
	options, err := ContainerOptions(conf)
	if err != nil {
		return nil, err
	}
	return OpenContainers(conf, options, nil)
}

func OpenContainers(conf *config.Config, options container.Options, ask Asker) (*Containers, error) {
	judge, err := containerPolicy(conf)
	if err != nil {
		return nil, err
	}
	b, err := Open(conf)
	if err != nil {
		return nil, err
	}
	options.Clones.Keys.OnSecret(b.Secrets.Add)
	b.Budget = quota.New(conf.Budget(quota.Unlimited()))
	options.Allowed = func() container.Allowed { return allowedCommands(judge) }
	options.ServeEgress = startProxy(conf)
	d, err := b.Manager(options, judge, ask)
	if err != nil {
		b.Close()
		return nil, err
	}
	return &Containers{d, b, conf, options}, nil
}

// ContainerOptions converts the settings.
func ContainerOptions(conf *config.Config) (container.Options, error) {
	var o container.Options
	e, err := engine.Open(config.DockerHost.Of(conf).V)
	if err != nil {
		return o, err
	}
	images, err := EnvironmentImages(conf)
	if err != nil {
		return o, err
	}
	o = container.Options{
		Enabled: config.ContainerEnabled.Of(conf).V, State: conf.StateFile("env"), Engine: e, Images: images,
		Default: config.ContainerDefault.Of(conf).V,
		Resources: container.Resources{
			CPUs: config.DockerCPU.Of(conf).V, Memory: int64(config.DockerMemory.Of(conf).V),
			Disk: int64(config.DockerDisk.Of(conf).V), Pids: int64(config.DockerPids.Of(conf).V),
		},
		Network: networkSetting(conf), Depth: cloneDepth(conf), Full: !config.CloneShallow.Of(conf).V,
		Install: config.CloneInstall.Of(conf).V, ProjectImages: config.CloneOwnImage.Of(conf).V,
		Timeout: time.Duration(config.ContainerTimeout.Of(conf).V) * time.Second,
		Output:  int(config.ContainerOutput.Of(conf).V),
		Stale:   time.Duration(config.CleanupStale.Of(conf).V) * time.Hour, Detached: true,
	}
	if path := config.DockerCA.Of(conf).V; path != "" {
		if o.CA, err = os.ReadFile(path); err != nil {
			return o, &fault.Error{Kind: fault.NotFound, Op: "read ca_certificates", Subject: path, Err: fault.Reason(err),
				Hint: "name a file of certificates in PEM form"}
		}
	}
	st := egressSettings(conf)
	if err := st.Check(); err != nil {
		return o, err
	}
	return o, stores(conf, &o)
}

// stores sets the stores of clones and dependencies.
func stores(conf *config.Config, o *container.Options) error {
	keys, err := clone.FromEnviron(func(name string) string { return forgeSetting(conf, name) })
	if err != nil {
		return err
	}
	if err := addAppToken(conf, keys); err != nil {
		return err
	}
	base, err := os.UserCacheDir()
	if err != nil {
		base = conf.StateFile("cache")
	}
	o.Clones = &clone.Store{
		Dir: filepath.Join(base, "hako", "git"), Keys: keys, CAFile: config.DockerCA.Of(conf).V,
		InsecureTLS: config.CloneInsecure.Of(conf).V, Environ: os.Environ(),
	}
	o.Packages = &deps.Store{Dir: filepath.Join(base, "hako", "deps")}
	return nil
}

// addAppToken lets git use the tokens of the GitHub App, if there is one.
func addAppToken(conf *config.Config, keys *clone.Keyring) error {
	app, err := githubApp(conf)
	if app == nil || err != nil {
		return err
	}
	at := config.GitHub.APIURL.Of(conf).V
	f, err := forge.New(forge.Config{Provider: forge.GitHub, APIURL: at, App: app,
		CAFile: cmp.Or(config.GitHub.CA.Of(conf).V, config.DockerCA.Of(conf).V)})
	if err != nil {
		return err
	}
	return keys.Add(clone.Account{API: at, Name: fmt.Sprintf("GitHub App %d installation %d", app.ID, app.Installation),
		Token: f.(forge.Tokens).Token})
}

// forgeSetting returns a variable of a forge, or its setting.
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

// EnvironmentImages returns the image of each environment, with the overrides of the settings.
func EnvironmentImages(conf *config.Config) (map[string]string, error) {
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
			return nil, &fault.Error{Kind: fault.Invalid, Op: "read environments", Subject: name, Why: "it has no image",
				Hint: "give it one, or set command_executor.docker.base_image"}
		}
		images[name] = image
	}
	return images, nil
}

// cloneDepth returns the depth of clones; zero leaves it to the clone, which fetches more if there is a branch to
// merge into.
func cloneDepth(conf *config.Config) int {
	if d := config.CloneDepth.Of(conf); d.From != "default" {
		return d.V
	}
	return 0
}

func networkSetting(conf *config.Config) container.Network {
	switch {
	case !config.DockerExternal.Of(conf).V:
		return container.None
	case config.DockerWhitelist.Of(conf).V:
		return container.AllowList
	}
	return container.Open
}

// startProxy returns a function that starts the egress proxy of a container.
func startProxy(conf *config.Config) func(context.Context, container.Egress) error {
	return func(_ context.Context, w container.Egress) error {
		program, err := os.Executable()
		if err != nil {
			return err
		}
		record, err := filepath.Abs(config.AuditPath.Of(conf).V)
		if err != nil {
			return err
		}
		st := egressSettings(conf)
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

// egressSettings returns the settings of the egress proxy.
func egressSettings(conf *config.Config) proxyproc.Settings {
	return proxyproc.Settings{Allow: config.DockerDomains.Of(conf).V, Private: config.DockerPrivate.Of(conf).V,
		CA: config.DockerCA.Of(conf).V}
}

// Warmth returns how many containers of each environment are kept warm.
func Warmth(conf *config.Config, size int) map[string]int {
	if size <= 0 {
		size = config.PoolSize.Of(conf).V
	}
	names := config.PoolEnvironment.Of(conf).V
	if len(names) == 0 {
		names = []string{config.ContainerDefault.Of(conf).V}
	}
	warm := make(map[string]int)
	for _, name := range names {
		warm[name] = size
	}
	return warm
}
