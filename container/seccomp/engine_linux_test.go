package seccomp

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// needEngine skips where no Docker engine answers or an image is missing.
func needEngine(t *testing.T, image string) {
	t.Helper()
	out, err := exec.Command("docker", "image", "inspect", image).CombinedOutput()
	switch {
	case err == nil:
	case os.Getenv("HAKO_REQUIRE_TOOLS") == "1":
		t.Fatalf("image %s: %v: %s", image, err, out)
	default:
		t.Skipf("image %s: %v: %s", image, err, out)
	}
}

// probe builds the program that tries calls.
func probe(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "probe")
	cmd := exec.Command("go", "build", "-o", file, "../testdata/probe")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return file
}

// inside runs a program in a container with the profile and returns what it
// prints.
func inside(t *testing.T, profile, image string, options []string, argv ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "profile.json")
	if err := os.WriteFile(file, []byte(profile), 0o600); err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("hako-test-seccomp-%d", os.Getpid())
	args := append([]string{"run", "--rm", "--name", name, "--label", "hako-test=seccomp", "--network", "none", "--tmpfs",
		"/tmp:exec",
		"--security-opt", "seccomp=" + file}, options...)
	out, err := exec.Command("docker", append(append(args, image), argv...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

// much gives a container the capabilities with which the kernel itself would not
// refuse, so that what is refused is refused by the profile.
func much() (options []string) {
	for _, name := range []string{"SYS_ADMIN", "SYS_MODULE", "SYS_TIME", "SYS_BOOT", "SYS_PTRACE", "SYS_PACCT", "SYSLOG",
		"NET_ADMIN", "NET_RAW", "DAC_READ_SEARCH"} {
		options = append(options, "--cap-add", name)
	}
	return options
}

// TestEngine checks with a real engine and kernel what is refused and what not.
func TestEngine(t *testing.T) {
	needEngine(t, "hako-tiny:1")
	file := probe(t)
	refused := inside(t, Profile(), "hako-tiny:1", append(much(), "-v", file+":/probe:ro"), "/probe", "closed")
	tried := 0
	for line := range strings.Lines(refused) {
		name, said, _ := strings.Cut(strings.TrimSpace(line), ": ")
		want := "EPERM"
		if name == "clone3" || strings.HasPrefix(name, "aio ") {
			want = "ENOSYS"
		}
		if tried++; said != want {
			t.Errorf("%s: %s, want %s", name, said, want)
		}
	}
	if tried < 60 {
		t.Errorf("only %d tries: %s", tried, refused)
	}
	t.Logf("%d calls refused", tried)
	open := inside(t, Profile(), "hako-tiny:1", []string{"--cap-drop", "ALL", "--user", "1000:1000", "--security-opt",
		"no-new-privileges", "-v", file + ":/probe:ro"}, "/probe", "open")
	for line := range strings.Lines(open) {
		if !strings.HasSuffix(strings.TrimSpace(line), ": ok") {
			t.Error(line)
		}
	}
	if n := strings.Count(open, "\n"); n < 18 {
		t.Errorf("only %d tries: %s", n, open)
	}
}

// TestProbe checks the probe itself: without the profile the kernel refuses none
// of it for lack of permission, so that EPERM is the profile's word.
func TestProbe(t *testing.T) {
	needEngine(t, "hako-tiny:1")
	everything := strings.ReplaceAll(Profile(), `"defaultAction":"SCMP_ACT_ERRNO"`, `"defaultAction":"SCMP_ACT_ALLOW"`)
	out := inside(t, everything, "hako-tiny:1", append(much(), "-v", probe(t)+":/probe:ro"), "/probe", "closed")
	for line := range strings.Lines(out) {
		if strings.HasSuffix(line, ": EPERM\n") {
			t.Error(line)
		}
	}
}

// TestUnknownNames checks that an engine starts containers though it does not
// know all calls of the list.
func TestUnknownNames(t *testing.T) {
	needEngine(t, "hako-tiny:1")
	odd := strings.Replace(Profile(), `"access",`, `"access","a_call_of_next_year",`, 1)
	if odd == Profile() {
		t.Fatal("the profile looks different now")
	}
	if out := inside(t, odd, "hako-tiny:1", nil, "/bin/busybox", "echo", "started"); !strings.Contains(out, "started") {
		t.Error(out)
	}
}

// TestPython checks that a language environment is not in the way of its own
// tools: compilers, threads, processes, pipes, sockets.
func TestPython(t *testing.T) {
	const image = "coding-agent-executor-python:latest"
	needEngine(t, image)
	script := `set -e; cd /tmp; export HOME=/tmp
git init -q r; cd r; git config user.email a@b; git config user.name a
printf 'def test_a():\n    import threading, multiprocessing, sqlite3, tempfile, subprocess, socket, asyncio, mmap\n    t = threading.Thread(target=print); t.start(); t.join()\n    with multiprocessing.Pool(2) as p: assert p.map(abs, [-1, -2]) == [1, 2]\n    sqlite3.connect("x.db").execute("create table a(b)")\n    assert subprocess.check_output(["echo", "a"]) == b"a\\n"\n    asyncio.run(asyncio.sleep(0))\n    a, b = socket.socketpair(); socket.getaddrinfo("localhost", 80)\n' > test_a.py
python3 -m pytest -q test_a.py
printf 'all: a b c d\n%%:\n\tsleep 0.01; touch $@\n' > Makefile; make -s -j4
git add .; git commit -q -m x; git gc -q; git status --short; tar -cf - . | tar -tf - > /dev/null
python3 -m http.server 8765 --bind 127.0.0.1 >/dev/null 2>&1 &
until curl -sf http://127.0.0.1:8765/Makefile > /dev/null; do sleep 0.05; done; kill %1
python3 -m venv --without-pip v; v/bin/python -c 'print("all", "well")'`
	out := inside(t, Profile(), image, []string{"--cap-drop", "ALL", "--user", "1000:1000", "--security-opt",
		"no-new-privileges", "--entrypoint", "bash"}, "-c", script)
	if lines := strings.Split(strings.TrimSpace(out), "\n"); !slices.Contains(lines, "all well") {
		t.Error(out)
	}
}
