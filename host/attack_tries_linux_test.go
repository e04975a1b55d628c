package host

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"hako/host/sandbox"
	"hako/run"
)

// A try is a script that looks for a hole in this sandbox in particular. It
// prints ESCAPED where it found one; besides, the scene must stay as it is.
type try struct {
	name, script string
	needs        string // a program besides; the try is left out where it is missing
	ends         string // what it prints when it comes to its end; empty means that it is stopped
}

// bash is for scripts that a real shell is to run.
func bash(script string) string { return "env bash <<'EOF'\n" + script + "\nEOF\n" }

var tries = []try{
	{"its own copy of a program",
		"cp /bin/cat mine; env ./mine @SECRET@; env sh -c './mine link; ./mine out/secret'; echo end", "", "end\n"},
	{"a program without a file",
		`python3 -c 'import os; fd = os.memfd_create("x"); os.write(fd, open("/bin/cat", "rb").read()); os.execve(fd, ["cat", "@SECRET@"], {})'; echo end`, "python3", "end\n"},
	{"calls of another architecture",
		"echo 'int main(void) { int r; __asm__ volatile(\"int $0x80\" : \"=a\"(r) : \"a\"(20)); return r > 0 ? 0 : 1; }' >i.c; gcc -o i i.c && env sh -c './i && echo ESCAPED'; echo end", "gcc", "end\n"},
	{"loading a library into a program",
		"echo 'void __attribute__((constructor)) f(void) {}' >x.c; gcc -shared -fPIC -o x.so x.c; env LD_PRELOAD=./x.so cat @SECRET@; echo end", "gcc", "end\n"},
	{"links that change while they are followed",
		bash(`for i in $(seq 300); do ln -sfn @OUT@ l; ln -sfn sub l; done & for i in $(seq 300); do cat l/secret.txt; echo x >l/pwn; done 2>/dev/null; wait; echo end`), "", "end\n"},
	{"a hard link to what is outside",
		bash("ln @SECRET@ hard; ln link hard2; ln -L link hard3; ln /etc/passwd hard4 && echo ESCAPED; cat hard hard2 hard3; cp -l @SECRET@ h5; echo end"), "", "end\n"},
	{"moving the root away",
		bash("mv @ROOT@ @OUT@/; mv . ../x; mv ../root ../r2; rmdir @ROOT@; rm -rf @ROOT@/../outside; echo end"), "", "end\n"},
	{"moving what the root lies in",
		bash("for d in /tmp/*; do mv $d /tmp/elsewhere; done 2>/dev/null; ls -d /tmp/* >/dev/null; for d in /tmp/elsewhere/*; do mv /tmp/elsewhere $d/.. ; done 2>/dev/null; echo end"), "", "end\n"},
	{"the way back through /proc",
		bash("cat /proc/self/root@SECRET@ /proc/self/cwd/../outside/secret /proc/1/root@SECRET@ /proc/1/cwd@SECRET@ /proc/$PPID/root@SECRET@ /proc/self/task/1/root@SECRET@ /proc/thread-self/root@SECRET@; cd /proc/1/root && cat .@SECRET@; echo end"), "", "end\n"},
	{"settings of the kernel",
		bash("for f in /proc/sys/kernel/core_pattern /proc/sys/kernel/modprobe /proc/sys/vm/drop_caches /proc/sysrq-trigger /sys/kernel/uevent_helper /proc/self/oom_score_adj /proc/1/oom_score_adj /proc/self/uid_map; do (: >>$f) 2>/dev/null && echo ESCAPED $f; done; echo end"), "", "end\n"},
	{"control groups", bash(
		"ls /sys/fs/cgroup/* >/dev/null 2>&1 && mkdir /sys/fs/cgroup/pids/x 2>/dev/null && echo ESCAPED; echo 1 >/sys/fs/cgroup/pids/cgroup.procs && echo ESCAPED; echo end"), "", "end\n"},
	{"programs with rights of their own",
		bash("find /usr/bin -perm -4000 | while read -r p; do timeout 1 $p --help; done >/dev/null 2>&1 </dev/null; cp /bin/sh s; chmod u+s s; ./s -pc 'cat @SECRET@'; su -c 'cat @SECRET@' </dev/null; echo end"), "", "end\n"},
	{"the terminal", bash("exec 3<>/dev/tty && echo ESCAPED; cat /dev/tty; echo x >/dev/console && echo ESCAPED; ls /dev/pts /dev/ptmx && echo x >/dev/pts/0 && echo ESCAPED; echo end"), "", "end\n"},
	{"disks and memory", bash(
		"for d in /dev/sd* /dev/vd* /dev/nvme* /dev/mem /dev/kmem /dev/kmsg /dev/loop-control /dev/fuse /dev/kvm /dev/net/tun; do head -c1 $d >/dev/null 2>&1 && echo ESCAPED $d; done; echo end"), "", "end\n"},
	{"its standard files", bash(
		"ls -l /proc/self/fd >/dev/null; cat <&3 2>/dev/null && echo ESCAPED; : 2>/dev/null >/proc/self/fd/9 && echo ESCAPED; echo end"), "", "end\n"},
	{"closing its output and going on", "env sh -c 'exec >&- 2>&-; sleep 0.2; echo x >done'; cat done; echo end", "",
		"x\nend\n"},
	{"very many short programs", "env sh -c 'i=0; while [ $i -lt 1500 ]; do /bin/true; i=$((i+1)); done'; echo end", "",
		"end\n"},
	{"very many programs at once", bash("for i in $(seq 60); do sleep 0.2 & done; wait; echo end"), "", "end\n"},
	{"a file that is too big",
		"env sh -c 'head -c 100M /dev/zero >big; truncate -s 1G big2; head -c 100M /dev/zero >$TMPDIR/big; wc -c <big' 2>/dev/null; echo end", "", "33554432\nend\n"},
	{"one program with too much memory", `python3 -c 'x = bytearray(3 << 30); print("ESCAPED")'; echo end`, "python3",
		"end\n"},
	{"more processes with too much memory",
		bash(`for i in 1 2 3; do python3 -c 'x = bytearray(2 << 30); print("ESCAPED")' & done; wait; echo end`), "python3",
		"end\n"},
	{"a fork bomb", bash(":(){ :|:& };:; sleep 100"), "", ""},
	{"a flood of output", "yes", "", ""},
	{"a flood of errors", "env sh -c 'yes >&2'", "", ""},
	{"a flood of both", "env sh -c 'yes & yes >&2'", "", ""},
	{"stopping itself", "env sh -c 'kill -STOP $$; echo ESCAPED'", "", ""},
	{"ignoring everything", bash("trap '' INT TERM HUP QUIT PIPE USR1 USR2 ALRM; while :; do sleep 100; done"), "", ""},
	{"getting away", bash("(setsid bash -c 'setsid sleep 100 & disown; exec sleep 100' >/dev/null 2>&1 </dev/null &); sleep 100"), "", ""},
	{"a daemon that is born again and again", bash("f() { (sleep 0.01; f & ) & }; f; sleep 100"), "", ""},
}

