// Package player makes sounds heard by a program of the machine that can play
// them.
//
// It decides nothing about what is played and knows nothing of models: the
// programs, their arguments and where they are looked for are all fixed here,
// and the only thing that comes from outside is the sound itself, in a file
// whose name we chose. That is why this runs outside the gate and the sandbox.
// The one rule to keep: nothing that a model or a workspace can write becomes a
// program, an argument or a variable of the environment.
package player

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
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

// Options are where to look.
type Options struct {
	Name string   // the program to use; empty means the first there is
	Dirs []string // where the programs are, in this order; nil means the directories of the system
	Env  []string // what the program gets a part of; nil means our own environment
}

// A Player is a program that plays a WAV and ends.
type Player struct {
	name string
	path string
	args []string // before the name of the file
	env  []string
}

// A program is one that can play.
type program struct {
	name string
	args []string
}

// programs lists what is looked for, the likeliest to work first.
func programs(system string) []program {
	switch system {
	case "darwin":
		return []program{{"afplay", nil}}
	case "windows":
		return nil // it has none that takes a file and ends
	}
	return []program{
		{"pw-play", nil},
		{"paplay", nil},
		{"aplay", []string{"-q"}},
		{"ffplay", []string{"-nodisp", "-autoexit", "-loglevel", "error", "-f", "wav", "-i"}},
		{"play", []string{"-q", "-t", "wav"}},
	}
}

// systemDirs are where programs come from that the system's owner put there.
// PATH is not asked: a workspace may be on it.
func systemDirs() []string {
	return []string{"/usr/bin", "/usr/local/bin", "/bin", "/opt/homebrew/bin"}
}

// Find looks for a program that can play. It is false if there is none.
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

// audible picks what a player needs to find the sound card. Variables that name
// code to load are not among it, whatever their prefix.
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

// Name returns what the program is called.
func (p *Player) Name() string { return p.name }

// Play plays a WAV to its end. When the context ends, the program and all it
// started are killed.
func (p *Player) Play(ctx context.Context, wav []byte) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	dir, err := os.MkdirTemp("", "hako-sound-*") // only its owner may enter it
	if err != nil {
		return p.problem("there is no room for the sound", reason(err))
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "speech.wav")
	if err := os.WriteFile(file, wav, 0o600); err != nil {
		return p.problem("there is no room for the sound", reason(err))
	}
	return p.run(ctx, dir, file)
}

func (p *Player) run(ctx context.Context, dir, file string) error {
	var said tail
	cmd := exec.CommandContext(ctx, p.path, append(slices.Clone(p.args), file)...)
	cmd.Dir, cmd.Env, cmd.Stderr = dir, p.env, &said
	cmd.WaitDelay = time.Second // for a child that keeps standard error open
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
		return p.problem("it cannot be started", reason(err))
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

// reason drops the names that package os puts before its reasons.
func reason(err error) string {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return err.Error()
}

// A tail keeps the last of what is written to it.
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

// last returns the last line that says something, fit for a terminal.
func (t *tail) last() string {
	lines := strings.Split(string(bytes.TrimSpace(t.kept)), "\n")
	words := strings.FieldsFunc(lines[len(lines)-1], func(r rune) bool {
		return unicode.IsSpace(r) ||
			!unicode.IsPrint(r)
	})
	runes := []rune(strings.Join(words, " "))
	return string(runes[:min(len(runes), maxWords)])
}
