package config

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"hako/internal/lazyregexp"
)

var agentKeys = []key{AgentPoll, AgentParallel, AgentHealth, AgentHealthPublic, AgentLogFormat, AgentCIFiles,
	AgentAuthor}

const whoSees = "who can see how the agent does"

// How the agent runs.
var (
	AgentPoll = Key[int]{Name: "agent.poll_seconds", Env: "HAKO_AGENT_POLL_SECONDS", Parse: between(5, 86_400),
		Default: constant(60), Decides: mayUse,
		Help: "after how many seconds the forges are asked for new tasks again, from 5 to 86400"}
	AgentParallel = Key[int]{Name: "agent.parallel", Env: "HAKO_AGENT_PARALLEL", Parse: between(1, 64),
		Default: constant(1), Decides: mayUse,
		Help: "how many tasks one process works on at the same time, from 1 to 64"}
	AgentHealth = Key[string]{Name: "agent.health", Env: "HAKO_AGENT_HEALTH", Parse: orEmpty(listener), Decides: whoSees,
		Help: "where /healthz, /readyz and /metrics are served, as 127.0.0.1:9464; empty means nowhere"}
	AgentHealthPublic = Key[bool]{Name: "agent.health_public", Env: "HAKO_AGENT_HEALTH_PUBLIC", Parse: truth,
		Decides: whoSees,
		Help:    "true or false: whether that may be an address that other machines reach; nobody is asked who they are"}
	AgentLogFormat = Key[string]{Name: "agent.log_format", Env: "HAKO_AGENT_LOG_FORMAT", Parse: oneOf("text", "json"),
		Default: constant("text"), Decides: "how the agent's log is written",
		Help: "how the log is written, text or json"}
	AgentCIFiles = Key[bool]{Name: "agent.ci_files", Env: "HAKO_AGENT_CI_FILES", Parse: truth, Decides: mayRun,
		Help: "true or false: whether the agent may change files that configure CI (.github/workflows, .gitlab-ci.yml…), which run with the rights of the project"}
	AgentAuthor = Key[string]{Name: "agent.author", Env: "HAKO_AGENT_AUTHOR", Parse: orEmpty(author), Decides: whoseName,
		Help: "whose the commits are, as Hako Bot <bot@example.com>; empty means the agent's account"}
)

var planningKeys = []key{
	PlanningEnabled, PlanningTurns, PlanningActions, PlanningTokens, PlanningCost, PlanningUserTokens, PlanningUserCost,
	PlanningReplans, PlanningReflect, PlanningSame, PlanningVerify,
}

