package host

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"hako/host/sandbox"
	"hako/internal/testload"
	"hako/run"
	"hako/run/fault"
	"hako/run/runtest"
)

func TestMain(m *testing.M) {
	sandbox.Main(os.Args[0])
	os.Exit(m.Run())
}

func newRunner(t testing.TB, o Options) *Runner {
	t.Helper()
	if o.Root == "" {
		o.Root = t.TempDir()
	}
	r, err := New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

// TestRunner runs the suite that every runner passes.
func TestRunner(t *testing.T) {
	runtest.Test(t, func(t *testing.T) run.Runner { return newRunner(t, Options{}) })
}

// outcome is what a script printed and how it ended.
type outcome struct {
	out, err string
	res      run.Result
	fault    error
}

func do(t testing.TB, r *Runner, req run.Request) outcome {
	t.Helper()
	var out, errs bytes.Buffer
	req.Stdout, req.Stderr = &out, &errs
	res, err := r.Run(t.Context(), &req)
	return outcome{out.String(), errs.String(), res, err}
}

// says runs a script that must print want.
func says(t testing.TB, r *Runner, script, want string) {
	t.Helper()
	if got := do(t, r, run.Request{Script: script}); got.out != want || got.fault != nil {
		t.Errorf("%s: %q, %q, %+v, %v\nwant %q", script, got.out, got.err, got.res, got.fault, want)
	}
}

func write(t testing.TB, dir, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestStdinIsShared checks that a program takes no more from the script's input
// than it reads, as it would from a pipe of the system.
func TestStdinIsShared(t *testing.T) {
	root := t.TempDir()
	write(t, root, "f", "1\n2\n3\n")
	r := newRunner(t, Options{Root: root})
	says(t, r, "while read x; do /usr/bin/env true; echo $x; done <f", "1\n2\n3\n")
	says(t, r, "printf '1\\n2\\n3\\n' | while read x; do env true; echo $x; done", "1\n2\n3\n")
	says(t, r, "seq 100000 | { read x; head -c 0; wc -l; }", "99999\n")
	says(t, r, "seq 3 | { env cat; env cat; }", "1\n2\n3\n")
	says(t, r, "seq 100000 | env true; echo $?", "0\n")
	says(t, r, "yes | head -n 2", "y\ny\n")
	says(t, r, "yes | env cat | head -n 1; echo ${PIPESTATUS[@]}", "y\n141 141 0\n")
	says(t, r, "cat", "") // nobody types
	says(t, r, "env cat </dev/null; cat <<<text | env tr a-z A-Z", "TEXT\n")
}

func TestStreams(t *testing.T) {
	r := newRunner(t, Options{})
	got := do(t, r, run.Request{Script: "ls /no-such-file; env echo out; ls /nothing 2>&1 | wc -l"})
	if got.out != "out\n1\n" || !strings.Contains(got.err, "no-such-file") {
		t.Errorf("%+v", got)
	}
	says(t, r, `env sh -c 'echo a; echo b >&2; echo c' 2>&1`, "a\nb\nc\n")
	says(t, r, "env sh -c 'echo a; echo b >&2' >both 2>&1; cat both; rm both", "a\nb\n")
	says(t, r, "head -c 3000000 /dev/zero | wc -c", "3000000\n")
	says(t, r, "env printf '\\377\\001' | od -An -tx1", " ff 01\n")
	says(t, r, "x=$(env echo in); echo $x", "in\n")
	says(t, r, "env echo 箱 | env cat", "箱\n")
}

func TestDirectory(t *testing.T) {
	root, _ := filepath.EvalSymlinks(t.TempDir())
	write(t, root, "sub/f", "x")
	r := newRunner(t, Options{Root: root})
	says(t, r, "cd sub && env pwd && ls", root+"/sub\nf\n")
	says(t, r, "env pwd", root+"/sub\n") // it stays
	got := do(t, r, run.Request{Script: "cd /; pwd; cd ../../..; pwd; cd /etc; echo $?"})
	if strings.Contains(got.out, "0\n") && !strings.Contains(got.err, "No such file") {
		t.Errorf("%+v", got)
	}
	got = do(t, r, run.Request{Script: "cd " + root + " && cat ../../../etc/hostname"})
	if got.res.Exit == 0 {
		t.Errorf("%+v", got)
	}
	if r.Dir() != root {
		t.Error(r.Dir())
	}
}

func TestEnvironment(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-secret-of-the-user")
	t.Setenv("LD_PRELOAD", "")
	r := newRunner(t, Options{Env: []string{"GIT_AUTHOR_NAME=me"}})
	got := do(t, r, run.Request{Script: "export LD_PRELOAD=/x.so GIT_DIR=/y BASH_ENV=z PATH=.:/x ok=1; env"})
	for _, bad := range []string{"sk-secret", "LD_PRELOAD", "GIT_DIR=", "BASH_ENV", "PATH=.:"} {
		if strings.Contains(got.out, bad) {
			t.Errorf("%s is in the environment:\n%s", bad, got.out)
		}
	}
	for _, good := range []string{"ok=1\n", "GIT_AUTHOR_NAME=me\n", "LANG=C.UTF-8\n", "HOME=/tmp/home\n",
		"GIT_CONFIG_NOSYSTEM=1\n"} {
		if !strings.Contains(got.out, good) {
			t.Errorf("%s is missing:\n%s", good, got.out)
		}
	}
	says(t, r, `cd ~ && echo x >y && env cat y && test -w "$TMPDIR" && echo ok`, "x\nok\n")
}

// running counts the programs below this process.
func running(t *testing.T) (n int) {
	t.Helper()
	out, err := exec.Command("ps", "-eo", "pid=,ppid=,comm=").Output()
	if err != nil {
		t.Fatal(err)
	}
	ours := map[string]bool{strconv.Itoa(os.Getpid()): true}
	for line := range strings.Lines(string(out)) { // parents have the smaller numbers, but for orphans
		f := strings.Fields(line)
		if len(f) < 3 || !ours[f[1]] {
			continue
		}
		ours[f[0]] = true
		if strings.Contains("sleep sh", f[2]) {
			n++
		}
	}
	return n
}

func TestTimeout(t *testing.T) {
	r := newRunner(t, Options{})
	before := running(t)
	for _, script := range []string{
		"echo so far; sleep 100 & sleep 100",
		"echo so far; env sh -c 'setsid sleep 100 & sleep 100'",
		"echo so far; sleep 100 | sleep 100",
		"echo so far; env sh -c 'trap \"\" TERM; sleep 100; sleep 100'",
	} {
		began := time.Now()
		got := do(t, r, run.Request{Script: script, Timeout: time.Second})
		if took := time.Since(began); took > testload.Bound(1500*time.Millisecond) || !got.res.TimedOut ||
			got.res.Exit != 124 || got.out != "so far\n" {
			t.Errorf("%s: took %v, %+v", script, took, got)
		}
		if now := running(t); now > before {
			t.Errorf("%s: left %d processes", script, now-before)
		}
	}
	says(t, r, "env echo works still", "works still\n")
}

func TestDaemonEndsWithTheRequest(t *testing.T) {
	root := t.TempDir()
	r := newRunner(t, Options{Root: root})
	before := running(t)
	for _, script := range []string{
		"env sh -c '(setsid sleep 100 &) ; echo started'", // holds our pipe open
		"env sh -c 'setsid sleep 100 >/dev/null 2>&1 </dev/null & echo started'",
		"sleep 100 & echo started",
	} {
		began := time.Now()
		says(t, r, script, "started\n")
		if took := time.Since(began); took > testload.Bound(2*time.Second) {
			t.Errorf("%s: took %v", script, took)
		}
		if now := running(t); now > before {
			t.Errorf("%s: left %d processes", script, now-before)
		}
	}
}

func TestUnknownPrograms(t *testing.T) {
	root := t.TempDir()
	write(t, root, "tool", "#!/bin/sh\necho ran\n")
	os.Chmod(filepath.Join(root, "tool"), 0o755)
	r := newRunner(t, Options{Root: root, Path: []string{root}})
	for script, want := range map[string]string{"no-such-program": "hint: ", "./tool": "hint: ", "tool": "not found",
		root + "/tool": "hint: "} {
		got := do(t, r, run.Request{Script: script})
		if got.res.Exit != 127 && got.res.Exit != 126 || !strings.Contains(got.err, want) || got.out != "" {
			t.Errorf("%s: %+v", script, got)
		}
	}
	says(t, r, "sh tool", "ran\n")
}

func TestRootMustBeNarrow(t *testing.T) {
	for _, root := range []string{"/", "/etc", "/home", "/no/such/dir", "/proc/self", "/usr", "/usr/local", "/var/lib",
		"/tmp"} {
		if r, err := New(t.Context(), Options{Root: root}); err == nil {
			r.Close()
			t.Errorf("%s was taken", root)
		} else if fault.Hint(err) == "" {
			t.Errorf("%s: no hint: %v", root, err)
		}
	}
}

// git runs git outside, to set the scene.
func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@b"}, args...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// TestGitIsHarmless has a repository that names programs wherever it can.
func TestGitIsHarmless(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git here")
	}
	root := t.TempDir()
	git(t, root, "init", "-q", "-b", "main")
	write(t, root, "a.txt", "1\n")
	git(t, root, "add", "a.txt")
	git(t, root, "commit", "-qm", "first")
	write(t, root, "a.txt", "2\n")
	write(t, root, ".gitattributes", "*.txt diff=evil\n")
	trap := "sh -c 'touch " + root + "/pwned; cat'"
	for _, s := range [][2]string{{"core.fsmonitor", trap}, {"core.pager", trap}, {"diff.external", trap},
		{"diff.evil.textconv", trap}, {"diff.evil.command", trap}, {"core.editor", trap}, {"core.sshCommand", trap}} {
		git(t, root, "config", s[0], s[1])
	}
	for _, hook := range []string{"pre-commit", "post-commit", "post-checkout", "reference-transaction"} {
		write(t, root, ".git/hooks/"+hook, "#!/bin/sh\ntouch "+root+"/pwned\n")
		os.Chmod(root+"/.git/hooks/"+hook, 0o755)
	}
	r := newRunner(t, Options{Root: root, Env: []string{"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b"}})
	for _, c := range [][2]string{
		{"git status --short", "a.txt"}, {"git diff", "+2"}, {"git log -p", "first"}, {"git log -1 --oneline", "first"},
		{"git blame a.txt", "2"},
		{"git add -A; git commit -m second", "second"}, {"git show", "second"},
		{"git checkout -q -b other; git branch", "other"},
	} {
		script, want := c[0], c[1]
		got := do(t, r, run.Request{Script: script})
		if !strings.Contains(got.out, want) || got.res.Exit != 0 {
			t.Errorf("%s: %+v", script, got)
		}
		if _, err := os.Stat(root + "/pwned"); err == nil {
			t.Fatalf("%s: ran what the repository says", script)
		}
	}
}

// TestNothingGrows runs a thousand commands in a row.
func TestNothingGrows(t *testing.T) {
	if testing.Short() {
		t.Skip("long: takes a few seconds")
	}
	r := newRunner(t, Options{})
	measure := func() (fds, goroutines int, heap uint64) {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		names, _ := os.ReadDir("/proc/self/fd")
		return len(names), runtime.NumGoroutine(), m.HeapAlloc
	}
	says(t, r, "env true | env cat", "")
	fds, goroutines, heap := measure()
	for range 1000 {
		says(t, r, "echo a | env cat", "a\n")
	}
	f, g, h := measure()
	if f > fds+2 || g > goroutines+2 || h > heap+2<<20 {
		t.Errorf("descriptors %d → %d, goroutines %d → %d, heap %d → %d", fds, f, goroutines, g, heap, h)
	}
	if left, _ := os.ReadDir(tempOf(r.temp) + "/home"); len(left) != 0 {
		t.Errorf("temporary files: %v", left)
	}
}

func TestCageIsRebuilt(t *testing.T) {
	r := newRunner(t, Options{})
	says(t, r, "env echo a", "a\n")
	r.sandbox.Close() // as if somebody had killed it
	do(t, r, run.Request{Script: "env echo b"})
	says(t, r, "env echo c", "c\n")
}

func TestTemporaryFilesGo(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	r := newRunner(t, Options{})
	says(t, r, "env mkdir -p $TMPDIR/a/b; env touch $TMPDIR/a/b/c; env chmod 0 $TMPDIR/a; cd; echo x >f", "")
	base := r.temp.Path
	r.Close()
	if _, err := os.Stat(base); err == nil {
		t.Error("they are left")
	}
}

func TestIdentity(t *testing.T) {
	home := t.TempDir()
	write(t, home, ".gitconfig", "[core]\n\tname = no\n[user]\n\tname = 山田 花子\n\temail = \"h@example.com\"\n")
	t.Setenv("GIT_AUTHOR_NAME", "")
	got := strings.Join(Identity(home), " ")
	if !strings.Contains(got, "GIT_COMMITTER_NAME=山田 花子") || !strings.Contains(got, "GIT_AUTHOR_EMAIL=h@example.com") {
		t.Error(got)
	}
	if got := Identity(t.TempDir()); got != nil {
		t.Error(got)
	}
}

// TestHomeDirectory is refused as a root.
func TestHomeDirectory(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", filepath.Join(home, "user"))
	write(t, home, "user/notes", "text")
	for _, root := range []string{home, home + "/user"} {
		if r, err := New(t.Context(), Options{Root: root}); err == nil {
			r.Close()
			t.Errorf("%s was taken", root)
		}
	}
}

// TestShellSeesWhatProgramsSee checks that redirections, globs and the shell's
// own commands reach neither what is hidden nor what is protected, by whatever
// name.
func TestShellSeesWhatProgramsSee(t *testing.T) {
	root := t.TempDir()
	write(t, root, "state/key", "SECRET")
	write(t, root, "token", "SECRET")
	write(t, root, ".git/config", "[core]\n")
	write(t, root, ".envrc", "old\n")
	write(t, root, "free", "")
	os.Symlink(".git", root+"/gg")
	r := newRunner(t, Options{Root: root, Hide: []string{root + "/state", root + "/token"},
		Protect: []string{".git/config", ".envrc"}})
	if got := r.Status(); got.Level != sandbox.Full {
		if os.Getenv("HAKO_REQUIRE_TOOLS") != "" {
			t.Fatalf("%+v", got)
		}
		t.Skip("nothing can be hidden at this level")
	}
	for _, script := range []string{
		"cat <token", "cat token", "read x <state/key; echo $x", "echo state/*", "echo $(<token)", ". ./token",
		"cat <state/../token", "mapfile x <token; echo ${x[@]}",
		"echo evil >>gg/config", "echo evil >.git/config", "echo evil >.envrc", "env cp free .envrc", "mv free .git/config",
		"exec 3>>gg/config; echo evil >&3",
		"python3 -c 'import os; os.rename(\"gg\", \"hh\")'; echo evil >>hh/config",
		"mkdir sub; cd sub; env sh -c 'cd ..; mv sub old; ln -s .git sub'; echo evil >>config; cd " + root,
	} {
		got := do(t, r, run.Request{Script: script})
		if strings.Contains(got.out, "SECRET") || strings.Contains(got.out, "key") {
			t.Errorf("%s: %+v", script, got)
		}
		for _, name := range []string{".git/config", ".envrc"} {
			if text, _ := os.ReadFile(filepath.Join(root, name)); strings.Contains(string(text), "evil") || len(text) == 0 {
				t.Fatalf("%s: %s is %q", script, name, text)
			}
		}
	}
	r.closeSandbox() // also when the cage was built anew
	says(t, r, "env true; cat <token", "")
	if got := do(t, r, run.Request{Script: "echo evil >>gg/config"}); got.res.Exit == 0 {
		t.Errorf("%+v", got)
	}
	says(t, r, "echo x >free; cat free", "x\n")
}

func TestWhatCannotBeHidden(t *testing.T) {
	root := t.TempDir()
	write(t, root, "key", "x")
	o := Options{Root: root, Hide: []string{root + "/key"}}
	if err := o.exposed(sandbox.LandlockOnly); fault.KindOf(err) != fault.Denied || fault.Hint(err) == "" {
		t.Error(err)
	}
	if err := o.exposed(sandbox.Full); err != nil {
		t.Error(err)
	}
}

// TestRequestsDoNotEndEachOther has requests wait for each other: what one
// sweeps up at its end must not be what the next has started.
func TestRequestsDoNotEndEachOther(t *testing.T) {
	r := newRunner(t, Options{})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 10 {
				says(t, r, "env sh -c 'sleep 0.01; echo done'", "done\n")
			}
		})
	}
	wg.Wait()
}

// TestCommondir has a program leave a file that makes git look elsewhere.
func TestCommondir(t *testing.T) {
	root := t.TempDir()
	write(t, root, ".git/config", "")
	r := newRunner(t, Options{Root: root})
	got := do(t, r, run.Request{Script: "env cp .git/config .git/commondir; echo done"})
	if _, err := os.Lstat(root + "/.git/commondir"); err == nil || got.out != "done\n" ||
		!strings.Contains(got.err, "commondir") {
		t.Errorf("%+v, %v", got, err)
	}
	write(t, root, ".git/commondir", "../other\n")
	r = newRunner(t, Options{Root: root})
	do(t, r, run.Request{Script: "env true"})
	if _, err := os.Lstat(root + "/.git/commondir"); err != nil {
		t.Error("a linked worktree was broken", err)
	}
}
