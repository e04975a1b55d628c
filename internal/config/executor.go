package config

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"hako/internal/protect"
)

var bashKeys = []key{
	BashEnabled, BashRequery, BashLogCommands, BashMaxActions, BashMaxRounds, BashParallel, BashRateLimit, BashCacheTTL,
	BashRoot, BashWhitelist, BashNetwork, BashSandbox, BashPath, BashReadable, BashProtect,
	BashTimeout, BashMemory, BashProcesses, BashFiles, BashFileSize, BashOutput,
}

// What a model may have run on this machine, and how often.
var (
	BashEnabled = Key[bool]{Name: "bash_executor.enabled", Env: "HAKO_BASH_ENABLED", Parse: truth, Default: constant(true),
		Local: only("false"), Decides: mayRun,
		Help: "true or false: whether the secretary may run commands"}
	BashRequery = Key[bool]{Name: "bash_executor.requery_on_result", Env: "HAKO_BASH_REQUERY_ON_RESULT", Parse: truth,
		Decides: whatCosts,
		Help:    "true or false: whether the model is asked again with what came of its commands"}
	BashLogCommands = Key[bool]{Name: "bash_executor.log_commands", Env: "HAKO_BASH_LOG_COMMANDS", Parse: truth,
		Default: constant(true),
		Local:   only("true"), Decides: "what you are shown",
		Help: "true or false: whether each command is shown as it runs; the audit log has it in any case"}
	BashMaxActions = Key[int]{Name: "bash_executor.max_actions_per_request", Env: "HAKO_BASH_MAX_ACTIONS_PER_REQUEST",
		Parse: between(1, 20), Default: constant(5), Decides: mayRun,
		Help: "how many commands one answer of the model may have, from 1 to 20"}
	BashMaxRounds = Key[int]{Name: "bash_executor.max_rounds", Env: "HAKO_BASH_MAX_ROUNDS", Parse: between(1, 10),
		Default: constant(3), Decides: whatCosts,
		Help: "how often the model is asked again for one message, from 1 to 10"}
	BashParallel = Key[int]{Name: "bash_executor.parallel", Env: "HAKO_BASH_PARALLEL", Parse: between(1, 16),
		Default: constant(4), Decides: mayUse,
		Help: "how many commands that only read run at the same time, from 1 to 16"}
	BashRateLimit = Key[int]{Name: "bash_executor.rate_limit", Env: "HAKO_BASH_RATE_LIMIT", Parse: between(0, 10000),
		Default: constant(30), Decides: mayUse,
		Help: "how many commands may begin in a minute, from 0 to 10000; 0 means any number"}
	BashCacheTTL = Key[time.Duration]{Name: "bash_executor.cache_ttl", Env: "HAKO_BASH_CACHE_TTL",
		Parse: timeOrNone(0, 24*time.Hour), Default: constant(10 * time.Second), Decides: "how old a result may be",
		Help: "how long the result of a command that only reads is used again, from 0s to 24h; 0 means never"}
)

// Where these commands run, and what they reach.
var (
	BashRoot = Key[string]{Name: "bash_executor.root", Env: "HAKO_BASH_ROOT", Parse: orEmpty(file), Decides: whichFile,
		Help: "the directory that commands are kept in; empty means the current one"}
	BashWhitelist = Key[string]{Name: "bash_executor.whitelist", Env: "HAKO_BASH_WHITELIST", Parse: orEmpty(file),
		Decides: mayRun,
		Help:    "a file of command names, one a line, that are allowed instead of the default rules; empty means those"}
	BashNetwork = Key[bool]{Name: "bash_executor.network", Env: "HAKO_BASH_NETWORK", Parse: truth, Local: only("false"),
		Decides: whereData,
		Help:    "true or false: whether commands reach the network"}
	BashSandbox = Key[string]{Name: "bash_executor.sandbox", Env: "HAKO_BASH_SANDBOX",
		Parse: oneOf("full", "landlock-only", "namespaces-only"), Default: constant("landlock-only"),
		Local: only("full"), Decides: mayRun,
		Help: "the least sandbox that commands run in, full, landlock-only or namespaces-only; with less nothing runs"}
	BashPath = Key[[]string]{Name: "bash_executor.path", Env: "HAKO_BASH_PATH", Parse: directories, Many: true,
		Decides: mayRun,
		Help:    "a list of full paths, of more directories that have programs"}
	BashReadable = Key[[]string]{Name: "bash_executor.readable", Env: "HAKO_BASH_READABLE", Parse: directories, Many: true,
		Decides: whichFile,
		Help:    "a list of full paths, of more directories that commands may read"}
	BashProtect = Key[[]string]{Name: "bash_executor.protect", Env: "HAKO_BASH_PROTECT", Parse: inside, Many: true,
		Default: protected, Decides: "which of your files are changed",
		Help: "a list of names in the root that commands cannot change, as .git/hooks"}
)

