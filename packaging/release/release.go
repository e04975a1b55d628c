package main

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

var allPlatforms = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64",
	"windows/arm64"}

// shells are those with completions.
var shells = []string{"bash", "zsh", "fish"}

// A release is what is to be built.
type release struct {
	version   string
	platforms []string
	man       string // the directory of manual pages
	out       string // the directory for the results
}

// make builds everything and then the checksums.
func (r *release) make() error {
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "hako-release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	common, err := r.papers(work)
	if err != nil {
		return err
	}
	var made []string
	for _, p := range r.platforms {
		names, err := r.platform(p, work, common)
		if err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
		made = append(made, names...)
	}
	return r.sums(made)
}

// papers returns the files that are the same for every platform.
func (r *release) papers(work string) ([]entry, error) {
	var all []entry
	for _, name := range []string{"LICENSE", "README.md", "hako.yaml.example"} {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		all = append(all, entry{name, text, 0o644})
	}
	pages, err := filepath.Glob(filepath.Join(r.man, "*.1"))
	if err != nil || len(pages) == 0 {
		return nil, fmt.Errorf("no manual pages in %s: make man writes them", r.man)
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			return nil, err
		}
		all = append(all, entry{"man/man1/" + filepath.Base(page), text, 0o644})
	}
	scripts, err := r.completions(work)
	return append(all, scripts...), err
}

// completions returns the output of hako completion for each shell.
func (r *release) completions(work string) (all []entry, err error) {
	program, err := r.program("hako", runtime.GOOS+"/"+runtime.GOARCH, work)
	if err != nil {
		return nil, err
	}
	for _, shell := range shells {
		text, err := exec.Command(program, "completion", shell).Output()
		if err != nil {
			return nil, fmt.Errorf("completion %s: %w", shell, err)
		}
		all = append(all, entry{"completions/hako." + shell, text, 0o644})
	}
	return all, nil
}

// platform builds the archive and the SBOM of one platform, and returns their names.
func (r *release) platform(platform, work string, common []entry) ([]string, error) {
	system, arch, _ := strings.Cut(platform, "/")
	name := fmt.Sprintf("hako_%s_%s_%s", strings.TrimPrefix(r.version, "v"), system, arch)
	ending, pack := "", tarGz
	if system == "windows" {
		ending, pack = ".exe", zipped
	}
	all := slices.Clone(common)
	for _, program := range programs {
		built, err := r.program(program, platform, work)
		if err != nil {
			return nil, err
		}
		text, err := os.ReadFile(built)
		if err != nil {
			return nil, err
		}
		all = append(all, entry{program + ending, text, 0o755})
	}
	archive, suffix, err := pack(name, all)
	if err != nil {
		return nil, err
	}
	built, err := r.program("hako", platform, work) // llmsh has no module that hako lacks
	if err != nil {
		return nil, err
	}
	bill, err := sbom(built)
	if err != nil {
		return nil, err
	}
	return []string{name + suffix, name + ".cdx.json"}, cmp.Or(
		os.WriteFile(filepath.Join(r.out, name+suffix), archive, 0o644),
		os.WriteFile(filepath.Join(r.out, name+".cdx.json"), bill, 0o644))
}

// programs are those in an archive.
var programs = []string{"hako", "llmsh"}

// program returns the path of a program for a platform; each is built once.
func (r *release) program(name, platform, work string) (string, error) {
	file := filepath.Join(work, name+"-"+strings.ReplaceAll(platform, "/", "-"))
	if _, err := os.Stat(file); err == nil {
		return file, nil
	}
	return file, r.build(name, platform, file)
}

// build builds one program, without traces of this machine.
func (r *release) build(name, platform, out string) error {
	system, arch, _ := strings.Cut(platform, "/")
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w -buildid= -X main.version="+
		r.version, "-o", out, "./cmd/"+name)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+arch, "GOFLAGS=")
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	return cmd.Run()
}

// sums writes checksums for sha256sum -c.
func (r *release) sums(names []string) error {
	var b strings.Builder
	slices.Sort(names)
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(r.out, name))
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%x  %s\n", sha256.Sum256(text), name)
	}
	return os.WriteFile(filepath.Join(r.out, "checksums.txt"), []byte(b.String()), 0o644)
}
