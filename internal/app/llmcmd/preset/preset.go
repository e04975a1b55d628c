// Package preset holds the instructions that llmcmd puts before a request: a few
// of its own, each a text file here with its description in the first line, and
// the user's.
//
// It does not know where the user's come from nor how instructions are sent. The
// one rule to keep: what is chosen depends only on what is given, so that the
// same input makes the same request.
package preset

import (
	"embed"
	"fmt"
	"slices"
	"strings"

	"hako/run/fault"
)

// A Preset is a set of instructions with a name.
type Preset struct {
	Name  string
	About string // one line for people; may be empty
	Text  string // for the model
}

// Choose is the name that stands for what [Auto] picks. No preset has it.
const Choose = "auto"

// The presets there are. A new one is one more name and its file.
const (
	general    = "general"
	diffPatch  = "diff_patch"
	codeReview = "code_review"
	dataProc   = "data_proc"
)

var names = [...]string{general, diffPatch, codeReview, dataProc}

//go:embed *.md
var texts embed.FS

// All returns the presets: our own, which those of the user with the same name
// replace, then the others of the user in their order.
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

// load reads one of our own. That the file is there and in form is tested.
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
