package config

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"hako/quota"
	"hako/run/fault"
)

// rcName is what the settings file of llmcmd is called. It is in the user's home,
// and is never written to.
const rcName = ".llmcmdrc"

// An rcKey is a name in that file, and the setting of ours that it stands for.
type rcKey struct {
	name  string
	env   string // variables that set it for llmcmd, of which the first counts; empty means none
	to    string
	kind  rcKind
	spell func(string) (string, error) // checks the value and writes it as we do; nil means as it is
}

// An rcKind is how a value is written in JSON.
type rcKind string

const (
	rcText   rcKind = "a text in quotes"
	rcNumber rcKind = "a number without quotes"
	rcTruth  rcKind = "true or false without quotes"
)

// rcKeys are the names with one value. The ranges are those of the original.
func rcKeys() []rcKey {
	return []rcKey{
		{"openai_api_key", "", string(OpenAIKey), rcText, nil},
		{"openai_base_url", "", string(OpenAIBaseURL), rcText, nil},
		{"model", "LLMCMD_MODEL", string(ModelName), rcText, nil},
		{"internal_model", "", string(LlmcmdInternalModel), rcText, nil},
		{"max_tokens", "LLMCMD_MAX_TOKENS", string(ModelMaxOutput), rcNumber, whole(1, 32768, "")},
		{"temperature", "LLMCMD_TEMPERATURE", string(LlmcmdTemperature), rcNumber, nil},
		{"max_api_calls", "LLMCMD_MAX_API_CALLS", "quota.calls", rcNumber, whole(1, 1000, "")},
		{"timeout_seconds", "LLMCMD_TIMEOUT LLMCMD_TIMEOUT_SECONDS", string(ModelTimeout), rcNumber, whole(1, 3600, "s")},
		{"max_file_size", "LLMCMD_MAX_FILE_SIZE", "limits.file_size", rcNumber, fileSize},
		{"read_buffer_size", "LLMCMD_READ_BUFFER_SIZE", string(LlmcmdReadSize), rcNumber, whole(1, 64<<10, "")},
		{"max_retries", "LLMCMD_MAX_RETRIES", string(LlmcmdRetries), rcNumber, whole(0, 10, "")},
		{"retry_delay_ms", "LLMCMD_RETRY_DELAY", string(LlmcmdRetryDelay), rcNumber, whole(0, 60000, "ms")},
		{"system_prompt", "", string(LlmcmdSystemPrompt), rcText, nil},
		{"default_prompt", "", string(LlmcmdPreset), rcText, nil},
		{"disable_tools", "", string(LlmcmdDisableTools), rcTruth, yesOrNo},
		{"quota_max_tokens", "", string(QuotaTotal), rcNumber, noneIfZero},
	}
}

func findRC(name string) (rcKey, bool) {
	keys := rcKeys()
	at := slices.IndexFunc(keys, func(k rcKey) bool { return k.name == name })
	if at < 0 {
		return rcKey{}, false
	}
	return keys[at], true
}

// rcEnv returns the variables that set one of our settings for llmcmd.
func rcEnv(to string) string {
	keys := rcKeys()
	if at := slices.IndexFunc(keys, func(k rcKey) bool { return k.to == to }); at >= 0 {
		return keys[at].env
	}
	return ""
}

// readRCEnv takes in the variables of llmcmd, over all others.
func (c *Config) readRCEnv() error {
	for _, k := range rcKeys() {
		value, env := c.firstSet(k.env)
		if value == "" {
			continue
		}
		if err := c.putRC(k, value, setting{from: "env " + env}); err != nil {
			return err
		}
	}
	return nil
}

// putRC keeps a value under our own name for it.
func (c *Config) putRC(k rcKey, value string, s setting) error {
	if k.spell != nil {
		word, err := k.spell(strings.TrimSpace(value))
		if err != nil {
			return &fault.Error{Kind: fault.Invalid, Op: "set " + k.name, Why: s.from, Err: err}
		}
		value = word
	}
	return c.putWord(k.to, value, s)
}

func (c *Config) putWord(name, word string, s setting) error {
	k, err := c.find(name, s.from)
	if err != nil {
		return err
	}
	s.words = []string{word}
	return c.put(k, s)
}

// whole checks a number and puts a unit to it.
func whole(low, high int, unit string) func(string) (string, error) {
	return func(word string) (string, error) {
		n, err := between(low, high)(setting{words: []string{word}})
		return strconv.Itoa(n) + unit, err
	}
}

const largestFile = 100 << 20

func fileSize(word string) (string, error) {
	n, err := quota.ParseSize(word)
	if err != nil || n > largestFile {
		return "", fmt.Errorf("%q is not a size from 1 to %d (100MB)", word, largestFile)
	}
	return strconv.FormatInt(n, 10), nil
}

func noneIfZero(word string) (string, error) {
	n, err := strconv.ParseInt(word, 10, 64)
	switch {
	case err != nil || n < 0:
		return "", fmt.Errorf("%q is not a whole number from 0, which means no limit, to %d", word, int64(math.MaxInt64))
	case n == 0:
		return "none", nil
	}
	return word, nil
}

// yesOrNo knows two more words than [truth].
func yesOrNo(word string) (string, error) {
	switch strings.ToLower(word) {
	case "enable", "enabled":
		word = "true"
	case "disable", "disabled":
		word = "false"
	}
	_, err := truth(setting{words: []string{word}})
	return word, err
}

// parseRC takes in the settings file of llmcmd, in either form: JSON, or lines of
// names and values.
func (c *Config) parseRC(path string, local bool, text []byte) (secret bool, err error) {
	text = []byte(strings.TrimPrefix(string(text), "\ufeff"))
	r := rcReader{config: c, path: path, base: setting{base: filepath.Dir(path), local: local}}
	if first := strings.TrimSpace(string(text)); strings.HasPrefix(first, "{") {
		err = r.json(text)
	} else {
		err = r.lines(string(text))
	}
	return r.secret, err
}

// An rcReader goes through one settings file of llmcmd.
type rcReader struct {
	config *Config
	path   string
	base   setting // what all settings of the file have in common
	secret bool
}

// scalar takes in one value. An empty one sets nothing.
func (r *rcReader) scalar(k rcKey, value, where string) error {
	if value == "" {
		return nil
	}
	r.secret = r.secret || k.to == string(OpenAIKey)
	s := r.base
	s.from = where
	return r.config.putRC(k, value, s)
}

// unknownRC refuses a name. It is only shown if it can be one: somebody may have
// pasted a key there.
func unknownRC(name, where string, known []string) error {
	e := &fault.Error{Kind: fault.Invalid, Op: "read settings", Subject: where, Why: "the name is not that of a setting",
		Hint: "it may hold " + strings.Join(known, ", ")}
	other := func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}
	if name == "" || len(name) > 40 || strings.ContainsFunc(name, other) {
		return e
	}
	e.Why = fmt.Sprintf("there is no setting %q", name)
	if near, ok := fault.Nearest(strings.ToLower(name), known); ok {
		e.Hint = fmt.Sprintf("did you mean %s?", near)
	}
	return e
}