// TestTries runs them.
func TestTries(t *testing.T) {
	if testing.Short() {
		t.Skip("long: takes half a minute, and finds nothing that a race detector could")
	}
	before := running(t)
	atLevels(t, Options{Limits: limits}, func(t *testing.T, s *scene, r *Runner) {
		for _, try := range tries {
			t.Run(try.name, func(t *testing.T) { s.try(t, r, try) })
		}
	})
	if now := running(t); now > before {
		t.Errorf("%d processes are left", now-before)
	}
}

func (s *scene) try(t *testing.T, r *Runner, try try) {
	if _, err := exec.LookPath(try.needs); try.needs != "" && err != nil {
		t.Skip("it needs " + try.needs)
	}
	if bomb.MatchString(try.script) && !countsProcesses(t) {
		t.Skip("nothing bounds the number of processes here")
	}
	patience := 20 * time.Second
	if try.ends == "" {
		patience = time.Second
	}
	began := time.Now()
	o := attempt(t, r, run.Request{Script: s.replace(try.script)}, patience)
	if why := s.breach(o); why != "" {
		t.Error(why)
	}
	if strings.Contains(o.text, "ESCAPED") {
		t.Errorf("%s", o.text)
	}
	switch took := time.Since(began); {
	case try.ends == "" && (!o.res.TimedOut || took > patience+2*time.Second):
		t.Errorf("took %v: %+v", took, o)
	case try.ends != "" && !strings.HasSuffix(o.text, try.ends):
		t.Errorf("%+v", o)
	}
}

