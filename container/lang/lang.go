// Package lang describes the language environments: their images, the environment of their commands, how dependencies
// are installed, and the prompts about them.
//
// Each environment is a YAML file in this folder.
//
// The rule to keep: names from a model or a project are only compared with those in the files, and never become part
// of a name, path or command.
package lang

import (
	"embed"
	"slices"
	"strings"
	"time"
)

// Paths and addresses in every container.
const (
	Workspace = "/workspace"         // the volume that commands may write to
	Project   = "/workspace/project" // the clone
	Home      = "/workspace/.home"
	Temp      = "/workspace/tmp"

	CABundle   = "/etc/ssl/hako/ca.pem" // the first result of [Bundle]
	TrustStore = "/etc/ssl/hako/ca.jks" // the second

	ProxyHost = "127.0.0.1" // of the bridge to the proxy
	ProxyPort = "3128"
)

// A Language is an environment, in the form of its file.
type Language struct {
	Name        string            `yaml:"name"`        // as plans and settings spell it
	Order       int               `yaml:"order"`       // its place in lists; those with zero come last
	Image       string            `yaml:"image"`       // what it runs from
	Base        string            `yaml:"base"`        // what the image is built on
	Dockerfile  string            `yaml:"dockerfile"`  // in the folder docker
	Description string            `yaml:"description"` // one line
	Use         words             `yaml:"use"`         // what it is recommended for
	Packages    string            `yaml:"packages"`    // how libraries are installed, for the model
	Env         map[string]string `yaml:"env"`         // added to the variables that all environments have
	Path        words             `yaml:"path"`        // directories of programs, before those of the image
	Folders     words             `yaml:"folders"`     // below [Workspace], that its tools expect
	Install     []Step            `yaml:"install"`     // in order
}

// A Step installs dependencies of one kind.
type Step struct {
	Name    string        `yaml:"name"`    // unique in its environment
	Group   string        `yaml:"group"`   // of all steps in a group the first that fits is taken; empty means its own
	When    words         `yaml:"when"`    // files that must all be in the project
	Needs   words         `yaml:"needs"`   // programs that must all be installed
	Key     words         `yaml:"key"`     // files, or patterns, whose contents decide whether a kept result is still valid
	Keep    words         `yaml:"keep"`    // directories, or patterns, below [Workspace] that are kept; empty means nothing
	Command string        `yaml:"command"` // for the container's shell, in the project
	Timeout time.Duration `yaml:"timeout"` // zero means the installer's default
}

//go:embed *.yaml
var files embed.FS

//go:embed system_prompt_command_executor.txt
var systemPrompt string

// All returns the environments in order. Projects can have several languages, so each environment also has the
// install steps of groups that only others define.
func All() ([]Language, error) {
	own, err := described()
	if err != nil {
		return nil, err
	}
	list := slices.Clone(own)
	for i := range list {
		list[i].Install = borrow(list[i].Install, own)
	}
	return list, nil
}

// described returns the environments as in their files.
func described() ([]Language, error) {
	entries, err := files.ReadDir(".")
	if err != nil {
		return nil, err
	}
	var list []Language
	for _, e := range entries {
		text, err := files.ReadFile(e.Name())
		if err != nil {
			return nil, err
		}
		l, err := read(e.Name(), text)
		if err != nil {
			return nil, err
		}
		list = append(list, l)
	}
	slices.SortFunc(list, before)
	return list, nil
}

// borrow adds steps of other languages, each group from the first that has it.
func borrow(steps []Step, from []Language) []Step {
	steps = slices.Clone(steps)
	for _, l := range from {
		groups, names := map[string]bool{}, map[string]bool{}
		for _, s := range steps {
			groups[s.Group], names[s.Name] = s.Group != "", true
		}
		for _, s := range l.Install {
			if !groups[s.Group] && !names[s.Name] {
				steps = append(steps, s)
			}
		}
	}
	return steps
}

// Unlisted returns an environment without a file: a user's own image, with the steps of all languages.
func Unlisted(name, image string) (Language, error) {
	own, err := described()
	l := Language{Name: name, Image: image, Description: "an image of your own",
		Use:      []string{"what the image " + image + " was made for"},
		Packages: "with the package managers that are installed in the image", Install: borrow(nil, own)}
	return l, err
}

func before(a, b Language) int {
	switch {
	case a.Order == b.Order:
		return strings.Compare(a.Name, b.Name)
	case a.Order == 0:
		return 1
	case b.Order == 0:
		return -1
	}
	return a.Order - b.Order
}

func Find(name string) (Language, bool) {
	all, err := All()
	i := slices.IndexFunc(all, func(l Language) bool { return l.Name == name })
	if err != nil || i < 0 {
		return Language{}, false
	}
	return all[i], true
}