// How far the agent goes for one task, and when a task counts as done.
var (
	PlanningEnabled = Key[bool]{Name: "planning.enabled", Env: "HAKO_PLANNING_ENABLED", Parse: truth,
		Default: constant(true), Decides: whatTold,
		Help: "understood for the sake of files written for others; hako always makes a plan"}
	PlanningTurns = Key[int]{Name: "planning.max_turns", Env: "HAKO_PLANNING_MAX_TURNS", Parse: between(1, 10_000),
		Default: constant(100), Decides: whatCosts,
		Help: "how often the model is asked for one task, from 1 to 10000"}
	PlanningActions = Key[int]{Name: "planning.max_actions", Env: "HAKO_PLANNING_MAX_ACTIONS", Parse: between(1, 100_000),
		Default: constant(200), Decides: mayUse,
		Help: "how many tools it may call for one task, from 1 to 100000"}
	PlanningTokens = Key[int64]{Name: "planning.max_tokens", Env: "HAKO_PLANNING_MAX_TOKENS", Parse: count(1000, 1e12),
		Default: constant(int64(2_000_000)), Decides: whatCosts,
		Help: "how many tokens, weighted as in quota.weights, one task may take, from 1000 to 1000000000000"}
	PlanningCost = Key[float64]{Name: "planning.max_cost", Env: "HAKO_PLANNING_MAX_COST", Parse: numberFrom(0, 1e6),
		Decides: whatCosts,
		Help:    "how many US dollars one task may cost, from 0 to 1000000; 0 means any number"}
	PlanningUserTokens = Key[int64]{Name: "planning.max_user_tokens", Env: "HAKO_PLANNING_MAX_USER_TOKENS",
		Parse: count(0, 1e15), Decides: whatCosts,
		Help: "how many tokens the tasks of one person may take in a month, up to 1000000000000000; 0 means any number"}
	PlanningUserCost = Key[float64]{Name: "planning.max_user_cost", Env: "HAKO_PLANNING_MAX_USER_COST",
		Parse: numberFrom(0, 1e6), Decides: whatCosts,
		Help: "how many US dollars the tasks of one person may cost in a month, from 0 to 1000000; 0 means any number"}
	PlanningReplans = Key[int]{Name: "planning.max_replans", Env: "HAKO_PLANNING_MAX_REPLANS", Parse: between(0, 20),
		Default: constant(2), Decides: whatCosts,
		Help: "how many new plans may be made after the first, from 0 to 20"}
	PlanningReflect = Key[int]{Name: "planning.reflect_every", Env: "HAKO_PLANNING_REFLECT_EVERY",
		Parse: between(0, 10_000), Default: constant(15), Decides: whatCosts,
		Help: "after how many calls of tools the model looks back at what it did, from 0 to 10000; 0 means only after errors"}
	PlanningSame = Key[int]{Name: "planning.max_same_errors", Env: "HAKO_PLANNING_MAX_SAME_ERRORS",
		Parse: between(1, 1000), Default: constant(5), Decides: whatCosts,
		Help: "how often one error may be met before the task fails, from 1 to 1000"}
	PlanningVerify = Key[[]string]{Name: "planning.verify", Parse: commands, Many: true, Decides: mayRun,
		Help: "a list of commands that must succeed at the end, whatever the plan says, as make test"}
)

var queueKeys = []key{QueueURL, QueueCredentials, QueueCA, QueueName, QueueReplicas, QueueTries, QueueLease}

// Where tasks wait until somebody has done them.
var (
	QueueURL = Key[Servers]{Name: "queue.url", Env: "HAKO_QUEUE_URL", Parse: orEmpty(servers), Hidden: serverPasswords,
		Decides: whereData,
		Help:    "the NATS server, as nats://127.0.0.1:4222, or several with commas between; empty means one inside of hako; a file with a password in it must be its owner's alone"}
	QueueCredentials = Key[string]{Name: "queue.credentials", Env: "HAKO_QUEUE_CREDENTIALS", Parse: orEmpty(file),
		Decides: whichFile,
		Help:    "a file of NATS credentials for queue.url; empty means none"}
	QueueCA = Key[string]{Name: "queue.ca_certificates", Env: "HAKO_QUEUE_CA_CERTIFICATES", Parse: orEmpty(file),
		Decides: whomTrusted,
		Help:    "a file of certificates (PEM) to trust at queue.url; empty means the usual ones"}
	QueueName = Key[string]{Name: "queue.name", Env: "HAKO_QUEUE_NAME", Parse: queueName, Default: constant("hako"),
		Decides: whatTaken,
		Help:    "tells queues on one server apart, 1 to 32 letters, digits, - and _"}
	QueueReplicas = Key[int]{Name: "queue.replicas", Env: "HAKO_QUEUE_REPLICAS", Parse: between(1, 5),
		Default: constant(1), Decides: mayUse,
		Help: "on how many servers of a cluster the queue is kept, from 1 to 5"}
	QueueTries = Key[int]{Name: "queue.tries", Env: "HAKO_QUEUE_TRIES", Parse: between(1, 1000), Default: constant(20),
		Decides: mayUse,
		Help:    "how often a task is taken up before it is given up, from 1 to 1000"}
	QueueLease = Key[int]{Name: "queue.lease_seconds", Env: "HAKO_QUEUE_LEASE_SECONDS", Parse: between(1, 3600),
		Default: constant(30), Decides: mayUse,
		Help: "after how many seconds without a word from a worker another takes over its task, from 1 to 3600"}
)

