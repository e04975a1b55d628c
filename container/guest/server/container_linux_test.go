package server

import (
	"bufio"
	"context"
	"debug/elf"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hako/container/guest"
	"hako/run"
	"hako/run/fault"
)

// hostOwner is whom hako outside pretends to be: neither root nor the user of the
// commands.
const hostOwner = 23456

// newBox starts a guest in a container as hako makes them, with more words for
// docker.
func newBox(t testing.TB, o guest.Options, more ...string) *den {
	t.Helper()
	return newBoxOf(t, "hako-tiny:1", o, more...)
}

func newBoxOf(t testing.TB, image string, o guest.Options, more ...string) *den {
	t.Helper()
	needImage(t, image)
	root, err := os.MkdirTemp("", "box")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(root) })
	d := &den{opts: o, root: root, over: make(chan struct{})}
	line := filepath.Join(root, "run")
	if err := os.Mkdir(line, 0o700); err != nil {
		t.Fatal(err)
	}
	os.Chown(line, hostOwner, hostOwner)
	d.opts.Socket, d.opts.UID, d.opts.Owner = "/run/hako/guest.sock", 1000, hostOwner
	d.opts.Dir, d.opts.Within, d.opts.Home = "/workspace/project", "/workspace", "/workspace/.home"
	d.opts.Make = []string{"/workspace/project", "/workspace/tmp", "/workspace/.home"}
	name := "hako-guest-test-" + filepath.Base(root)
	words := []string{"run", "-d", "--name", name, "--label", "hako-guest-test", "--user", "0:0", "--network", "none",
		"--read-only", "--pids-limit", "200",
		"--cap-drop", "ALL", "--cap-add", "SETUID", "--cap-add", "SETGID", "--cap-add", "KILL", "--security-opt",
		"no-new-privileges",
		"--memory", "96m", "--memory-swap", "96m", "--tmpfs", "/tmp", "--tmpfs", "/run", "-v", line + ":/run/hako",
		"-v", d.program(t, guest.Name) + ":/.hako/" + guest.Name + ":ro", "--entrypoint", "/.hako/" + guest.Name}
	words = append(append(append(words, more...), image), d.opts.Args()...)
	docker(t, words...)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the container said: %s", docker(t, "logs", name))
		}
		docker(t, "rm", "-f", "-v", name)
	})
	d.opts.Socket = filepath.Join(line, "guest.sock")
	d.Client = d.dial(t)
	return d
}

func needImage(t testing.TB, image string) {
	t.Helper()
	why := ""
	if !static() {
		why = "the test binary needs libraries that images need not have: build it with CGO_ENABLED=0"
	} else if os.Geteuid() != 0 {
		why = "only root can give directories away"
	} else if out, err := exec.Command("docker", "image", "inspect", image).CombinedOutput(); err != nil {
		why = fmt.Sprintf("docker has no image %s: %v: %s", image, err, out)
		if os.Getenv("HAKO_REQUIRE_TOOLS") != "" {
			t.Fatal(why)
		}
	}
	if why != "" {
		t.Skip(why)
	}
}

// static tells whether this program needs nothing but itself.
func static() bool {
	f, err := elf.Open("/proc/self/exe")
	if err != nil {
		return false
	}
	defer f.Close()
	return !slices.ContainsFunc(f.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP })
}

func docker(t testing.TB, words ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, "docker", words...).CombinedOutput()
	if err != nil {
		t.Fatalf("docker %s: %v: %s", words[0], err, out)
	}
	return string(out)
}

