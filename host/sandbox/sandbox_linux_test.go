package sandbox

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"hako/internal/testload"
)

func TestMain(m *testing.M) {
	Main(os.Args[0])
	os.Exit(m.Run())
}

// A pen is a cage for a test, with a directory outside that nothing may reach.
type pen struct {
	*Sandbox
	root, outside string
}

// levels runs a test at the levels that this machine can build.
func levels(t *testing.T, plan Plan, test func(t *testing.T, p pen)) {
	for _, level := range []Level{Full, LandlockOnly} {
		t.Run(level.String(), func(t *testing.T) { test(t, newPen(t, plan, level)) })
	}
}

func newPen(t *testing.T, plan Plan, level Level) pen {
	t.Helper()
	p := pen{root: realDir(t), outside: realDir(t)}
	plan.Root, plan.Temp = p.root, realDir(t)
	abi := landlockABI()
	if abi == 0 {
		lacking(t, "this kernel has no Landlock")
	}
	c, err := build(t.Context(), plan, level == Full, abi)
	if err != nil {
		if level == Full {
			lacking(t, err)
		}
		t.Fatal(err)
	}
	p.Sandbox = c
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// lacking skips what this machine cannot do, unless it has to.
func lacking(t *testing.T, why any) {
	t.Helper()
	if os.Getenv("HAKO_REQUIRE_TOOLS") != "" {
		t.Fatal(why)
	}
	t.Skip(why)
}

func realDir(t *testing.T) string {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// sh runs a script by the real shell in the cage.
func (p pen) sh(t *testing.T, script string) (out string, status int) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	proc, err := p.Start(Program{Path: "/bin/sh", Argv: []string{"sh", "-c", script},
		Env: []string{"PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8", "OUT=" + p.outside}, Dir: p.root, Stdin: null, Stdout: w,
		Stderr: w})
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	go func() {
		<-proc.Done()
		time.AfterFunc(time.Second, func() { r.SetReadDeadline(time.Unix(1, 0)) })
	}()
	io.Copy(&text, r)
	r.Close()
	status, err = proc.Status()
	if err != nil {
		t.Fatal(err)
	}
	return text.String(), status
}

func TestPrograms(t *testing.T) {
	levels(t, Plan{}, func(t *testing.T, p pen) {
		t.Logf("%+v", p.Report)
		for script, want := range map[string]string{
			"echo hello":                            "hello\n",
			"pwd":                                   p.root + "\n",
			"echo x >f; cat f; rm f; test ! -e f":   "x\n",
			"mkdir d; echo y >d/a; mv d/a b; cat b": "y\n",
			"cat /etc/passwd | wc -l | grep -q . && echo ok": "ok\n",
			"echo 日本語": "日本語\n",
		} {
			if got, status := p.sh(t, script); got != want || status != 0 {
				t.Errorf("%s: %q, status %d", script, got, status)
			}
		}
		if _, status := p.sh(t, "exit 7"); status != 7 {
			t.Errorf("status %d", status)
		}
		if _, status := p.sh(t, "kill -TERM $$"); status != 128+int(syscall.SIGTERM) {
			t.Errorf("status %d", status)
		}
	})
}

func TestMissingProgram(t *testing.T) {
	levels(t, Plan{}, func(t *testing.T, p pen) {
		null, _ := os.Open(os.DevNull)
		defer null.Close()
		_, err := p.Start(Program{Path: "/usr/bin/no-such-program", Argv: []string{"x"}, Dir: p.root, Stdin: null,
			Stdout: null, Stderr: null})
		if !errors.Is(err, syscall.ENOENT) {
			t.Error(err)
		}
	})
}

// TestWalls tries to get out.
func TestWalls(t *testing.T) {
	levels(t, Plan{}, func(t *testing.T, p pen) {
		secret := filepath.Join(p.outside, "secret")
		if err := os.WriteFile(secret, []byte("TOP SECRET"), 0o666); err != nil {
			t.Fatal(err)
		}
		os.Symlink(p.outside, filepath.Join(p.root, "link"))
		for _, script := range []string{
			"cat $OUT/secret", "cat link/secret", "echo x >$OUT/new", "echo x >>link/secret", "rm -f $OUT/secret",
			"mv $OUT/secret .",
			"ln $OUT/secret here; cat here", "cp $OUT/secret .; cat secret", "chmod 0600 $OUT/secret",
			"touch -d 2001-01-01 $OUT/secret",
			"mkdir $OUT/d", "truncate -s 0 $OUT/secret", "cat /proc/1/environ", "cat /proc/$PPID/root$OUT/secret",
			"cat /etc/shadow", "ls -la /root/ /home/*/.ssh",
			"mount -t tmpfs x /tmp", "unshare -Ur cat $OUT/secret", "unshare -r true && echo ESCAPED",
			"chroot . /bin/true && echo ESCAPED",
			"echo x >/proc/sys/kernel/core_pattern && echo ESCAPED", "echo h >/proc/sysrq-trigger && echo ESCAPED",
			"mknod null c 1 3 && echo ESCAPED", "kill -9 1; kill -9 $PPID; kill -9 -1", "echo x >/usr/bin/x", "echo x >/etc/x",
		} {
			out, _ := p.sh(t, script)
			if strings.Contains(out, "TOP SECRET") || strings.Contains(out, "ESCAPED") {
				t.Errorf("%s: %s", script, out)
			}
			info, err := os.Stat(secret)
			if err != nil || info.Mode().Perm() != 0o666&^0o022 || info.Size() != 10 || time.Since(info.ModTime()) > time.Hour {
				t.Fatalf("%s: changed the secret: %v %v", script, info, err)
			}
			if left, _ := os.ReadDir(p.outside); len(left) != 1 {
				t.Fatalf("%s: wrote outside: %v", script, left)
			}
		}
		if out, status := p.sh(t, "echo still there"); status != 0 {
			t.Error(out)
		}
	})
}

// TestNothingIsLeft starts what tries to stay.
func TestNothingIsLeft(t *testing.T) {
	levels(t, Plan{}, func(t *testing.T, p pen) {
		for _, script := range []string{
			"sleep 1000 &", "setsid sleep 1000 & setsid setsid sleep 1000 &", "(setsid sh -c 'sleep 1000 & sleep 1000' &) &",
			"trap '' TERM HUP INT; sleep 1000 & echo x",
			"setsid sh -c 'while :; do sleep 0.01; done' >/dev/null 2>&1 &",
		} {
			p.sh(t, script)
			began := time.Now()
			if err := p.Sweep(); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(began); took > testload.Bound(time.Second) {
				t.Errorf("%s: sweeping took %v", script, took)
			}
			if left := descendants(p.helper.Pid); len(left) != 0 {
				t.Errorf("%s: left %v", script, left)
			}
		}
	})
}

func TestKill(t *testing.T) {
	levels(t, Plan{}, func(t *testing.T, p pen) {
		null, _ := os.OpenFile(os.DevNull, os.O_RDWR, 0)
		defer null.Close()
		proc, err := p.Start(Program{Path: "/bin/sh", Argv: []string{"sh", "-c", "sleep 1000 & sleep 1000"},
			Env: []string{"PATH=/usr/bin:/bin"}, Dir: p.root, Stdin: null, Stdout: null, Stderr: null})
		if err != nil {
			t.Fatal(err)
		}
		proc.Kill()
		select {
		case <-proc.Done():
		case <-time.After(testload.Bound(5 * time.Second)):
			t.Fatal("it lives")
		}
		if status, err := proc.Status(); status != 128+9 || err != nil {
			t.Error(status, err)
		}
	})
}

func TestHelperDies(t *testing.T) {
	levels(t, Plan{}, func(t *testing.T, p pen) {
		null, _ := os.OpenFile(os.DevNull, os.O_RDWR, 0)
		defer null.Close()
		prog := Program{Path: "/bin/sleep", Argv: []string{"sleep", "1000"}, Dir: p.root, Stdin: null, Stdout: null,
			Stderr: null}
		proc, err := p.Start(prog)
		if err != nil {
			t.Fatal(err)
		}
		below := descendants(p.helper.Pid)
		p.helper.Kill()
		if _, err := proc.Status(); err == nil {
			t.Error("no error")
		}
		if _, err := p.Start(prog); err == nil {
			t.Error("it starts programs still")
		}
		if err := p.Sweep(); err == nil {
			t.Error("it sweeps still")
		}
		if p.Report.Level == Full {
			time.Sleep(50 * time.Millisecond)
			for _, pid := range below {
				if err := syscall.Kill(pid, 0); err == nil {
					t.Errorf("%d lives", pid)
				}
			}
		} else {
			for _, pid := range below {
				syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	})
}

func TestProtectAndHide(t *testing.T) {
	p := pen{root: realDir(t)}
	os.MkdirAll(p.root+"/.git/hooks", 0o755)
	os.WriteFile(p.root+"/.git/config", []byte("old"), 0o644)
	os.MkdirAll(p.root+"/.ssh", 0o700)
	os.WriteFile(p.root+"/.ssh/id", []byte("KEY"), 0o600)
	os.WriteFile(p.root+"/token", []byte("KEY"), 0o600)
	os.Symlink("/etc", p.root+"/hooks")
	c, err := build(t.Context(),
		Plan{Root: p.root, Temp: realDir(t), Protect: []string{".git/hooks", ".git/config", "missing", "hooks", "../x"},
			Hide: []string{p.root + "/.ssh", p.root + "/token", p.root + "/none"}}, true, landlockABI())
	if err != nil {
		lacking(t, err)
	}
	defer c.Close()
	p.Sandbox = c
	out, _ := p.sh(t, "echo new >.git/config; echo x >.git/hooks/pre-commit; rm -rf .git/config; cat .ssh/id token; echo ok >.git/other; cat .git/config .git/other")
	if strings.Contains(out, "KEY") || !strings.HasSuffix(out, "oldok\n") {
		t.Error(out)
	}
	if _, err := os.Stat(p.root + "/.git/hooks/pre-commit"); err == nil {
		t.Error("a hook was written")
	}
}

func TestLimits(t *testing.T) {
	levels(t, Plan{Limits: Limits{Memory: 512 << 20, Processes: 64, Files: 100, FileSize: 1 << 20}},
		func(t *testing.T, p pen) {
			if out, status := p.sh(t, "head -c 2000000 /dev/zero >big"); status == 0 {
				t.Error("wrote a big file", out)
			}
			if out, _ := p.sh(t, "ulimit -n"); out != "100\n" {
				t.Error(out)
			}
			if out, status := p.sh(t,
				`awk 'BEGIN { s = "x"; while (length(s) < 600000000) s = s s; print length(s) }'`); status == 0 {
				t.Error("took 600 MB:", out)
			}
			out, _ := p.sh(t, "i=0; while [ $i -lt 300 ]; do sleep 5 & i=$((i+1)); done 2>&1 | head -3; ps -e 2>/dev/null | wc -l")
			t.Log(out)
			p.Sweep()
		})
}

func TestTooWeak(t *testing.T) {
	if _, err := New(t.Context(), Plan{Root: realDir(t), Temp: realDir(t)}, None); err == nil {
		t.Error("a cage that is none was built")
	}
	c, err := New(t.Context(), Plan{Root: realDir(t), Temp: realDir(t)}, LandlockOnly)
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	c.Close()
}

// TestNothingGrows runs many programs.
func TestNothingGrows(t *testing.T) {
	levels(t, Plan{}, func(t *testing.T, p pen) {
		count := func() int { names, _ := os.ReadDir("/proc/self/fd"); return len(names) }
		p.sh(t, "true")
		before := count()
		for range 300 {
			if _, status := p.sh(t, "true"); status != 0 {
				t.Fatal(status)
			}
		}
		if after := count(); after > before+2 {
			t.Errorf("%d descriptors, then %d", before, after)
		}
	})
}

func FuzzFrame(f *testing.F) {
	f.Add(frame{op: opStart, id: 7, n: 2, words: []string{"/bin/sh", "/", "sh", "\xff"}}.encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := readFrame(bytes.NewReader(b))
		if err != nil {
			return
		}
		again, err := readFrame(bytes.NewReader(got.encode()))
		if err != nil || again.op != got.op || again.id != got.id || again.n != got.n ||
			strings.Join(again.words, "\x00") != strings.Join(got.words, "\x00") {
			t.Fatalf("%+v, %+v, %v", got, again, err)
		}
	})
}

func BenchmarkTrue(b *testing.B) {
	root, temp := b.TempDir(), b.TempDir()
	c, err := New(b.Context(), Plan{Root: root, Temp: temp}, LandlockOnly)
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	null, _ := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	defer null.Close()
	for b.Loop() {
		p, err := c.Start(Program{Path: "/bin/true", Argv: []string{"true"}, Dir: root, Stdin: null, Stdout: null,
			Stderr: null})
		if err != nil {
			b.Fatal(err)
		}
		p.Status()
	}
}
