// Package preset holds the system prompts of llmcmd: the built-in ones, each in a text file whose first line is
// its description, and the user's. The choice depends only on the inputs.
package preset

import (
	"embed"
	"fmt"
	"slices"
	"strings"

	"hako/run/fault"
)

// A Preset is a named system prompt.
type Preset struct {
	Name  string
	About string // one line for people; may be empty
	Text  string // for the model
}

// Choose is the name that stands for the choice of [Auto].
const Choose = "auto"

// The built-in presets.
const (
	general    = "general"
	diffPatch  = "diff_patch"
	codeReview = "code_review"
	dataProc   = "data_proc"
)

var names = [...]string{general, diffPatch, codeReview, dataProc}

//go:embed *.md
var texts embed.FS

// All returns the built-in presets, replaced by those of the user with the same name, then the others of the user.
func All(user []Preset) []Preset {
	all := make([]Preset, 0, len(names)+len(user))
	for _, name := range names {
		all = append(all, load(name))
	}
	for _, p := range user {
		if at := index(all, p.Name); at >= 0 {
			all[at] = p
		} else {
			all = append(all, p)
		}
	}
	return all
}

// load reads a built-in preset. A test checks the files.
func load(name string) Preset {
	text, err := texts.ReadFile(name + ".md")
	if err != nil {
		panic("preset " + name + ": " + err.Error())
	}
	about, rest, _ := strings.Cut(string(text), "\n")
	return Preset{Name: name, About: about, Text: strings.TrimSpace(rest)}
}

func index(all []Preset, name string) int {
	return slices.IndexFunc(all, func(p Preset) bool { return p.Name == name })
}

// Find returns the preset of that name.
func Find(name string, user []Preset) (Preset, error) {
	all := All(user)
	if at := index(all, name); at >= 0 {
		return all[at], nil
	}
	known := []string{Choose}
	for _, p := range all {
		known = append(known, p.Name)
	}
	hint := "the presets are " + strings.Join(known, ", ")
	if near, ok := fault.Nearest(name, known); ok && near != name {
		hint = fmt.Sprintf("did you mean %s?", near)
	}
	return Preset{}, &fault.Error{Kind: fault.Invalid, Op: "find preset", Subject: name, Why: "there is no such preset",
		Hint: hint}
}
