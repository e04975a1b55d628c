package lang

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

type compose struct {
	Services map[string]struct {
		Build struct {
			Context    string            `yaml:"context"`
			Dockerfile string            `yaml:"dockerfile"`
			Args       map[string]string `yaml:"args"`
		} `yaml:"build"`
		Image      string   `yaml:"image"`
		Profiles   []string `yaml:"profiles"`
		Command    any      `yaml:"command"`
		Ports      any      `yaml:"ports"`
		Privileged bool     `yaml:"privileged"`
		Volumes    any      `yaml:"volumes"`
	} `yaml:"services"`
}

func readCompose(t *testing.T) (c compose) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docker-compose.yml"))
	if err == nil {
		err = yaml.Unmarshal(text, &c)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// What is built by hand with docker compose is what hako builds and looks for.
func TestComposeBuildsTheEnvironments(t *testing.T) {
	c := readCompose(t)
	for _, l := range everything(t) {
		s, there := c.Services["executor-"+l.Name]
		if !there {
			t.Errorf("there is no service executor-%s", l.Name)
			continue
		}
		if s.Image != l.Image || s.Build.Dockerfile != l.Dockerfile || filepath.Clean(s.Build.Context) != "docker" {
			t.Errorf("executor-%s builds %s from %s in %s, not %s from %s in docker", l.Name, s.Image, s.Build.Dockerfile,
				s.Build.Context, l.Image, l.Dockerfile)
		}
	}
	if len(c.Services) != len(everything(t)) {
		t.Errorf("there are %d services for %d environments", len(c.Services), len(everything(t)))
	}
}

// Without the profile nothing is ever started, and with it nothing that does
// anything.
func TestComposeStartsNothing(t *testing.T) {
	for name, s := range readCompose(t).Services {
		if !slices.Equal(s.Profiles, []string{"executor-build"}) {
			t.Errorf("%s has the profiles %q", name, s.Profiles)
		}
		if s.Command == nil {
			t.Errorf("%s would be started with the command of its image", name)
		}
		if s.Privileged || s.Volumes != nil || s.Ports != nil {
			t.Errorf("%s is given something of this machine", name)
		}
	}
}

var argBase = regexp.MustCompile(`(?m)^ARG BASE=(\S+)\nFROM \$\{BASE\}$`)

func TestDockerfilesAgree(t *testing.T) {
	var there []string
	found, _ := filepath.Glob(filepath.Join(root, "docker", "Dockerfile-executor-*"))
	for _, f := range found {
		there = append(there, filepath.Base(f))
	}
	for _, l := range everything(t) {
		there = slices.DeleteFunc(there, func(f string) bool { return f == l.Dockerfile })
		text, err := os.ReadFile(filepath.Join(root, "docker", l.Dockerfile))
		if err != nil {
			t.Error(err)
			continue
		}
		if base := argBase.FindSubmatch(text); base == nil || string(base[1]) != l.Base {
			t.Errorf("%s does not begin with ARG BASE=%s and FROM ${BASE}", l.Dockerfile, l.Base)
		}
		for _, line := range []string{"USER executor", "WORKDIR /workspace"} {
			if !slices.Contains(strings.Split(string(text), "\n"), line) {
				t.Errorf("%s has no %q", l.Dockerfile, line)
			}
		}
	}
	if len(there) > 0 {
		t.Errorf("no environment knows of %q", there)
	}
}
