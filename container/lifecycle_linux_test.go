package container

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hako/audit"
	"hako/gate"
	"hako/internal/testload"
	"hako/policy"
	"hako/quota"
	"hako/run"
	"hako/run/fault"
	"hako/run/runtest"
)

// TestRunner runs the suite that every runner passes, in one container whose
// project is empty before each case.
func TestRunner(t *testing.T) {
	d, task := newManager(t, nil), unique("suite")
	prepare(t, d, task)
	runtest.Test(t, func(t *testing.T) run.Runner {
		empty := &run.Request{Script: "find . -mindepth 1 -delete"}
		if res, err := d.Runner(task).Run(t.Context(), empty); err != nil || res.Exit != 0 {
			t.Fatal(res, err)
		}
		return d.Runner(task)
	})
}

// logbook is a log in memory.
type logbook struct{ events []audit.Event }

func (d *logbook) Append(e audit.Event) error {
	d.events = append(d.events, e)
	return nil
}

// TestGated runs commands behind the real gate with the usual rules.
func TestGated(t *testing.T) {
	var log logbook
	d := newManager(t, func(o *Options) {
		o.Gate = func(_ string, r run.Runner) run.Runner {
			return gate.New(r, gate.Options{Policy: policy.Container(policy.Options{Root: Project}),
				Budget: quota.New(quota.Unlimited()), Log: &log, Dir: Project})
		}
	})
	task := unique("gated")
	prepare(t, d, task)
	res, err := d.ExecuteIn(t.Context(), task, &run.Request{Actor: "agent", Script: "echo hello >a && cat a"})
	if err != nil || res.Stdout != "hello\n" {
		t.Errorf("%+v, %v", res, err)
	}
	_, err = d.ExecuteIn(t.Context(), task, &run.Request{Actor: "agent", Script: "touch ran; sudo id"})
	wantFault(t, err, fault.Denied, "sudo")
	if res, err := d.ExecuteIn(t.Context(), task, &run.Request{Actor: "agent", Script: "ls"}); err != nil ||
		res.Stdout != "a\n" {
		t.Errorf("a script with a part that is denied ran: %+v, %v", res, err)
	}
	if !slices.ContainsFunc(log.events, func(e audit.Event) bool {
		return e.What == audit.Asked &&
			strings.Contains(e.Script, "sudo")
	}) {
		t.Errorf("not on record: %+v", log.events)
	}
}

// TestLife follows a container through its states.
func TestLife(t *testing.T) {
	task := unique("life")
	var seen []State
	var d *Manager
	look := func() {
		if info, err := d.ContainerInfo(task); err == nil {
			seen = append(seen, info.Status)
		}
	}
	d = newManager(t, func(o *Options) {
		o.Network = Open
		o.ServeEgress = func(context.Context, Egress) error { look(); return nil }
	})
	watchMaking(t, d, task, Created)
	began := time.Now()
	info := prepare(t, d, task)
	t.Log("prepare took", time.Since(began))
	look()
	if !slices.Equal(seen, []State{Initializing, Ready}) {
		t.Errorf("states %q", seen)
	}
	if info.ContainerID == "" || info.TaskUUID != task || info.Environment != "python" || info.Workspace != Project ||
		info.Name != Name(task) || info.Image != pythonImage || time.Since(info.Created) > time.Minute {
		t.Errorf("%+v", info)
	}
	checkRunning(t, d, task)
	killContainer(t, info.ContainerID)
	checkStatus(t, d, task, Stopped)
	if err := d.Engine.Remove(t.Context(), info.ContainerID); err != nil {
		t.Fatal(err)
	}
	checkStatus(t, d, task, Deleted)
	if err := d.Cleanup(t.Context(), task); err != nil {
		t.Error(err)
	}
	_, err := d.ContainerInfo(task)
	wantFault(t, err, fault.NotFound, "hako env up --task "+task)
	wantFault(t, d.Cleanup(t.Context(), task), fault.NotFound)
}

// watchMaking expects a task to be seen in a state while it is made.
func watchMaking(t *testing.T, d *Manager, task string, want State) {
	saw := make(chan bool, 1)
	go func() {
		for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
			if x, err := d.Details(context.Background(), task); err == nil {
				saw <- x.Status == want
				return
			}
		}
		saw <- false
	}()
	t.Cleanup(func() {
		if !<-saw {
			t.Errorf("it was never seen to be %s", want)
		}
	})
}

// checkRunning looks at a container while a command runs in it.
func checkRunning(t *testing.T, d *Manager, task string) {
	t.Helper()
	started, done := make(chan struct{}), make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		_, err := d.Runner(task).Run(ctx, &run.Request{Script: "echo up; sleep 600", Stdout: &signalWriter{ch: started}})
		done <- err
	}()
	<-started
	checkStatus(t, d, task, Running)
	cancel()
	<-done
	checkStatus(t, d, task, Ready)
}

// signalWriter closes a channel at the first write.
type signalWriter struct{ ch chan struct{} }

func (s *signalWriter) Write(p []byte) (int, error) {
	if s.ch != nil {
		close(s.ch)
		s.ch = nil
	}
	return len(p), nil
}

func checkStatus(t *testing.T, d *Manager, task string, want State) {
	t.Helper()
	var x Details
	var err error
	for end := time.Now().Add(testload.Bound(5 * time.Second)); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if x, err = d.Details(t.Context(), task); err == nil && x.Status == want {
			return
		}
	}
	t.Errorf("it is %s, not %s; %v", x.Status, want, err)
}

