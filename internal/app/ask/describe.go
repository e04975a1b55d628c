package ask

import (
	"errors"

	"hako/llm"
	"hako/llm/tokens"
	"hako/quota"
)

// A Description is what a session would send.
type Description struct {
	Files    []llm.File `json:"files"`
	Fixed    int        `json:"fixed_tokens"` // in every request
	Model    string     `json:"model"`
	Parts    []Part     `json:"parts"`
	Provider string     `json:"provider"`
	System   string     `json:"system"`

	Request string     `json:"-"`
	Left    quota.Left `json:"-"`
}

// A Part is a part of the fixed prompt.
type Part struct {
	Name   string `json:"name"`
	Tokens int    `json:"tokens"`
}

// Describe returns what the session would send.
func (s *Session) Describe() (Description, error) {
	for _, t := range s.agent.Tools {
		s.dialog.Tools = append(s.dialog.Tools, t.Tool)
	}
	fixed, err := tokens.Request(&s.dialog)
	if err != nil {
		return Description{}, err
	}
	parts, err := tokenParts(&s.dialog)
	return Description{
		Model: s.Model.Name, Provider: s.Model.Provider, Files: s.request.Files, Fixed: fixed, Parts: parts,
		System: s.dialog.System, Request: s.Shell.Secrets.Text(s.request.Text), Left: s.Shell.Budget.Left(),
	}, err
}

func tokenParts(d *llm.Dialog) (parts []Part, err error) {
	one := func(name string, d llm.Dialog) {
		n, terr := tokens.Request(&d)
		parts = append(parts, Part{name, n})
		err = errors.Join(err, terr)
	}
	one("instructions", llm.Dialog{System: d.System})
	for _, t := range d.Tools {
		one("tool "+t.Name, llm.Dialog{Tools: []llm.Tool{t}})
	}
	return parts, err
}
