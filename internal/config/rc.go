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

// rcName is the name of llmcmd's settings file in the user's home. hako never writes it.
const rcName = ".llmcmdrc"

// An rcKey is a name in that file and our setting for it.
type rcKey struct {
	name    string
	env     string // environment variables of llmcmd, of which the first that is set counts; empty means none
	to      string
	kind    rcKind
	convert func(string) (string, error) // checks the value and converts it to ours; nil means unchanged
}

// An rcKind is how a value is written in JSON.
type rcKind string

const (
	rcText   rcKind = "a text in quotes"
	rcNumber rcKind = "a number without quotes"
	rcBool   rcKind = "true or false without quotes"
)

// rcKeys are the names with a single value. The ranges are those of the original program.
func rcKeys() []rcKey {
	return []rcKey{
		{"openai_api_key", "", string(OpenAIKey), rcText, nil},
		{"openai_base_url", "", string(OpenAIBaseURL), rcText, nil},
		{"model", "LLMCMD_MODEL", string(ModelName), rcText, nil},
		{"internal_model", "", string(LlmcmdInternalModel), rcText, nil},
		{"max_tokens", "LLMCMD_MAX_TOKENS", string(ModelMaxOutput), rcNumber, wholeNumber(1, 32768, "")},
		{"temperature", "LLMCMD_TEMPERATURE", string(LlmcmdTemperature), rcNumber, nil},
		{"max_api_calls", "LLMCMD_MAX_API_CALLS", "quota.calls", rcNumber, wholeNumber(1, 1000, "")},
		{"timeout_seconds", "LLMCMD_TIMEOUT LLMCMD_TIMEOUT_SECONDS", string(ModelTimeout), rcNumber,
			wholeNumber(1, 3600, "s")},
		{"max_file_size", "LLMCMD_MAX_FILE_SIZE", "limits.file_size", rcNumber, fileSize},
		{"read_buffer_size", "LLMCMD_READ_BUFFER_SIZE", string(LlmcmdReadSize), rcNumber, wholeNumber(1, 64<<10, "")},
		{"max_retries", "LLMCMD_MAX_RETRIES", string(LlmcmdRetries), rcNumber, wholeNumber(0, 10, "")},
		{"retry_delay_ms", "LLMCMD_RETRY_DELAY", string(LlmcmdRetryDelay), rcNumber, wholeNumber(0, 60000, "ms")},
		{"system_prompt", "", string(LlmcmdSystemPrompt), rcText, nil},
		{"default_prompt", "", string(LlmcmdPreset), rcText, nil},
		{"disable_tools", "", string(LlmcmdDisableTools), rcBool, enabledOrDisabled},
		{"quota_max_tokens", "", string(quotaTotal), rcNumber, noneIfZero},
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

// rcEnv returns the variables of llmcmd for one of our settings.
func rcEnv(to string) string {
	keys := rcKeys()
	if at := slices.IndexFunc(keys, func(k rcKey) bool { return k.to == to }); at >= 0 {
		return keys[at].env
	}
	return ""
}

// readRCEnv reads the variables of llmcmd, which override all others.
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

// putRC stores a value in our setting for it.
func (c *Config) putRC(k rcKey, value string, s setting) error {
	if k.convert != nil {
		word, err := k.convert(strings.TrimSpace(value))
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

// wholeNumber checks a number and appends a unit.
func wholeNumber(low, high int, unit string) func(string) (string, error) {
	return func(word string) (string, error) {
		n, err := between(low, high)(setting{words: []string{word}})
		return strconv.Itoa(n) + unit, err
	}
}

const maxRCFileSize = 100 << 20

func fileSize(word string) (string, error) {
	n, err := quota.ParseSize(word)
	if err != nil || n > maxRCFileSize {
		return "", fmt.Errorf("%q is not a size from 1 to %d (100MB)", word, maxRCFileSize)
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

// enabledOrDisabled also accepts enabled and disabled.
func enabledOrDisabled(word string) (string, error) {
	switch strings.ToLower(word) {
	case "enable", "enabled":
		word = "true"
	case "disable", "disabled":
		word = "false"
	}
	_, err := truth(setting{words: []string{word}})
	return word, err
}

// parseRC reads llmcmd's settings file in either form: JSON, or lines of name=value.
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

// An rcReader reads one settings file of llmcmd.
type rcReader struct {
	config *Config
	path   string
	base   setting // common to all settings of the file
	secret bool
}

// scalar stores one value. An empty one sets nothing.
func (r *rcReader) scalar(k rcKey, value, where string) error {
	if value == "" {
		return nil
	}
	r.secret = r.secret || k.to == string(OpenAIKey)
	s := r.base
	s.from = where
	return r.config.putRC(k, value, s)
}

// unknownRC refuses a name. It shows the name only if it could be one, because somebody may have pasted a key there.
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
