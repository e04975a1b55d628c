// Package host runs programs of this machine under one root directory, in an OS sandbox.
//
// [New] returns a [Runner], a run.Runner whose shell is hako's own interpreter (package shell). Each program that a
// script names is looked up on a fixed path, gets a new environment, and is started by package sandbox: in
// namespaces, with mounts, Landlock, seccomp and limits that hold it to the root. When a request ends, nothing of it
// runs any more. A program that uses this package calls sandbox.Main first thing in main: the runner starts the
// executable again as the sandbox's helper.
//
// What may be run is not decided here: put a gate before the Runner. Nothing is started but through the sandbox.
package host

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"mvdan.cc/sh/v3/syntax"

	"hako/host/sandbox"
	"hako/internal/ownerfile"
	"hako/internal/protect"
	"hako/quota"
	"hako/run"
	"hako/run/fault"
	"hako/shell"
	"hako/shell/vfs"
)

// Options configure a Runner.
type Options struct {
	Root     string         // the directory to work in; it must exist
	Path     []string       // more directories with programs, searched before the system's
	Readable []string       // more directories and files that programs may read
	Protect  []string       // names in Root that cannot be changed; nil means protect.Default, an empty list none
	Hide     []string       // paths in Root to hide
	Network  bool           // programs may use the network
	Least    sandbox.Level  // the weakest acceptable sandbox; zero means LandlockOnly
	Limits   sandbox.Limits // of programs
	Timeout  time.Duration  // of requests without one; zero means 30 s
	Limiter  *quota.Limiter // of the interpreter; nil means one of ShellLimits
	Env      []string       // NAME=value pairs for every program, in addition to the defaults

	// Parse parses text that turns out to be a script. Nil means a bash parser without limits.
	Parse func(src string) (*syntax.File, error)
}

// ShellLimits are the limits of the interpreter. Programs have limits of their own, their output is cut rather than
// refused, and each request has a timeout.
func ShellLimits() quota.ScriptLimits {
	l := quota.Lenient()
	l.Time, l.Output = 24*time.Hour, 1<<40
	return l
}

// defaultTimeout is the timeout of requests that set none.
const defaultTimeout = 30 * time.Second

// A Runner runs scripts with programs of this machine. It is a [run.Runner]: requests run one at a time, directory
// and variables persist. When a request has ended, all its processes have ended.
type Runner struct {
	o          Options
	temp       *ownerfile.Dir
	search     *programSearch
	session    *shell.Session
	protection *protection // of names in the root

	fs *vfs.FS

	snapshotting sync.Mutex // held during a snapshot of what is protected
	running      sync.Mutex // held by the running request, until its processes have ended
	mu           sync.Mutex // guards what follows
	sandbox      *sandbox.Sandbox
	dirs         []*os.Root  // of the sandbox, mounted in fs
	dirty        atomic.Bool // programs were started since the last sweep
}

