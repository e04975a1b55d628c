package config

import (
	"fmt"
	"strconv"
	"strings"
)

// A UserPreset is a set of instructions that the user wrote.
type UserPreset struct{ Name, About, Text string }

// Presets returns the user's presets, by name.
func (c *Config) Presets() []UserPreset { return LlmcmdPresets.Of(c).V }

// SystemPrompt returns the instructions that the user wrote for a model, named as in the settings; empty means none.
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
	return tableValues(s, "text", prose, func(string) error { return nil })
}

// A maybe is a number that need not be set. The zero Maybe is not.
type maybe struct {
	V   float64
	Set bool
}

// String returns the number, or nothing.
func (m maybe) String() string {
	if !m.Set {
		return ""
	}
	return strconv.FormatFloat(m.V, 'f', -1, 64)
}

func temperature(s setting) (maybe, error) {
	f, err := floatBetween(0, 2)(s)
	return maybe{f, err == nil}, err
}

// maxRead is how many bytes the read tool returns at most.
const maxRead = 4096

func readSize(s setting) (int, error) {
	n, err := between(1, 64<<10)(s)
	return min(n, maxRead), err
}
