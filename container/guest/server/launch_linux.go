package server

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"hako/container/guest"
	"hako/container/guest/procgroup"
	"hako/container/guest/usage"
	"hako/container/guest/wire"
	"hako/run/fault"
)

// A launcher starts programs.
type launcher interface {
	Start(procgroup.Program) (*procgroup.Process, error)
}

// An execContext is the environment of commands.
type execContext struct {
	uid, gid int // user and group ID of commands; zero means our own
	dir      string
	within   string   // commands must start in or below it; empty means anywhere
	env      []string // of every command
	launcher launcher
	running  *runningCommands
	large    *buffers
	starts   semaphore // limits concurrent starts
}

// newExecContext inspects the container that the guest runs in.
func newExecContext(o guest.Options, with launcher) execContext {
	s := execContext{uid: o.UID, gid: cmp.Or(o.GID, o.UID), dir: o.Dir, launcher: with, env: os.Environ(),
		running: newRunningCommands(usage.Groups), large: newBuffers(), starts: make(semaphore, maxConcurrent)}
	if o.Within != "" {
		s.within = resolved(o.Within)
	}
	user, home := userOf(o.UID)
	if o.UID == 0 && home == "" {
		home = os.Getenv("HOME")
	}
	home = cmp.Or(o.Home, cmp.Or(home, o.Dir))
	s.env = merged(s.env, []string{"HOME=" + home})
	if o.UID != 0 && user != "" {
		s.env = merged(s.env, []string{"USER=" + user, "LOGNAME=" + user})
	}
	if value(s.env, "PATH") == "" {
		s.env = merged(s.env, []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"})
	}
	return s
}

// userOf looks a user up in /etc/passwd. Package os/user would be larger.
func userOf(uid int) (user, home string) {
	text, err := os.ReadFile("/etc/passwd")
	if err != nil || uid == 0 {
		return "", ""
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Split(strings.TrimSuffix(line, "\n"), ":"); len(f) == 7 && f[2] == strconv.Itoa(uid) {
			return f[0], f[5]
		}
	}
	return "", ""
}

// resolved resolves links of an existing path.
func resolved(dir string) string {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	return dir
}

func (s execContext) launch(o wire.CommandRequest) (*runningCommand, error) {
	defer s.starts.take()()
	cmd := s.running.begin()
	p, err := s.start(o, cmd.sealed)
	if err != nil {
		cmd.leave()
		return nil, err
	}
	cmd.started(p)
	return cmd, nil
}

func (s execContext) start(o wire.CommandRequest, seal bool) (*procgroup.Process, error) {
	dir, err := s.enter(o.Dir)
	if err != nil {
		return nil, err
	}
	env := merged(s.env, append([]string{"PWD=" + dir}, o.Env...))
	p := procgroup.Program{Path: shell(), Dir: dir, Env: env, Stdin: o.Stdin}
	name := filepath.Base(p.Path)
	p.Argv = append([]string{name, "-c", o.Script, name}, o.Args...)
	run := p
	if seal {
		run = sealed(p)
	}
	c, err := s.launcher.Start(run)
	if err != nil {
		return nil, notStarted(p, err)
	}
	return c, nil
}

// shell returns the shell for scripts. It is looked up every time, because programs can be installed.
func shell() string {
	for _, name := range []string{"/bin/bash", "/usr/bin/bash"} {
		if info, err := os.Stat(name); err == nil && !info.IsDir() && info.Mode()&0o111 != 0 {
			return name
		}
	}
	return "/bin/sh"
}

// enter finds the working directory of a command. Links are resolved first, so that none leads out of the workspace,
// and as the user: root's view is not for everybody.
func (s execContext) enter(asked string) (dir string, err error) {
	dir = asked
	if !path.IsAbs(dir) {
		dir = path.Join(s.dir, dir)
	}
	if s.within == "" {
		return dir, checkDir(dir, asked, nil)
	}
	real := ""
	denied := procgroup.As(s.uid, s.gid, func() {
		real, err = filepath.EvalSymlinks(dir)
		if err == nil && isBelow(real, s.within) || (errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)) &&
			isBelow(dir, s.within) {
			err = checkDir(real, cmp.Or(asked, dir), err)
			return
		}
		err = &fault.Error{Kind: fault.Denied, Op: "run command in", Subject: cmp.Or(asked, dir), Why: "it is not below " +
			s.within + ", or cannot be entered",
			Hint: "name a directory below " + s.within}
	})
	if denied != nil {
		return "", denied
	}
	return real, err
}

