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
	Hide     []string       // full paths of what is not to be seen though it lies in Root
	Network  bool           // programs may use the network
	Least    sandbox.Level  // the weakest sandbox that will do; zero means LandlockOnly
	Limits   sandbox.Limits // of programs
	Timeout  time.Duration  // of a request that has none; zero means 30 s
	Limiter  *quota.Limiter // of the interpreter; nil means one of ShellLimits
	Env      []string       // NAME=value pairs for every program, besides the usual ones

	// Parse reads text that turns out to be a script. Nil means the parser for bash without bounds.
	Parse func(src string) (*syntax.File, error)
}

// ShellLimits are those of the interpreter. Programs have limits of their own,
// what they print is cut rather than refused, and each request has its timeout.
func ShellLimits() quota.ScriptLimits {
	l := quota.Lenient()
	l.Time, l.Output = 24*time.Hour, 1<<40
	return l
}

// DefaultTimeout is how long a request may take that says nothing about it.
const DefaultTimeout = 30 * time.Second

// A Runner runs scripts over real programs. It is a [run.Runner]; requests that
// come at the same time wait for each other, and directory and variables stay
// from one to the next. When a request has ended, nothing of it runs any more.
type Runner struct {
	o          Options
	temp       *ownerfile.Dir
	search     *programSearch
	session    *shell.Session
	protection *protection // what programs must not leave in the root

	fs *vfs.FS

	snapshotting sync.Mutex // held while what is protected is looked at
	running      sync.Mutex // held by the request that runs, up to its sweep
	mu           sync.Mutex // guards what follows
	sandbox      *sandbox.Sandbox
	dirs         []*os.Root  // of the cage, mounted in the tree
	dirty        atomic.Bool // programs were started since the last sweep
}

// New builds the sandbox and a runner in it.
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

// resolve fills in what was left out and resolves the names of directories: what
// the sandbox is told must not depend on links.
func (o *Options) resolve() error {
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
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

// Usable refuses directories that programs cannot be let loose on, whatever else
// is true of them. The path is free of symbolic links.
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

// newTemp makes the temporary directory of a sandbox.
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

// tempOf is the part of it that programs see: not the lock.
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

// holdsHome reports whether the user's home directory is, or lies in, a directory.
func holdsHome(dir string) bool {
	home, _ := os.UserHomeDir()
	return slices.ContainsFunc([]string{home, passwdHome(), "/root"}, func(home string) bool {
		real, err := realPath(home)
		return home != "" && err == nil && below(dir, real)
	})
}

// passwdHome is the home directory by the system's own account: HOME may be unset, or set to something else.
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

// tooWide tells directories whose contents no program may be let loose on.
func tooWide(dir string) bool {
	switch dir {
	case "/", "/var", "/run", "/home", "/tmp", "/opt", "/srv", "/mnt", "/media", "/var/tmp":
		return true
	}
	system := []string{"/proc", "/sys", "/dev", "/etc", "/boot", "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64",
		"/var/lib", "/var/log", "/var/spool"}
	return slices.ContainsFunc(system, func(top string) bool { return below(top, dir) })
}

// build builds the sandbox and the shell.
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

// ensureSandbox returns the cage, a new one if there is none.
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

// plan is what the cage is told.
func (o *Options) plan(temp string) sandbox.Plan {
	return sandbox.Plan{Root: o.Root, Temp: temp, Readable: o.Readable, Protect: o.Protect, Hide: o.Hide,
		Network: o.Network, Limits: o.Limits}
}

// mount has the shell see the directories as programs do: a redirection must
// not reach what is hidden or protected from them.
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

// exposed refuses a root with something in it that cannot be hidden.
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

// closeSandbox gives up a cage that no longer works.
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

// Status says what the sandbox is made of.
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

// Probe says what sandbox this machine allows for such a runner.
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

// notStarted is the status of what could not be started, as shells have it.
const notStarted = 126

// sweep ends whatever programs left behind. A cage that cannot be swept is given up, which ends everything in it.
func (r *Runner) sweep() {
	r.mu.Lock()
	c := r.sandbox
	r.mu.Unlock()
	if c != nil && c.Sweep() != nil {
		r.closeSandbox()
	}
}

// dir returns where the session stands.
func (r *Runner) Dir() string { return r.session.WorkDir() }

// Close ends the sandbox with everything in it and removes its temporary files.
func (r *Runner) Close() {
	r.closeSandbox()
	if r.session != nil {
		r.session.Close()
	}
	_ = r.temp.Remove()
}