// TestInheritedFiles starts with a file open that everybody started from here
// inherits, as a careless parent of ours might leave it.
func TestInheritedFiles(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte(secretText), 0o600); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Open(secret, unix.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	const inherited = 77
	if err := unix.Dup2(fd, inherited); err != nil {
		t.Fatal(err)
	}
	defer unix.Close(inherited)
	unix.Close(fd)
	atLevels(t, Options{}, func(t *testing.T, s *scene, r *Runner) {
		o := attempt(t, r, run.Request{Script: bash(
			"cat <&77 && echo ESCAPED; cat /proc/self/fd/77 && echo ESCAPED; echo end")}, 5*time.Second)
		if tells(o.text) || strings.Contains(o.text, "ESCAPED") || !strings.HasSuffix(o.text, "end\n") {
			t.Errorf("%+v", o)
		}
	})
}

// TestHardLinkInTheRoot shows the one way out there is: what somebody linked
// into the root before is in the root.
func TestHardLinkInTheRoot(t *testing.T) {
	atLevels(t, Options{}, func(t *testing.T, s *scene, r *Runner) {
		if err := os.Link(s.outside+"/secret.txt", s.root+"/hard"); err != nil {
			t.Fatal(err)
		}
		if o := attempt(t, r, run.Request{Script: "env cat hard"}, 5*time.Second); o.text != secretText+"\n" {
			t.Errorf("%+v", o)
		}
	})
}

// TestReadableStaysAsItIs opens what may only be read and changes what needs no
// writing: mode, owner, attributes, times. Only mounts protect the times.
func TestReadableStaysAsItIs(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("this needs python3")
	}
	dir := t.TempDir()
	write(t, dir, "tool", "x")
	before := inventory(dir)
	const script = `
import os
f = os.open("@", os.O_RDONLY)
for what in lambda: os.fchmod(f, 0o777), lambda: os.utime(f, (1, 1)), lambda: os.setxattr(f, "user.x", b"x"), lambda: os.chmod("@", 0o777), lambda: os.fchown(f, os.getuid(), os.getgid()), lambda: os.chmod("/proc/self/fd/%d" % f, 0o777), lambda: os.truncate("@", 0):
    try:
        what()
    except OSError:
        pass
print("end")
`
	atLevels(t, Options{Readable: []string{dir}}, func(t *testing.T, s *scene, r *Runner) {
		write(t, s.root, "attack.py", strings.ReplaceAll(script, "@", dir+"/tool"))
		o := attempt(t, r, run.Request{Script: "python3 attack.py"}, 10*time.Second)
		if o.text != "end\n" {
			t.Errorf("%+v", o)
		}
		info, err := os.Stat(dir + "/tool")
		if err != nil || info.Mode() != 0o644 || info.Size() != 1 {
			t.Errorf("it was changed: %v, %v", info, err)
		}
		if n, err := unix.Listxattr(dir+"/tool", nil); n != 0 && err == nil {
			t.Error("it has attributes")
		}
		if now := inventory(dir); r.Status().Level == sandbox.Full && now != before {
			t.Errorf("it was changed:\n%swas\n%s", now, before)
		}
	})
}