// What one of them may use.
var (
	BashTimeout = Key[time.Duration]{Name: "bash_executor.timeout", Env: "HAKO_BASH_TIMEOUT",
		Parse: timeFrom(time.Second, time.Hour), Default: constant(30 * time.Second), Decides: mayUse,
		Help: "how long a command may run, from 1s to 1h; a bare number means seconds"}
	BashMemory = Key[Size]{Name: "bash_executor.memory", Env: "HAKO_BASH_MEMORY", Parse: sizeFrom(16<<20, 1<<40),
		Default: constant(Size(2 << 30)), Decides: mayUse,
		Help: "what memory one process may take, from 16MB to 1TB"}
	BashProcesses = Key[int]{Name: "bash_executor.processes", Env: "HAKO_BASH_PROCESSES", Parse: between(1, 100_000),
		Default: constant(256), Decides: mayUse,
		Help: "how many processes there may be at once, from 1 to 100000"}
	BashFiles = Key[int]{Name: "bash_executor.files", Env: "HAKO_BASH_FILES", Parse: between(16, 1_000_000),
		Default: constant(1024), Decides: mayUse,
		Help: "how many files one process may have open, from 16 to 1000000"}
	BashFileSize = Key[Size]{Name: "bash_executor.file_size", Env: "HAKO_BASH_FILE_SIZE", Parse: sizeFrom(1, 1<<40),
		Default: constant(Size(1 << 30)), Decides: mayUse,
		Help: "how large a file may become, from 1 to 1TB"}
	BashOutput = Key[Size]{Name: "bash_executor.output", Env: "HAKO_BASH_OUTPUT", Parse: sizeFrom(1<<10, 1<<30),
		Default: constant(Size(1 << 20)), Decides: mayUse,
		Help: "how much is kept of stdout, and of stderr, from 1KB to 1GB"}
)

// protected are files that programs of the user run, or believe, later: who
// writes them is no longer in the sandbox.
func protected(*Config) []string {
	return protect.Default()
}

// directories reads full paths: one that depends on where somebody stands may be
// in the very tree that programs are kept out of.
func directories(s setting) ([]string, error) {
	dirs := make([]string, len(s.words))
	for i, word := range s.words {
		if !strings.HasPrefix(word, "~/") && !filepath.IsAbs(word) {
			return nil, fmt.Errorf("%q is not a full path such as /opt/tools/bin", word)
		}
		dir, err := file(setting{words: []string{word}, home: s.home})
		if err != nil {
			return nil, err
		}
		dirs[i] = dir
	}
	return dirs, nil
}

// inside reads names below the root.
func inside(s setting) ([]string, error) {
	names := make([]string, len(s.words))
	for i, word := range s.words {
		names[i] = filepath.ToSlash(filepath.Clean(word))
		if word == "" || names[i] == "." || !filepath.IsLocal(word) {
			return nil, fmt.Errorf("%q is not a name in the root such as .git/hooks", word)
		}
	}
	return names, nil
}

// orEmpty also takes an empty value, which sets what nothing is set by.
func orEmpty[T any](parse func(setting) (T, error)) func(setting) (T, error) {
	return func(s setting) (v T, err error) {
		if s.words[0] == "" {
			return v, nil
		}
		return parse(s)
	}
}

// timeFrom reads a time within a range.
func timeFrom(low, high time.Duration) func(setting) (time.Duration, error) {
	return func(s setting) (time.Duration, error) {
		d, err := duration(s)
		if err != nil || d < low || d > high {
			return 0, fmt.Errorf("%q is not a time from %s to %s", s.words[0], brief(low), brief(high))
		}
		return d, nil
	}
}

// timeOrNone is [timeFrom] that also takes 0, for never.
func timeOrNone(low, high time.Duration) func(setting) (time.Duration, error) {
	return func(s setting) (time.Duration, error) {
		if word := s.words[0]; word == "0" || word == "0s" {
			return 0, nil
		}
		d, err := timeFrom(low, high)(s)
		if err != nil {
			return 0, fmt.Errorf("%v, or 0", err)
		}
		return d, nil
	}
}

// brief writes a time as people do: 1h, not 1h0m0s.
func brief(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