// TestContainer is a guest where it belongs.
func TestContainer(t *testing.T) {
	d := newBox(t, guest.Options{Bridge: "127.0.0.1:3128=/run/hako/egress.sock"}, "-v", "/workspace")
	for script, want := range map[string]string{
		"echo $PPID":      "1\n",
		"pwd; echo $HOME": "/workspace/project\n/workspace/.home\n",
		"busybox id -u":   "1000\n",
		"busybox id -g":   "1000\n",
		"busybox stat -c %u . ../tmp $HOME; echo x >file; busybox cat file": "1000\n1000\n1000\nx\n",
		"(echo x >/file) 2>/dev/null || echo cannot":                        "cannot\n",
		"busybox grep CapEff /proc/self/status":                             "CapEff:\t0000000000000000\n",
		"busybox grep NoNewPrivs /proc/self/status":                         "NoNewPrivs:\t1\n",
		"busybox ls /run/hako 2>/dev/null || echo cannot":                   "cannot\n",
		"(cd /run/hako) 2>/dev/null || echo cannot":                         "cannot\n",
		"busybox rm -rf /run/hako 2>/dev/null || echo cannot":               "cannot\n",
		"(echo x >/run/hako/egress.sock) 2>/dev/null || echo cannot":        "cannot\n",
		"busybox kill -9 1 2>/dev/null || echo cannot":                      "cannot\n",
	} {
		if got := d.do(t, guest.Command{Script: script}); got.out != want || got.fault != nil {
			t.Errorf("%s: %+v", script, got)
		}
	}
	info, err := os.Stat(d.opts.Socket)
	if err != nil || info.Mode().Perm() != 0o600 || ownerOfFile(info) != hostOwner {
		t.Errorf("%v, %v", info, err)
	}
	t.Run("directory", func(t *testing.T) { d.checkDirectories(t) })
	t.Run("editor", func(t *testing.T) { d.checkEditor(t) })
	t.Run("bridge", func(t *testing.T) { d.checkBridge(t) })
	t.Run("memory", func(t *testing.T) { d.checkMemory(t) })
}

// TestPythonContainer is a guest in an image that people use.
func TestPythonContainer(t *testing.T) {
	d := newBoxOf(t, "coding-agent-executor-python:latest", guest.Options{}, "-v", "/workspace")
	got := d.sh(t, `id -un; pwd; python3 -c 'import os; open("f", "w").write("x"); print(os.getuid(), os.path.expanduser("~"))'; stat -c %U f`)
	if got != "executor\n/workspace/project\n1000 /workspace/.home\nexecutor\n" {
		t.Errorf("%q", got)
	}
	end := d.do(t, guest.Command{Script: execArgs, Args: []string{"python3", "-c", "x = bytearray(300 << 20)"}})
	if !end.OutOfMemory || end.Signal != 9 || end.Note != "killed: out of memory (limit 96 MB)" {
		t.Errorf("%+v", end)
	}
}

// checkDirectories starts commands where they must not be.
func (d *den) checkDirectories(t *testing.T) {
	d.sh(t, "busybox ln -s / link-to-root; busybox ln -s ../tmp fine; busybox mkdir sub; echo x >file")
	for dir, want := range map[string]struct {
		kind fault.Kind
		at   string
	}{
		"":                                    {0, "/workspace/project\n"},
		"sub":                                 {0, "/workspace/project/sub\n"},
		"fine":                                {0, "/workspace/tmp\n"},
		"/workspace":                          {0, "/workspace\n"},
		"/workspace/../../etc":                {fault.Denied, ""},
		"/":                                   {fault.Denied, ""},
		"/workspace2":                         {fault.Denied, ""},
		"../..":                               {fault.Denied, ""},
		"/run/hako":                           {fault.Denied, ""},
		"/no/such":                            {fault.Denied, ""},
		"link-to-root":                        {fault.Denied, ""},
		"link-to-root/workspace":              {0, "/workspace\n"},
		"/workspace/project/link-to-root/etc": {fault.Denied, ""},
		"missing":                             {fault.NotFound, ""},
		"file":                                {fault.Invalid, ""},
		"file/x":                              {fault.NotFound, ""},
	} {
		got := d.do(t, guest.Command{Script: "pwd", Dir: dir})
		if got.out != want.at || fault.KindOf(got.fault) != want.kind || got.fault != nil && fault.Hint(got.fault) == "" {
			t.Errorf("%q: %+v", dir, got)
		}
	}
}

