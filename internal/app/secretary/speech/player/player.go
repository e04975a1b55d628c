// Package player plays sounds with a program of this machine.
//
// Programs, arguments and search path are fixed here; only the sound itself comes from outside, in a file
// whose name is chosen here. That is why this runs outside of the gate and the sandbox. Nothing that a model
// or a workspace can write becomes a program, an argument or a variable of the environment.
package player

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
	"unicode"

	"hako/run/fault"
)

// Options configure [Find].
type Options struct {
	Name string   // the program to use; empty means the first one found
	Dirs []string // search path; nil means the directories of the system
	Env  []string // filtered for the program; nil means os.Environ
}

// A Player is a program that plays a WAV.
type Player struct {
	name string
	path string
	args []string // before the file name
	env  []string
}

type program struct {
	name string
	args []string
}

// programs lists the known players, preferred ones first.
func programs(system string) []program {
	switch system {
	case "darwin":
		return []program{{"afplay", nil}}
	case "windows":
		return nil // no program takes a file and exits
	}
	return []program{
		{"pw-play", nil},
		{"paplay", nil},
		{"aplay", []string{"-q"}},
		{"ffplay", []string{"-nodisp", "-autoexit", "-loglevel", "error", "-f", "wav", "-i"}},
		{"play", []string{"-q", "-t", "wav"}},
	}
}

// systemDirs is the search path. PATH is not used: it may contain a workspace.
func systemDirs() []string {
	return []string{"/usr/bin", "/usr/local/bin", "/bin", "/opt/homebrew/bin"}
}

// Find finds a player. It returns false if there is none.
func Find(o Options) (*Player, bool) {
	if o.Dirs == nil {
		o.Dirs = systemDirs()
	}
	if o.Env == nil {
		o.Env = os.Environ()
	}
	for _, p := range programs(runtime.GOOS) {
		if o.Name != "" && o.Name != p.name {
			continue
		}
		for _, dir := range o.Dirs {
			if path := filepath.Join(dir, p.name); filepath.IsAbs(path) && executable(path) {
				return &Player{name: p.name, path: path, args: p.args, env: audible(o.Env)}, true
			}
		}
	}
	return nil, false
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// audible returns the variables that a player needs to find the sound card, but none that names code to load.
func audible(env []string) []string {
	wanted := []string{
		"HOME", "USER", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "DBUS_SESSION_BUS_ADDRESS",
		"PULSE_SERVER", "PULSE_SINK", "PULSE_COOKIE", "PULSE_RUNTIME_PATH",
		"PIPEWIRE_REMOTE", "PIPEWIRE_RUNTIME_DIR", "PIPEWIRE_NODE", "PIPEWIRE_LATENCY",
		"ALSA_CARD", "AUDIODEV", "AUDIODRIVER", "SDL_AUDIODRIVER",
	}
	kept := []string{"PATH=" + strings.Join(systemDirs(), ":"), "LC_ALL=C"}
	for _, kv := range env {
		if name, _, _ := strings.Cut(kv, "="); slices.Contains(wanted, name) {
			kept = append(kept, kv)
		}
	}
	return kept
}

func (p *Player) Name() string { return p.name }

// Play plays a WAV to its end. When ctx ends, the program and its children are killed.
func (p *Player) Play(ctx context.Context, wav []byte) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	dir, err := os.MkdirTemp("", "hako-sound-*") // only its owner may enter it
	if err != nil {
		return p.problem("there is no room for the sound", fault.Reason(err).Error())
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "speech.wav")
	if err := os.WriteFile(file, wav, 0o600); err != nil {
		return p.problem("there is no room for the sound", fault.Reason(err).Error())
	}
	return p.run(ctx, dir, file)
}

func (p *Player) run(ctx context.Context, dir, file string) error {
	var said tail
	cmd := exec.CommandContext(ctx, p.path, append(slices.Clone(p.args), file)...)
	cmd.Dir, cmd.Env, cmd.Stderr = dir, p.env, &said
	cmd.WaitDelay = time.Second // a child may keep standard error open
	group(cmd)
	err := cmd.Run()
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err == nil || errors.Is(err, exec.ErrWaitDelay):
		return nil
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return p.problem("it cannot be started", fault.Reason(err).Error())
	}
	return p.problem(fmt.Sprintf("it ended with %s", strings.TrimPrefix(exit.String(), "exit ")), said.last())
}

func (p *Player) problem(why, detail string) error {
	if detail != "" {
		why += ": " + detail
	}
	return &fault.Error{Kind: fault.Unavailable, Op: "play sound with", Subject: p.name, Why: why,
		Hint:     "check the sound card, or set speech.enabled to false",
		FlagHint: "check the sound card, or go without sound: --no-audio"}
}

// A tail keeps the end of what is written to it.
type tail struct{ kept []byte }

const (
	tailSize = 4 << 10
	maxWords = 200
)

func (t *tail) Write(p []byte) (int, error) {
	t.kept = append(t.kept, p[max(0, len(p)-tailSize):]...)
	t.kept = t.kept[max(0, len(t.kept)-tailSize):]
	return len(p), nil
}

// last returns the last line, safe for a terminal.
func (t *tail) last() string {
	lines := strings.Split(string(bytes.TrimSpace(t.kept)), "\n")
	words := strings.FieldsFunc(lines[len(lines)-1], func(r rune) bool {
		return unicode.IsSpace(r) ||
			!unicode.IsPrint(r)
	})
	runes := []rune(strings.Join(words, " "))
	return string(runes[:min(len(runes), maxWords)])
}