func TestExecute(t *testing.T) {
	d, task := newManager(t, nil), unique("exec")
	_, err := d.Execute(t.Context(), "true", "")
	wantFault(t, err, fault.Invalid, "no task is set")
	d.SetCurrentTask("nobody")
	_, err = d.Execute(t.Context(), "true", "")
	wantFault(t, err, fault.NotFound, "hako env up --task nobody")

	prepare(t, d, task)
	d.SetCurrentTask(task)
	if _, err := d.Execute(t.Context(), "mkdir -p sub /workspace/tmp/x", ""); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		script, dir, stdout, stderr string
		exit                        int
	}{
		{"echo out; echo err >&2; exit 3", "", "out\n", "err\n", 3},
		{"pwd", "", Project + "\n", "", 0},
		{"pwd", "sub", Project + "/sub\n", "", 0},
		{"pwd", "/workspace/tmp/x", "/workspace/tmp/x\n", "", 0},
		{"id -u; id -g; echo $HOME", "", "1000\n1000\n/workspace/.home\n", "", 0},
		{`printf 'a\377\376\000b'`, "", "a\uFFFD\x00b", "", 0},
		{"cd sub && kill -9 $$", "", "", "", 137},
	} {
		res, err := d.Execute(t.Context(), c.script, c.dir)
		if err != nil || res.ExitCode != c.exit || res.Stdout != c.stdout || res.Stderr != c.stderr {
			t.Errorf("%s: %+v, %v", c.script, res, err)
		}
	}
	res, err := d.Execute(t.Context(), "no-such-command-here", "")
	if err != nil || res.ExitCode != 127 || !strings.Contains(res.Stderr, "not found") {
		t.Errorf("%+v, %v", res, err)
	}
	res, err = d.Execute(t.Context(), "sleep 0.2", "")
	if err != nil || res.Duration < 200 || res.Duration > 20_000 {
		t.Errorf("%+v, %v", res, err)
	}
	for _, dir := range []string{"/etc", "../..", "/workspace/../etc", "none", "sub/../../.."} {
		if res, err := d.Execute(t.Context(), "echo ran", dir); err == nil && res.ExitCode == 0 || res.Stdout != "" {
			t.Errorf("ran in %s: %+v, %v", dir, res, err)
		}
	}
	text, _ := json.Marshal(res)
	for _, field := range []string{`"exit_code":0`, `"stdout":""`, `"stderr":""`, `"duration_ms":`} {
		if !strings.Contains(string(text), field) {
			t.Errorf("%s lacks %s", text, field)
		}
	}
}

// TestLog looks for logs where none may be found.
func TestLog(t *testing.T) {
	d, task := newManager(t, func(o *Options) { o.Output = 10 }), unique("log")
	prepare(t, d, task)
	res, err := d.ExecuteIn(t.Context(), task, &run.Request{Script: "echo 0123456789abcdef; echo short >&2"})
	if err != nil || !strings.HasSuffix(res.Stdout, "7 of 17 bytes are not shown: this is the end]\n789abcdef\n") ||
		res.Stderr != "short\n" || res.Log == "" {
		t.Fatalf("%+v, %v", res, err)
	}
	f, err := d.Log(task, res.Log, "stdout")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if text := make([]byte, 99); true {
		if n, _ := f.Read(text); string(text[:n]) != "0123456789abcdef\n" {
			t.Errorf("%q", text[:n])
		}
	}
	if err := os.WriteFile(filepath.Join(d.State, "secret"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range [][2]string{{res.Log, "stderr"}, {"nothing", "stdout"}, {res.Log, "/../../../../secret"},
		{"../../../secret", ""}, {"..", "stdout"}, {"", ""}} {
		if f, err := d.Log(task, c[0], c[1]); err == nil {
			f.Close()
			t.Errorf("%q opens something", c)
		} else if k := fault.KindOf(err); k != fault.NotFound && k != fault.Invalid {
			t.Errorf("%q: %v", c, err)
		}
	}
	for range 2 * logs {
		if _, err := d.ExecuteIn(t.Context(), task,
			&run.Request{Script: "echo 0123456789abcdef; echo 0123456789abcdef >&2"}); err != nil {
			t.Fatal(err)
		}
	}
	b, _ := d.find(task)
	if entries, _ := os.ReadDir(filepath.Join(b.dir, "logs")); len(entries) != 2*logs {
		t.Errorf("%d logs are kept", len(entries))
	}
	if _, err := d.Log(task, res.Log, "stdout"); fault.KindOf(err) != fault.NotFound {
		t.Errorf("the oldest log is kept: %v", err)
	}
}

// TestCleanupWhileRunning removes a container while a command in it prints more
// than a result holds.
func TestCleanupWhileRunning(t *testing.T) {
	d, task := newManager(t, func(o *Options) { o.Output = 1000 }), unique("busy")
	prepare(t, d, task)
	done := make(chan error, 1)
	go func() {
		_, err := d.ExecuteIn(t.Context(), task, &run.Request{Script: "trap 'seq 1 10000' TERM; echo up; sleep 600 & wait"})
		done <- err
	}()
	for end := time.Now().Add(testload.Bound(10 * time.Second)); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if x, err := d.Details(t.Context(), task); err == nil && x.Status == Running {
			break
		}
	}
	if err := d.Cleanup(t.Context(), task); err != nil {
		t.Error(err)
	}
	<-done
	checkNothingLeft(t, d.State)
}

// TestLogOfNobody writes to the log of a box that was removed.
func TestLogOfNobody(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "gone")
	log := newLog(&box{dir: dir}, 4)
	defer log.close()
	if n, err := log.stdout.Write([]byte("0123456789")); n != 10 || err != nil || log.name() != "" {
		t.Errorf("%d, %v, %q", n, err, log.name())
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("the box was made again")
	}
}