// checkEditor edits as the user of the commands, in the workspace and nowhere else.
func (d *den) checkEditor(t *testing.T) {
	edit := func(command string, more ...string) string {
		call := map[string]string{"command": command}
		for i := 0; i < len(more); i += 2 {
			call[more[i]] = more[i+1]
		}
		raw, _ := json.Marshal(call)
		answer, err := d.Edit(t.Context(), raw)
		if err != nil {
			t.Fatal(err)
		}
		return string(answer)
	}
	if got := edit("create", "path", "new/箱.txt", "file_text", "one\n"); !strings.Contains(got, `"success":true`) {
		t.Error(got)
	}
	if got := edit("str_replace", "path", "/workspace/project/new/箱.txt", "old_str", "one", "new_str",
		"two"); !strings.Contains(got, `"success":true`) {
		t.Error(got)
	}
	if got := d.sh(t, "busybox cat new/箱.txt; busybox stat -c %u new/箱.txt new"); got != "two\n1000\n1000\n" {
		t.Errorf("%q", got)
	}
	if got := edit("undo_edit", "path", "new/箱.txt"); !strings.Contains(got, `"success":true`) ||
		d.sh(t, "busybox cat new/箱.txt") != "one\n" {
		t.Error(got)
	}
	d.sh(t, "busybox ln -sf /run/hako out")
	for _, path := range []string{"/etc/passwd", "../../etc/passwd", "out/guest.sock", "/run/hako/x"} {
		if got := edit("create", "path", path, "file_text", "x"); !strings.Contains(got, `"success":false`) {
			t.Errorf("%s: %s", path, got)
		}
	}
	if answer, err := d.Edit(t.Context(), json.RawMessage(`{"command":`)); err != nil ||
		!strings.Contains(string(answer), `"success":false`) {
		t.Errorf("%s, %v", answer, err)
	}
}

// checkBridge asks for a proxy that is not there, and then is.
func (d *den) checkBridge(t *testing.T) {
	const ask = "printf 'GET http://example.com/ HTTP/1.1\\r\\nHost: example.com\\r\\n\\r\\n' | busybox nc -w 5 127.0.0.1 3128"
	if got := d.sh(t, ask); !strings.HasPrefix(got, "HTTP/1.1 502 ") ||
		!strings.Contains(got, "the proxy outside the container does not answer\n") {
		t.Errorf("%q", got)
	}
	socket := filepath.Join(filepath.Dir(d.opts.Socket), "egress.sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	os.Chown(socket, hostOwner, hostOwner)
	os.Chmod(socket, 0o600)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			line, _ := bufio.NewReader(conn).ReadString('\n')
			fmt.Fprintf(conn, "you said %s", line)
			conn.Close()
		}
	}()
	if got := d.sh(t, ask); got != "you said GET http://example.com/ HTTP/1.1\r\n" {
		t.Errorf("%q", got)
	}
}

// checkMemory uses more memory than there is, by itself and by a child.
func (d *den) checkMemory(t *testing.T) {
	const bomb = "busybox dd if=/dev/zero of=/dev/null bs=300M count=1"
	for _, c := range []struct{ script, note string }{
		{"exec " + bomb, "killed: out of memory (limit 96 MB)"},
		{bomb, "killed: out of memory (limit 96 MB)"},
		{bomb + "; exit 5", "a process of the command was killed: out of memory (limit 96 MB)"},
	} {
		if got := d.do(t, guest.Command{Script: c.script}); !got.OutOfMemory || got.Note != c.note || got.fault != nil {
			t.Errorf("%s: %+v", c.script, got)
		}
	}
	if got := d.do(t, guest.Command{Script: "busybox kill -9 $$"}); got.OutOfMemory ||
		got.Note != "killed by signal 9: killed" || got.Signal != 9 {
		t.Errorf("%+v", got)
	}
	j, err := d.Start(t.Context(), guest.Command{Script: bomb})
	if err == nil {
		j, err = d.Wait(t.Context(), j.Handle)
	}
	if err != nil || j.State != run.JobFailed || j.Why != "killed: out of memory (limit 96 MB)" {
		t.Errorf("%+v, %v", j, err)
	}
	if _, err := (guest.Runner{Client: d.Client}).Run(t.Context(), scriptRequest(bomb)); fault.KindOf(
		err) != fault.Exhausted {
		t.Error(err)
	}
}

