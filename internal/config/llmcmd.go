package config

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

var llmcmdKeys = []key{
	LlmcmdPreset, LlmcmdPresets, LlmcmdSystemPrompt, LlmcmdSystemPrompts, LlmcmdInternalModel, LlmcmdTemperature,
	LlmcmdReadSize, LlmcmdDisableTools, LlmcmdRetries, LlmcmdRetryDelay,
}

// What llmcmd tells a model before the request.
var (
	LlmcmdPreset = Key[string]{Name: "llmcmd.preset", Parse: text, Default: constant("general"), Local: harmless,
		Help: "which instructions stand before a request: general, diff_patch, code_review, data_proc, one of your own, or auto, which chooses by the input"}
	LlmcmdPresets = Key[[]UserPreset]{Name: "llmcmd.presets", Fields: "about text", Parse: presets, Decides: whatTold,
		Help: "presets of your own, as haiku: {about: a poem, text: Write a haiku.}; one with a name that there is takes its place"}
	LlmcmdSystemPrompt = Key[string]{Name: "llmcmd.system_prompt", Parse: prose, Decides: whatTold,
		Help: "instructions that take the place of hako's own before every request; empty means hako's own"}
	LlmcmdSystemPrompts = Key[map[string]string]{Name: "llmcmd.system_prompts", Fields: "text", Parse: prompts,
		Decides: whatTold,
		Help:    "the same for single models, as gpt-4o: You work over file descriptors.; it counts if llmcmd.system_prompt is not set"}
)

// How llmcmd asks.
var (
	LlmcmdInternalModel = Key[string]{Name: "llmcmd.internal_model", Parse: text,
		Decides: whereData + " and what it costs",
		Help:    "which model llmcmd asks when a script calls it; empty means the same"}
	LlmcmdTemperature = Key[Maybe]{Name: "llmcmd.temperature", Parse: temperature, Local: harmless,
		Help: "how freely a model words its answer, from 0 to 2; empty means as the provider likes"}
	LlmcmdReadSize = Key[int]{Name: "llmcmd.read_size", Parse: readSize, Default: constant(mostRead), Local: harmless,
		Help: "bytes that a model gets in one read if it does not say, from 1 to 65536; no read gives more than 4096"}
	LlmcmdDisableTools = Key[bool]{Name: "llmcmd.disable_tools", Parse: truth, Decides: "what a model may do",
		Help: "true or false: whether a model gets no tools and answers at once"}
	LlmcmdRetries = Key[int]{Name: "llmcmd.retries", Parse: between(0, 10), Default: constant(3), Local: harmless,
		Help: "how often a busy provider is asked again, from 0 to 10"}
	LlmcmdRetryDelay = Key[time.Duration]{Name: "llmcmd.retry_delay", Parse: pause, Default: constant(time.Second),
		Local: harmless,
		Help:  "how long to wait before that, from 0s to 60s; doubled each time"}
)

// A UserPreset is a set of instructions that the user wrote.
type UserPreset struct{ Name, About, Text string }

// Presets returns the user's presets, by name.
func (c *Config) Presets() []UserPreset { return LlmcmdPresets.Of(c).V }

// SystemPrompt returns the instructions that the user wrote for a model, named as
// in the settings; empty means none.
func (c *Config) SystemPrompt(model string) string {
	if own := LlmcmdSystemPrompt.Of(c).V; own != "" {
		return own
	}
	return LlmcmdSystemPrompts.Of(c).V[model]
}

func presets(s setting) ([]UserPreset, error) {
	byName := make(map[string]UserPreset)
	for _, r := range s.rows {
		if _, err := text(setting{words: []string{r.name}}); err != nil || r.name == "auto" {
			return nil, fmt.Errorf("%q cannot be the name of a preset", r.name)
		}
		p := UserPreset{Name: r.name, About: strings.Join(strings.Fields(r.fields["about"]), " ")}
		var err error
		if p.Text, err = prose(setting{words: []string{r.fields["text"]}}); err != nil {
			return nil, fmt.Errorf("%s: %v", r.name, err)
		}
		byName[r.name] = p
	}
	var all []UserPreset
	for _, name := range rowNames(s.rows) {
		all = append(all, byName[name])
	}
	return all, nil
}

func prompts(s setting) (map[string]string, error) {
	all := make(map[string]string)
	for _, r := range s.rows {
		p, err := prose(setting{words: []string{r.fields["text"]}})
		if err != nil {
			return nil, fmt.Errorf("%s: %v", r.name, err)
		}
		all[r.name] = p
	}
	return all, nil
}

// longest is more than anybody tells a model before every request.
const longest = 64 << 10

// prose reads a text of any number of lines.
func prose(s setting) (string, error) {
	word := strings.TrimSpace(s.words[0])
	odd := func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' && r != '\r' }
	switch {
	case word == "":
		return "", errors.New("the text is empty")
	case len(word) > longest:
		return "", fmt.Errorf("the text has %d bytes, at most %d are taken", len(word), longest)
	case !utf8.ValidString(word):
		return "", errors.New("the text is not UTF-8")
	case strings.ContainsFunc(word, odd):
		return "", errors.New("the text has control characters in it")
	}
	return word, nil
}

// A Maybe is a number that need not be set. The zero Maybe is not.
type Maybe struct {
	V   float64
	Set bool
}

// String returns the number, or nothing.
func (m Maybe) String() string {
	if !m.Set {
		return ""
	}
	return strconv.FormatFloat(m.V, 'f', -1, 64)
}

func temperature(s setting) (Maybe, error) {
	f, err := number(s, 0, 2)
	return Maybe{f, err == nil}, err
}

// number reads a decimal number.
func number(s setting, low, high float64) (float64, error) {
	word := strings.TrimSpace(s.words[0])
	f, err := strconv.ParseFloat(word, 64)
	if err != nil || math.IsNaN(f) || f < low || f > high || strings.ContainsAny(word, "xX_") {
		return 0, fmt.Errorf("%q is not a number from %v to %v", word, low, high)
	}
	return f, nil
}

// mostRead is what the read tool gives at most.
const mostRead = 4096

func readSize(s setting) (int, error) {
	n, err := between(1, 64<<10)(s)
	return min(n, mostRead), err
}

// pause reads a time that may be none at all.
func pause(s setting) (time.Duration, error) {
	word := s.words[0]
	if _, err := strconv.Atoi(word); err == nil {
		word += "s"
	}
	d, err := time.ParseDuration(word)
	if err != nil || d < 0 || d > time.Minute {
		return 0, fmt.Errorf("%q is not a time from 0s to 60s", s.words[0])
	}
	return d, nil
}