var (
	authorForm = lazyregexp.New(`^[^<>\s][^<>]* <[^<>\s]+>$`)
	queueForm  = lazyregexp.New(`^[A-Za-z0-9_-]{1,32}$`)
)

func author(s setting) (string, error) {
	word, err := text(s)
	if err == nil && !authorForm.Get().MatchString(word) {
		err = fmt.Errorf("%q is not an author such as Hako Bot <bot@example.com>", word)
	}
	return word, err
}

func queueName(s setting) (string, error) {
	if !queueForm.Get().MatchString(s.words[0]) {
		return "", fmt.Errorf("%q is not a name of 1 to 32 letters, digits, - and _", s.words[0])
	}
	return s.words[0], nil
}

// commands reads a list in which every entry is a line of shell.
func commands(s setting) ([]string, error) {
	all := make([]string, len(s.words))
	for i, word := range s.words {
		line, err := text(setting{words: []string{word}})
		if err != nil {
			return nil, err
		}
		all[i] = line
	}
	return all, nil
}

// listener reads where to listen: host:port, or :port for every address.
func listener(s setting) (string, error) {
	word := strings.TrimSpace(s.words[0])
	at := strings.LastIndexByte(word, ':')
	if at >= 0 {
		port, err := strconv.ParseUint(word[at+1:], 10, 16)
		u, odd := url.Parse("http://" + word)
		if err == nil && odd == nil && u.Host == word && strconv.FormatUint(port, 10) == word[at+1:] {
			return word, nil
		}
	}
	return "", fmt.Errorf("%q is not an address to listen at such as 127.0.0.1:9464", word)
}

// Servers are addresses of NATS servers with commas between. One can have a
// password in it, so that they are printed without; string(s) is the whole.
type Servers string

// String returns the addresses without names and passwords.
func (s Servers) String() string {
	all := splitList(string(s))
	for i, one := range all {
		if scheme, host := around(one); host != "" {
			all[i] = scheme + "[redacted]@" + host
		}
	}
	return strings.Join(all, ", ")
}

// around returns what stands before and after the name and password of an
// address; nothing if there are none.
func around(address string) (scheme, host string) {
	at := strings.LastIndexByte(address, '@')
	if at < 0 {
		return "", ""
	}
	if before, _, ok := strings.Cut(address, "://"); ok {
		scheme = before + "://"
	}
	return scheme, address[at+1:]
}

// servers does not say what is wrong with an address: it may hold a password.
func servers(s setting) (Servers, error) {
	for _, one := range splitList(s.words[0]) {
		if !strings.Contains(one, "://") {
			one = "nats://" + one
		}
		u, err := url.Parse(one)
		if err != nil || !slices.Contains([]string{"nats", "tls", "ws", "wss"}, u.Scheme) || u.Hostname() == "" ||
			strings.ContainsFunc(one, unicode.IsSpace) {
			return "", errors.New("it is not an address such as nats://127.0.0.1:4222, or several with commas between")
		}
	}
	return Servers(strings.TrimSpace(s.words[0])), nil
}

// serverPasswords returns the passwords in addresses, as they are written and as
// they are meant. A name without a password is a token.
func serverPasswords(s setting) (all []string) {
	for _, one := range splitList(strings.Join(s.words, ",")) {
		scheme, host := around(one)
		if host == "" {
			continue
		}
		word := strings.TrimSuffix(strings.TrimPrefix(one, scheme), "@"+host)
		if _, password, ok := strings.Cut(word, ":"); ok {
			word = password
		}
		meant, err := url.PathUnescape(word)
		if err == nil && meant != word {
			all = append(all, meant)
		}
		all = append(all, word)
	}
	return all
}