// TestDiskWatched fills a workspace whose size the system does not limit.
func TestDiskWatched(t *testing.T) {
	d := newBox(t, guest.Options{Disk: 8 << 20}, "-v", "/workspace")
	const note = "the disk limit of 8 MB is reached: delete something in /workspace"
	fill := guest.Command{Script: "busybox dd if=/dev/zero of=big bs=1M count=20 2>/dev/null; echo full; sleep 600"}
	if got := d.do(t, fill); !got.DiskFull || got.Note != note || got.out != "full\n" {
		t.Fatalf("%+v", got)
	}
	if got := d.sh(t, "(echo x >>big) 2>/dev/null || echo cannot; echo x >/dev/null"); got != "cannot\n" {
		t.Errorf("%q", got)
	}
	if got := d.do(t, guest.Command{Script: "busybox dd if=/dev/zero of=more bs=1M count=1"}); got.Exit == 0 ||
		!got.DiskFull || got.Note != note {
		t.Errorf("%+v", got)
	}
	answer, err := d.Edit(t.Context(), json.RawMessage(`{"command":"create","path":"x","file_text":"x"}`))
	if err != nil || !strings.Contains(string(answer), note) {
		t.Errorf("%s, %v", answer, err)
	}
	s, err := d.Stats(t.Context(), false)
	if err != nil || s.DiskOwn || s.DiskLimit != 8<<20 || s.Disk < 20<<20 {
		t.Errorf("%+v, %v", s, err)
	}
	if got := d.do(t, guest.Command{Script: "busybox grep x big"}); got.Exit != 1 || got.DiskFull || got.Note != note {
		t.Errorf("%+v", got)
	}
	if got := d.do(t, guest.Command{Script: "busybox rm big && echo gone"}); got.out != "gone\n" || got.DiskFull {
		t.Errorf("%+v", got)
	}
	eventually(t, "commands can write again", func() bool {
		return d.do(t, guest.Command{Script: "echo x >small"}).Exit == 0
	})
	if s, err := d.Stats(t.Context(), true); err != nil || s.Disk > 1<<20 {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestDiskLeftBehind has somebody fill it whose command has ended.
func TestDiskLeftBehind(t *testing.T) {
	d := newBox(t, guest.Options{Disk: 8 << 20}, "-v", "/workspace")
	d.sh(t, `busybox setsid busybox sh -c 'while sleep 0.2; do busybox dd if=/dev/zero of=f$((i+=1)) bs=1M count=1; done' >/dev/null 2>&1 &`)
	eventually(t, "it is there", func() bool { return d.processes(t) > 0 })
	eventually(t, "it is gone", func() bool { return d.processes(t) == 0 })
	if s, err := d.Stats(t.Context(), true); err != nil || s.Disk < 8<<20 || s.Disk > 40<<20 {
		t.Errorf("%+v, %v", s, err)
	}
}

func (d *den) processes(t *testing.T) int {
	t.Helper()
	s, err := d.Stats(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	return s.Processes
}

// TestDiskOwn leaves the limit to a file system.
func TestDiskOwn(t *testing.T) {
	d := newBox(t, guest.Options{Disk: 8 << 20}, "--tmpfs", "/workspace:size=8m,mode=755,uid=1000,gid=1000,exec")
	got := d.do(t, guest.Command{Script: "busybox dd if=/dev/zero of=big bs=1M count=20"})
	if got.Exit == 0 || got.DiskFull || !strings.Contains(got.err, "No space left") {
		t.Errorf("%+v", got)
	}
	s, err := d.Stats(t.Context(), false)
	if err != nil || !s.DiskOwn || s.DiskLimit != 8<<20 || s.Disk < 7<<20 {
		t.Errorf("%+v, %v", s, err)
	}
}
