package app

import (
	"cmp"

	"hako/internal/app/coder/dispatch"
	"hako/internal/app/coder/forge"
	"hako/internal/config"
	"hako/internal/redact"
	"hako/run/fault"
)

// providers are the supported forges with their settings.
var providers = []struct {
	name string
	keys config.ForgeKeys
}{{forge.GitHub, config.GitHub}, {forge.GitLab, config.GitLab}}

// Forges opens the configured forges.
func Forges(conf *config.Config, secrets *redact.Set) (list []dispatch.Forge, err error) {
	for _, p := range providers {
		k := p.keys
		if !k.Enabled.Of(conf).V {
			continue
		}
		c := forge.Config{
			Provider: p.name, APIURL: k.APIURL.Of(conf).V, Token: k.Token.Of(conf).V, BotName: k.BotName.Of(conf).V,
			CAFile: cmp.Or(k.CA.Of(conf).V, config.DockerCA.Of(conf).V), Labels: labelSettings(conf, k),
			AddSecret: func(token string) { secrets.Add(token) },
		}
		f, err := openForge(conf, c)
		if err != nil {
			return list, err
		}
		list = append(list, dispatch.Forge{Forge: f, Provider: p.name, Labels: c.Labels, Bot: c.BotName,
			NeedAssignee: k.NeedAssignee.Of(conf).V, Repos: k.Repositories.Of(conf).V})
	}
	if name := disabledForge(conf); len(list) == 0 && name != "" {
		return nil, &fault.Error{Kind: fault.Unavailable, Op: "find forge", Why: name + ".enabled is false",
			Hint: "set it to true, or set up the other forge"}
	}
	if len(list) == 0 {
		return nil, &fault.Error{Kind: fault.Unavailable, Op: "find forge",
			Why:  "there is neither a token of GitHub nor one of GitLab",
			Hint: "export GITHUB_PERSONAL_ACCESS_TOKEN=… or GITLAB_PERSONAL_ACCESS_TOKEN=…, or set github.app; docs/agent.md says what it has to be good for"}
	}
	return list, nil
}

// disabledForge returns a forge that has a token and is disabled.
func disabledForge(conf *config.Config) string {
	for _, p := range providers {
		if p.keys.Token.Of(conf).V != "" && !p.keys.Enabled.Of(conf).V {
			return p.name
		}
	}
	return ""
}

// openForge opens a forge with its token or as the configured App.
func openForge(conf *config.Config, c forge.Config) (forge.Forge, error) {
	if c.Provider == forge.GitHub {
		var err error
		if c.App, err = githubApp(conf); err != nil {
			return nil, err
		}
	}
	return forge.New(c)
}

func labelSettings(conf *config.Config, k config.ForgeKeys) forge.Labels {
	return forge.Labels{
		Ready: k.Ready.Of(conf).V, Processing: k.Processing.Of(conf).V, Done: k.Done.Of(conf).V,
		Failed: k.Failed.Of(conf).V, Paused: k.Paused.Of(conf).V, Stopped: k.Stopped.Of(conf).V,
	}
}

// AnyForge reports whether a forge is configured.
func AnyForge(conf *config.Config) bool {
	for _, p := range providers {
		if p.keys.Enabled.Of(conf).V {
			return true
		}
	}
	return false
}