func isBelow(dir, root string) bool {
	return dir == root || root == "/" || strings.HasPrefix(path.Clean(dir), root+"/")
}

// checkDir reports whether commands can start in a directory; err is the result of an earlier check.
func checkDir(dir, asked string, err error) error {
	var info fs.FileInfo
	if err == nil {
		info, err = os.Stat(dir)
	}
	switch {
	case err == nil && !info.IsDir():
		return &fault.Error{Kind: fault.Invalid, Op: "run command in", Subject: cmp.Or(asked, dir),
			Why: "it is not a directory", Hint: "name a directory"}
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return &fault.Error{Kind: fault.NotFound, Op: "run command in", Subject: cmp.Or(asked, dir),
			Why: "there is no such directory", Hint: "make it first, or name another"}
	}
	return nil // the system reports it as the user of the command
}

// A startError reports why a command did not start, as shells do: by a status and a line.
type startError struct {
	status int
	text   string
}

func (e *startError) Error() string { return e.text }

// notStarted explains an error of the system.
func notStarted(p procgroup.Program, err error) error {
	name := p.Argv[0]
	var f *fault.Error
	switch {
	case errors.As(err, &f):
		return f
	case errors.Is(err, syscall.ENOENT), errors.Is(err, syscall.ENOTDIR):
		return &startError{127, name + ": no such file or directory"}
	case errors.Is(err, syscall.E2BIG):
		return wire.Refused("", "its words and variables are longer than the system takes",
			"pass the text by standard input or in a file")
	case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.ENOMEM):
		return &fault.Error{Kind: fault.Exhausted, Op: "run command", Why: "the container has no room for another process",
			Err: err, Hint: "end some of those that run"}
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return &fault.Error{Kind: fault.Exhausted, Op: "run command", Why: "the guest has no room for another command",
			Err: err, Hint: "wait for some of those that run"}
	}
	return &startError{126, name + ": " + err.Error()}
}

// sealed wraps a program into one that can write to no file, but remove as many as it likes. The shell sets the limit as
// the user of the command: the guest may not set it for another user's process.
func sealed(p procgroup.Program) procgroup.Program {
	words := append([]string{p.Path}, p.Argv[1:]...)
	p.Path, p.Argv = "/bin/sh", append([]string{"sh", "-c", `ulimit -f 0 || exit 126; exec "$@"`, "sh"}, words...)
	return p
}

// merged returns pairs with more added; the last one of the same name wins.
func merged(pairs, more []string) []string {
	last := make(map[string]int, len(pairs)+len(more))
	list := make([]string, 0, len(pairs)+len(more))
	for _, add := range [][]string{pairs, more} {
		for _, pair := range add {
			if i, there := last[name(pair)]; there {
				list[i] = pair
				continue
			}
			last[name(pair)] = len(list)
			list = append(list, pair)
		}
	}
	return list
}

// name returns the name of a variable; empty if the pair is invalid.
func name(pair string) string {
	name, _, is := strings.Cut(pair, "=")
	if !is {
		return ""
	}
	return name
}

func value(pairs []string, want string) string {
	for _, pair := range pairs {
		if name, value, _ := strings.Cut(pair, "="); name == want {
			return value
		}
	}
	return ""
}
