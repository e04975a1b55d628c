package config

import (
	"fmt"
	"strings"

	"hako/internal/lazyregexp"
	"hako/run/fault"
)

// ForgeKeys are the settings of one forge.
type ForgeKeys struct {
	Enabled      Key[bool]
	Token        Key[string]
	APIURL       Key[string]
	CA           Key[string]
	BotName      Key[string]
	Repositories Key[[]string]
	NeedAssignee Key[bool]

	// The labels of a task: when it may begin, and of each state.
	Ready, Processing, Done, Failed, Paused, Stopped Key[string]
}

// The forges whose issues and pull requests the agent handles.
var (
	GitHub = forgeKeys("github.")
	GitLab = forgeKeys("gitlab.")
)

func forgeKeys(section string) ForgeKeys {
	label := func(state string) Key[string] { return Key[string](section + state + "_label") }
	return ForgeKeys{
		Enabled: Key[bool](section + "enabled"), Token: Key[string](section + "token"),
		APIURL: Key[string](section + "api_url"), CA: Key[string](section + "ca_certificates"),
		BotName: Key[string](section + "bot_name"), Repositories: Key[[]string](section + "repositories"),
		NeedAssignee: Key[bool](section + "require_assignee"),
		Ready:        label("bot"), Processing: label("processing"), Done: label("done"),
		Failed: label("failed"), Paused: label("paused"), Stopped: label("stopped"),
	}
}

func (k ForgeKeys) labels() []Key[string] {
	return []Key[string]{k.Ready, k.Processing, k.Done, k.Failed, k.Paused, k.Stopped}
}

// hasAccount is the default of a forge: enabled if it has a token or a GitHub App.
func hasAccount(name string) func(*Config) []string {
	return func(c *Config) []string {
		_, token := c.set[name+".token"]
		_, app := c.set[name+".app.private_key_file"]
		return []string{fmt.Sprint(token || app)}
	}
}

// checkLabels refuses a label that means two things: a task that is done would be begun again, for ever.
func (c *Config) checkLabels() error {
	for _, forge := range []ForgeKeys{GitHub, GitLab} {
		meaning := make(map[string]string)
		for _, k := range forge.labels() {
			v := k.Of(c)
			label := strings.ToLower(v.V) // forges ignore case
			if other, twice := meaning[label]; twice {
				return &fault.Error{Kind: fault.Invalid, Op: "set " + string(k),
					Why: fmt.Sprintf("%s: %q is also %s", v.From, v.V, other), Hint: "each label must be another one"}
			}
			meaning[label] = string(k)
		}
	}
	return nil
}

var partForm = lazyregexp.New(`^[A-Za-z0-9_.+-]{1,255}$`)

// repositories reads names of 2 to maxParts parts. Those of GitLab can be as deep as twenty groups.
func repositories(maxParts int) func(setting) ([]string, error) {
	return func(s setting) ([]string, error) {
		for _, word := range s.words {
			if !isRepository(word, maxParts) {
				return nil, fmt.Errorf(
					"%q is not a repository such as owner/name; it is written without the server and .git", word)
			}
		}
		return s.words, nil
	}
}

func isRepository(word string, maxParts int) bool {
	parts := strings.Split(word, "/")
	for _, part := range parts {
		if !partForm.Get().MatchString(part) || part == "." || part == ".." {
			return false
		}
	}
	return len(parts) >= 2 && len(parts) <= maxParts && !strings.HasSuffix(word, ".git")
}