// TestProtectedNamesStay tries to get round the protection of names in the root.
func TestProtectedNamesStay(t *testing.T) {
	s, r := fullScene(t, func(s *scene) (Options, error) {
		write(t, s.root, ".git/hooks/x", "old")
		write(t, s.root, ".git/config", "old")
		write(t, s.root, ".envrc", "old")
		return Options{Protect: []string{".git/hooks", ".git/config", ".envrc"}}, nil
	})
	attempt(t, r, run.Request{Script: "echo evil >.git/hooks/x; echo evil >.git/config; echo evil >>.envrc; echo evil >.git/hooks/new"}, 5*time.Second)
	attempt(t, r, run.Request{Script: bash(`
mv .git git; mkdir .git .git/hooks; echo evil >.git/hooks/x; echo evil >.git/config; mv .envrc envrc; echo evil >.envrc
mv .git/hooks h; mkdir -p .git/hooks; echo evil >.git/hooks/x; ln -f /dev/stdin .envrc; cp -f --remove-destination .git/HEAD .git/config; rm -rf .git .envrc; umount .git/hooks`)}, 5*time.Second)
	for _, name := range []string{".git/hooks/x", ".git/config", ".envrc"} {
		if text, err := os.ReadFile(s.root + "/" + name); string(text) != "old" {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
}

// fullScene makes a scene with the strongest sandbox, or skips the test.
func fullScene(t *testing.T, furnish func(*scene) (Options, error)) (*scene, *Runner) {
	t.Helper()
	var o Options
	s, err := newScene(t.TempDir(), func(s *scene) (err error) {
		o, err = furnish(s)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.close)
	o.Root = s.root
	r, err := runnerAt(t, o, sandbox.Full)
	if err != nil && os.Getenv("HAKO_REQUIRE_TOOLS") == "" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return s, r
}

// TestHiddenNamesStayHidden has keys that lie elsewhere in the root, where links
// lead to.
func TestHiddenNamesStayHidden(t *testing.T) {
	s, r := fullScene(t, func(s *scene) (Options, error) {
		write(t, s.root, "dotfiles/ssh/id", secretText)
		write(t, s.root, "dotfiles/netrc", secretText)
		write(t, s.root, "dotfiles/config/gh/token", secretText)
		for name, to := range map[string]string{".ssh": "dotfiles/ssh", ".netrc": "dotfiles/netrc",
			".config": "dotfiles/config"} {
			if err := os.Symlink(to, s.root+"/"+name); err != nil {
				return Options{}, err
			}
		}
		return Options{Hide: []string{s.root + "/.ssh", s.root + "/.netrc", s.root + "/.config/gh", s.root + "/none"}}, nil
	})
	o := attempt(t, r, run.Request{Script: "while read -r l; do echo $l; done <dotfiles/ssh/id <dotfiles/netrc; " +
		bash("cat .ssh/id .netrc .config/gh/token; mv dotfiles d2; cat d2/ssh/id d2/netrc d2/config/gh/token; cp -r d2 d3; cat d3/*/*; echo end")}, 5*time.Second)
	if tells(o.text) || !strings.HasSuffix(o.text, "end\n") {
		t.Errorf("%+v", o)
	}
	if text, _ := os.ReadFile(s.root + "/d2/ssh/id"); string(text) != secretText {
		t.Errorf("the key itself was changed: %q", text)
	}
}

// TestNothingInTheRootWeakensTheSandbox has a root full of things that were put
// where a sandbox expects others: the next one built for it must be as strong.
func TestNothingInTheRootWeakensTheSandbox(t *testing.T) {
	for name, set := range map[string]func(dir string) error{
		"links that lead nowhere": func(dir string) error { return os.Symlink("nowhere", dir+"/.ssh") },
		"links in a circle":       func(dir string) error { return os.Symlink(".aws", dir+"/.aws") },
		"links to the system":     func(dir string) error { return os.Symlink("/usr", dir+"/.gnupg") },
		"links to the root":       func(dir string) error { return os.Symlink("/", dir+"/.kube") },
		"links to the processes":  func(dir string) error { return os.Symlink("/proc/self", dir+"/.config") },
		"a pipe":                  func(dir string) error { return unix.Mkfifo(dir+"/.netrc", 0o666) },
		"a protected pipe":        func(dir string) error { return unix.Mkfifo(dir+"/.envrc", 0o666) },
		"a protected link":        func(dir string) error { return os.Symlink("/", dir+"/.git") },
		"a file for a directory":  func(dir string) error { return os.WriteFile(dir+"/.git", nil, 0o666) },
		"a closed directory":      func(dir string) error { return os.Mkdir(dir+"/.vscode", 0) },
		"a directory for a file":  func(dir string) error { return os.MkdirAll(dir+"/.git/config", 0o777) },
		"itself":                  func(dir string) error { return os.Symlink(dir, dir+"/.docker") },
	} {
		t.Run(name, func(t *testing.T) {
			_, r := fullScene(t, func(s *scene) (Options, error) {
				o := Options{Protect: []string{".git/hooks", ".git/config", ".envrc", ".vscode"}}
				for _, name := range []string{".ssh", ".aws", ".gnupg", ".kube", ".config/gh", ".netrc", ".docker"} {
					o.Hide = append(o.Hide, s.root+"/"+name)
				}
				return o, set(s.root)
			})
			if o := attempt(t, r, run.Request{Script: "env sh -c 'ls /usr/bin/env; echo x >f; cat f'"},
				5*time.Second); o.text != "/usr/bin/env\nx\n" {
				t.Errorf("%+v", o)
			}
		})
	}
}

func TestOddRoots(t *testing.T) {
	for _, name := range []string{"with blanks", "line\nbreak", "箱 の中", `quotes'"$(x)`, "-rf", strings.Repeat("長", 80)} {
		for _, level := range []sandbox.Level{sandbox.Full, sandbox.LandlockOnly} {
			t.Run(level.String()+" "+name, func(t *testing.T) {
				root := filepath.Join(realDir(t), name)
				if err := os.Mkdir(root, 0o755); err != nil {
					t.Fatal(err)
				}
				r, err := runnerAt(t, Options{Root: root}, level)
				if err != nil {
					t.Skip(err)
				}
				defer r.Close()
				if o := attempt(t, r, run.Request{Script: "echo x >a; env sh -c 'cat a; echo y >b; pwd'; cat b"},
					5*time.Second); o.text != "x\n"+root+"\ny\n" {
					t.Errorf("%+v", o)
				}
			})
		}
	}
}

func realDir(t *testing.T) string {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestTwoRunners has two work in one root at once; the end of one is not that of
// the other.
func TestTwoRunners(t *testing.T) {
	root := t.TempDir()
	one, two := newRunner(t, Options{Root: root}), newRunner(t, Options{Root: root})
	done := make(chan outcome)
	go func() { done <- do(t, one, run.Request{Script: "env sh -c 'sleep 0.5; echo one >>f'; env cat f"}) }()
	says(t, two, "env sh -c 'echo two >>f; kill -9 -1 2>/dev/null'; env true", "")
	if got := <-done; got.out != "two\none\n" {
		t.Errorf("%+v", got)
	}
	one.Close()
	says(t, two, "env cat f", "two\none\n")
}

// TestRootGoesAway takes the root away while it is in use.
func TestRootGoesAway(t *testing.T) {
	atLevels(t, Options{}, func(t *testing.T, s *scene, r *Runner) {
		away := s.top + "/away"
		if err := os.Rename(s.root, away); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(s.root, 0o777); err != nil {
			t.Fatal(err)
		}
		o := attempt(t, r, run.Request{Script: "env sh -c 'echo x >new; cat ../outside/secret.txt'; echo y >new2"},
			5*time.Second)
		if tells(o.text) || s.heard() {
			t.Errorf("%+v", o)
		}
		if err := os.RemoveAll(away); err != nil {
			t.Fatal(err)
		}
		o = attempt(t, r, run.Request{Script: "env sh -c 'echo x >new'; echo y >new2; cat ../outside/secret.txt"},
			5*time.Second)
		if tells(o.text) || s.heard() {
			t.Errorf("%+v", o)
		}
		// Who wants to work in what is there now starts anew.
		r.session.Close()
		r.closeSandbox()
		if err := r.build(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

// TestSignalsFromInside kills everything it can see, time and again.
func TestSignalsFromInside(t *testing.T) {
	atLevels(t, Options{}, func(t *testing.T, s *scene, r *Runner) {
		if r.Status().Level != sandbox.Full && r.Status().Landlock < 6 {
			t.Skip("this kernel does not keep signals in")
		}
		for _, sig := range []string{"QUIT", "TERM", "KILL", "STOP", "USR1"} {
			attempt(t, r, run.Request{Script: bash("trap '' TERM; kill -" + sig + " 1 $PPID " + strconv.Itoa(os.Getpid()) +
				"; kill -" + sig + " -- -1")}, 2*time.Second)
		}
	})
}