// New builds a sandbox and a runner in it.
func New(ctx context.Context, o Options) (*Runner, error) {
	if err := o.resolve(); err != nil {
		return nil, err
	}
	temp, err := newTemp()
	if err != nil {
		return nil, err
	}
	r := &Runner{o: o, temp: temp, search: newSearch(o.Root, o.Path)}
	if err := r.build(ctx); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// resolve applies defaults and resolves symbolic links: the sandbox must not depend on them.
func (o *Options) resolve() error {
	if o.Timeout == 0 {
		o.Timeout = defaultTimeout
	}
	if o.Limiter == nil {
		o.Limiter = quota.NewLimiter(ShellLimits())
	}
	if o.Least == sandbox.None {
		o.Least = sandbox.LandlockOnly
	}
	if o.Protect == nil {
		o.Protect = protect.Default()
	}
	root, err := realPath(o.Root)
	if err != nil {
		return &fault.Error{Kind: fault.NotFound, Op: "open root", Subject: o.Root, Err: err,
			Hint: "name a directory that exists", FlagHint: "name a directory that exists: --root DIR"}
	}
	if info, err := os.Stat(root); err == nil && !info.IsDir() {
		return &fault.Error{Kind: fault.Invalid, Op: "open root", Subject: o.Root, Why: "it is not a directory",
			Hint: "name a directory that exists", FlagHint: "name a directory that exists: --root DIR"}
	}
	o.Root = root
	if err := Usable(root); err != nil {
		return err
	}
	readable := o.Readable[:0:0]
	for _, name := range append(o.Readable, o.Path...) {
		if real, err := realPath(name); err == nil && !tooWide(real) {
			readable = append(readable, real)
		}
	}
	o.Readable = readable
	return nil
}

// Usable refuses directories that are never suitable as a root. The path must not contain symbolic links.
func Usable(root string) error {
	if tooWide(root) {
		return &fault.Error{Kind: fault.Invalid, Op: "open root", Subject: root, Why: "programs would reach the whole system",
			Hint: "name the directory of a project", FlagHint: "name the directory of a project: --root DIR"}
	}
	if slices.ContainsFunc(strings.Split(root, "/"), func(part string) bool { return protect.SameName(part, ".git") }) {
		return &fault.Error{Kind: fault.Invalid, Op: "open root", Subject: root,
			Why: "it is what git keeps for itself, and runs", Hint: "name the directory of the project",
			FlagHint: "name the directory of the project: --root DIR"}
	}
	if holdsHome(root) {
		return &fault.Error{Kind: fault.Invalid, Op: "open root", Subject: root,
			Why:  "keys lie in a home directory, and what is written there runs at the next login",
			Hint: "name the directory of a project", FlagHint: "name the directory of a project: --root DIR"}
	}
	return nil
}

func newTemp() (*ownerfile.Dir, error) {
	d, err := ownerfile.MakeDir("", "hako-host-")
	if err == nil {
		err = os.MkdirAll(filepath.Join(tempOf(d), "home"), 0o700)
	}
	if err != nil {
		return nil, &fault.Error{Op: "make temporary directory", Err: err, Hint: "make room in " + os.TempDir() +
			", or set TMPDIR"}
	}
	return d, nil
}

// tempOf returns the part of it that programs see, without the lock.
func tempOf(d *ownerfile.Dir) string { return filepath.Join(d.Path, "tmp") }

func realPath(name string) (string, error) {
	abs, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(abs)
	var detail *os.PathError
	if errors.As(err, &detail) {
		err = detail.Err
	}
	return real, err
}

// holdsHome reports whether a directory is, or contains, the user's home directory.
func holdsHome(dir string) bool {
	home, _ := os.UserHomeDir()
	return slices.ContainsFunc([]string{home, passwdHome(), "/root"}, func(home string) bool {
		real, err := realPath(home)
		return home != "" && err == nil && below(dir, real)
	})
}

// passwdHome returns the home directory in /etc/passwd: HOME may be unset or different.
func passwdHome() string {
	text, err := os.ReadFile("/etc/passwd")
	if err != nil {
		return ""
	}
	uid := strconv.Itoa(os.Getuid())
	for line := range strings.Lines(string(text)) {
		if f := strings.Split(strings.TrimSpace(line), ":"); len(f) == 7 && f[2] == uid {
			return f[5]
		}
	}
	return ""
}

// tooWide reports whether a directory is too broad for any program.
func tooWide(dir string) bool {
	switch dir {
	case "/", "/var", "/run", "/home", "/tmp", "/opt", "/srv", "/mnt", "/media", "/var/tmp":
		return true
	}
	system := []string{"/proc", "/sys", "/dev", "/etc", "/boot", "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64",
		"/var/lib", "/var/log", "/var/spool"}
	return slices.ContainsFunc(system, func(top string) bool { return below(top, dir) })
}

func (r *Runner) build(ctx context.Context) error {
	r.fs = vfs.New(vfs.Options{Limiter: r.o.Limiter, Protect: r.o.Protect})
	r.protection = newProtection(r.o.Root, r.o.Protect)
	if _, err := r.ensureSandbox(ctx); err != nil {
		return err
	}
	r.session = shell.New(shell.Options{
		FS: r.fs, Limiter: r.o.Limiter, Dir: filepath.ToSlash(r.o.Root), Env: r.environment(), Parse: r.o.Parse,
		Find: r.find, Names: r.search.names, Unknown: r.search.hint, Jobs: true,
	})
	return nil
}

// ensureSandbox returns the sandbox, and builds one if there is none.
func (r *Runner) ensureSandbox(ctx context.Context) (*sandbox.Sandbox, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sandbox != nil {
		return r.sandbox, nil
	}
	c, err := sandbox.New(ctx, r.o.plan(tempOf(r.temp)), r.o.Least)
	if err != nil {
		return nil, err
	}
	err = r.o.exposed(c.Report.Level)
	if err == nil {
		err = r.mount(c)
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	r.sandbox = c
	return c, nil
}

func (o *Options) plan(temp string) sandbox.Plan {
	return sandbox.Plan{Root: o.Root, Temp: temp, Readable: o.Readable, Protect: o.Protect, Hide: o.Hide,
		Network: o.Network, Limits: o.Limits}
}

// mount gives the shell the directories as programs see them: a redirection must not reach what is hidden or
// protected from them.
func (r *Runner) mount(c *sandbox.Sandbox) error {
	for _, m := range []struct {
		at   string
		open func() (*os.Root, error)
	}{{c.Report.TempDir, c.Temp}, {r.o.Root, c.Root}} {
		dir, err := m.open()
		if err != nil {
			return err
		}
		r.dirs = append(r.dirs, dir)
		if err := r.fs.MountRoot(filepath.ToSlash(m.at), dir, true); err != nil {
			return err
		}
	}
	return nil
}

// exposed refuses a root that contains something that cannot be hidden.
func (o *Options) exposed(level sandbox.Level) error {
	if level != sandbox.LandlockOnly {
		return nil
	}
	for _, path := range o.Hide {
		if _, err := os.Lstat(path); err == nil && below(o.Root, path) {
			return &fault.Error{Kind: fault.Denied, Op: "open root", Subject: o.Root,
				Why:  path + " lies in it and cannot be hidden at the level " + level.String(),
				Hint: "work in another directory", FlagHint: "work in another directory: --root DIR"}
		}
	}
	return nil
}

// closeSandbox closes a broken sandbox.
func (r *Runner) closeSandbox() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sandbox != nil {
		r.sandbox.Close()
		r.sandbox = nil
	}
	for _, dir := range r.dirs {
		dir.Close()
	}
	r.dirs = nil
}

// Status describes the sandbox.
func (r *Runner) Status() sandbox.Report {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sandbox == nil {
		return sandbox.Report{}
	}
	return r.sandbox.Report
}

// Run implements [run.Runner].
func (r *Runner) Run(ctx context.Context, req *run.Request) (run.Result, error) {
	r.running.Lock()
	defer r.running.Unlock()
	if _, err := r.ensureSandbox(ctx); err != nil {
		return run.Result{Exit: notStarted}, err
	}
	bounded := *req
	if bounded.Timeout <= 0 {
		bounded.Timeout = r.o.Timeout
	}
	res, err := r.session.Run(ctx, &bounded)
	if r.dirty.Swap(false) {
		r.sweep()
		r.protection.restore(req.Stderr)
	}
	return res, err
}

// Probe returns which sandbox this machine allows.
func Probe(ctx context.Context, o Options) (sandbox.Report, error) {
	if err := o.resolve(); err != nil {
		return sandbox.Report{}, err
	}
	temp, err := newTemp()
	if err != nil {
		return sandbox.Report{}, err
	}
	defer temp.Remove()
	return sandbox.Probe(ctx, o.plan(tempOf(temp))), nil
}

// notStarted is the exit status of a program that could not be started, as in shells.
const notStarted = 126

// sweep ends the processes that programs left behind. If that fails, it closes the sandbox, which ends everything in
// it.
func (r *Runner) sweep() {
	r.mu.Lock()
	c := r.sandbox
	r.mu.Unlock()
	if c != nil && c.Sweep() != nil {
		r.closeSandbox()
	}
}

// Dir returns the working directory of the session.
func (r *Runner) Dir() string { return r.session.WorkDir() }

// Close ends all processes in the sandbox and removes its temporary files.
func (r *Runner) Close() {
	r.closeSandbox()
	if r.session != nil {
		r.session.Close()
	}
	_ = r.temp.Remove()
}
