package config

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

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

// The forges whose issues and pull requests the agent handles. Repositories of
// GitLab can be as deep as twenty groups.
var (
	GitHub = forgeKeys("github", "GitHub", 2, "empty means all that the account takes part in")
	GitLab = forgeKeys("gitlab", "GitLab", 21,
		"they must be named, because whoever adds the account to a project could give it work")
)

// Who the agent is at GitHub if it is an App, which has no token that lasts.
var (
	GitHubAppID = Key[int64]{Name: "github.app.id", Env: "HAKO_GITHUB_APP_ID", Parse: count(0, 1<<62), Decides: whoseName,
		Help: "the number of your GitHub App; 0 means that there is a token instead"}
	GitHubAppInstallation = Key[int64]{Name: "github.app.installation_id", Env: "HAKO_GITHUB_APP_INSTALLATION_ID",
		Parse: count(0, 1<<62), Decides: whoseName,
		Help: "the number of its installation, the last part of the address of its settings"}
	GitHubAppKey = Key[string]{Name: "github.app.private_key_file", Env: "HAKO_GITHUB_APP_PRIVATE_KEY_FILE",
		Parse: orEmpty(file), Decides: whichFile,
		Help: "the file with its private key (PEM)"}
)

func (k ForgeKeys) all() []key {
	return []key{k.Enabled, k.Token, k.APIURL, k.CA, k.BotName, k.Ready, k.Processing, k.Done, k.Failed, k.Paused,
		k.Stopped, k.Repositories, k.NeedAssignee}
}

func (k ForgeKeys) labels() []Key[string] {
	return []Key[string]{k.Ready, k.Processing, k.Done, k.Failed, k.Paused, k.Stopped}
}

func githubKeys() []key {
	return append(GitHub.all(), GitHubAppID, GitHubAppInstallation, GitHubAppKey)
}

// forgeKeys makes the settings of a forge; deepest is how many parts the name of
// a repository may have, and unnamed what it means to name none.
func forgeKeys(name, people string, deepest int, unnamed string) ForgeKeys {
	upper := strings.ToUpper(name)
	env := "HAKO_" + upper + "_"
	label := func(state, usual, what string) Key[string] {
		return Key[string]{Name: name + "." + state + "_label", Env: env + strings.ToUpper(state) + "_LABEL",
			Parse:   labelName,
			Default: constant(usual), Decides: whatTaken, Help: "the label of a task that " + what +
				", at most 50 characters without a comma"}
	}
	return ForgeKeys{
		Enabled: Key[bool]{Name: name + ".enabled", Env: env + "ENABLED", Parse: truth, Default: hasAccount(name),
			Decides: whatTaken,
			Help:    "true or false: whether the agent works for " + people + "; the default is true if there is a token"},
		Token: Key[string]{Name: name + ".token", Env: upper + "_PERSONAL_ACCESS_TOKEN", Parse: secret, Secret: true,
			Decides: whoseName,
			Help:    "the token of the agent's account; a file that has it must be its owner's alone"},
		APIURL: Key[string]{Name: name + ".api_url", Env: upper + "_API_URL", Parse: orEmpty(address),
			Carries: name + ".token", Decides: whereData,
			Help: "where your own " + people + " is, as https://" + name + ".example.com; empty means the public one"},
		CA: Key[string]{Name: name + ".ca_certificates", Env: env + "CA_CERTIFICATES", Parse: orEmpty(file),
			Decides: whomTrusted,
			Help:    "a file of certificates (PEM) to trust there besides the usual; empty means that of command_executor.docker.ca_certificates"},
		BotName: Key[string]{Name: name + ".bot_name", Env: env + "BOT_NAME", Parse: orEmpty(accountName), Decides: whoseName,
			Help: "the name of the agent's account; empty means that " + people + " is asked"},
		Repositories: Key[[]string]{Name: name + ".repositories", Env: env + "REPOSITORIES", Parse: repositories(deepest),
			Many: true, Decides: whatTaken,
			Help: "a list of repositories to work on, as owner/name; " + unnamed},
		NeedAssignee: Key[bool]{Name: name + ".require_assignee", Env: env + "REQUIRE_ASSIGNEE", Parse: truth,
			Decides: whatTaken,
			Help:    "true or false: whether a task must be assigned to the agent's account, besides its label"},
		Ready:      label("bot", "coding agent", "the agent may begin"),
		Processing: label("processing", "coding agent processing", "is worked on"),
		Done:       label("done", "coding agent done", "was done"),
		Failed:     label("failed", "coding agent failed", "could not be done"),
		Paused:     label("paused", "coding agent paused", "waits until somebody says how to go on"),
		Stopped:    label("stopped", "coding agent stopped", "somebody stopped"),
	}
}

// hasAccount tells whether somebody said who the agent is at a forge.
func hasAccount(name string) func(*Config) bool {
	return func(c *Config) bool {
		_, token := c.set[name+".token"]
		_, app := c.set[name+".app.private_key_file"]
		return token || app
	}
}

// distinct refuses a label that means two things: a task that is done would be
// begun again, for ever.
func (c *Config) distinct() error {
	for _, forge := range []ForgeKeys{GitHub, GitLab} {
		meaning := make(map[string]string)
		for _, k := range forge.labels() {
			v := k.Of(c)
			label := strings.ToLower(v.V) // forges don't mind the case
			if other, twice := meaning[label]; twice {
				return &fault.Error{Kind: fault.Invalid, Op: "set " + k.Name, Why: fmt.Sprintf("%s: %q is also %s", v.From, v.V,
					other), Hint: "each label must be another one"}
			}
			meaning[label] = k.Name
		}
	}
	return nil
}

var (
	accountForm = lazyregexp.New(`^[A-Za-z0-9_.+-]{1,255}(\[bot\])?$`)
	partForm    = lazyregexp.New(`^[A-Za-z0-9_.+-]{1,255}$`)
)

func accountName(s setting) (string, error) {
	if word := strings.TrimSpace(s.words[0]); accountForm.Get().MatchString(word) {
		return word, nil
	}
	return "", fmt.Errorf("%q is not the name of an account; it is written without @", s.words[0])
}

// labelName reads a label as forges take it. They put commas between labels.
func labelName(s setting) (string, error) {
	word, err := text(s)
	switch {
	case err != nil:
		return "", err
	case strings.Contains(word, ","), utf8.RuneCountInString(word) > 50:
		return "", fmt.Errorf("%q is not a label: it has at most 50 characters and no comma", word)
	}
	return word, nil
}

func repositories(deepest int) func(setting) ([]string, error) {
	return func(s setting) ([]string, error) {
		for _, word := range s.words {
			if !isRepository(word, deepest) {
				return nil, fmt.Errorf("%q is not a repository such as owner/name; it is written without the server and .git", word)
			}
		}
		return s.words, nil
	}
}

func isRepository(word string, deepest int) bool {
	parts := strings.Split(word, "/")
	for _, part := range parts {
		if !partForm.Get().MatchString(part) || part == "." || part == ".." {
			return false
		}
	}
	return len(parts) >= 2 && len(parts) <= deepest && !strings.HasSuffix(word, ".git")
}

// count reads a whole number that can be large.
func count(low, high int64) func(setting) (int64, error) {
	return func(s setting) (int64, error) {
		n, err := strconv.ParseInt(s.words[0], 10, 64)
		if err != nil || n < low || n > high {
			return 0, fmt.Errorf("%q is not a whole number from %d to %d", s.words[0], low, high)
		}
		return n, nil
	}
}
