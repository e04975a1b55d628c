package container

import (
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"hako/container/guest"
)

// small are limits that a test reaches soon.
func small(o *Options) {
	o.Resources = Resources{CPUs: 1, Memory: 256 << 20, Disk: 64 << 20, Pids: 64}
}

// TestPosture probes from inside containers what holds them.
func TestPosture(t *testing.T) {
	c, p := newCell(t, tinyImage, small), buildProbe(t)
	t.Run("filter", func(t *testing.T) { checkFilter(t, c.probe(t, p, "closed")) })
	t.Run("walls", func(t *testing.T) { checkWalls(t, c.probe(t, p, "walls")) })
	t.Run("tools", func(t *testing.T) { checkTools(t, c.probe(t, p, "open")) })
	t.Run("identity", func(t *testing.T) { checkIdentity(t, c) })
	t.Run("mounts", func(t *testing.T) { checkMounts(t, c) })
	t.Run("setuid", func(t *testing.T) { checkSetuid(t, c) })
	t.Run("processes", func(t *testing.T) { checkProcesses(t, c) })
	t.Run("devices", func(t *testing.T) { checkDevices(t, c) })
	t.Run("environment", func(t *testing.T) { checkEnvironment(t, c) })
	c.answers(t)
	for name, check := range map[string]func(*testing.T, *cell, *cell){
		"fork bomb": checkForkBomb, "left behind": checkLeftBehind, "disk fill": checkDiskFill,
		"memory fill": checkMemoryFill, "memory bomb": checkMemoryBomb,
	} {
		t.Run(name, func(t *testing.T) { check(t, newCell(t, tinyImage, small), c) })
	}
}

// checkTools looks at what ordinary programs need.
func checkTools(t *testing.T, said map[string]string) {
	if len(said) < 18 {
		t.Errorf("only %d tries", len(said))
	}
	for name, word := range said {
		if word != "ok" {
			t.Errorf("%s: %s", name, word)
		}
	}
}

func checkFilter(t *testing.T, said map[string]string) {
	if len(said) < 60 {
		t.Errorf("only %d tries", len(said))
	}
	for name, word := range said {
		if want := map[bool]string{true: "ENOSYS", false: "EPERM"}[name == "clone3" ||
			strings.HasPrefix(name, "aio ")]; word != want {
			t.Errorf("%s: %s, want %s", name, word, want)
		}
	}
}

// checkWalls looks at what was tried against more than the filter: nothing of it
// may work, and what tells of a network must tell of none.
func checkWalls(t *testing.T, said map[string]string) {
	if len(said) < 60 {
		t.Errorf("only %d tries", len(said))
	}
	exact := map[string]string{
		"interfaces": "lo", "entries of /proc/net/route": "", "entries of /proc/net/arp": "",
		"trace 1": "EPERM", "seize 1": "EPERM", "signal 1": "EPERM", "become root": "EPERM", "become another": "EPERM",
		"join group 0": "EPERM",
		"groups":       "EPERM", "raise hard limit": "EPERM", "lower niceness": "EACCES", "real time": "EPERM",
		"connect 192.0.2.1:80": "network is unreachable", "connect 169.254.169.254:80": "network is unreachable",
	}
	for name, word := range said {
		want, is := exact[name]
		switch {
		case strings.Contains(name, "192.0.2.1") || strings.HasPrefix(name, "connect 169.") ||
			strings.HasPrefix(name, "connect 172.") || strings.HasPrefix(name, "connect [2001"):
			if word != "ENETUNREACH" && word != "EADDRNOTAVAIL" {
				t.Errorf("%s: %s", name, word)
			}
		case is && word != want:
			t.Errorf("%s: %q, want %q", name, word, want)
		case !is && (word == "ok" || word == ""):
			t.Errorf("%s: %q", name, word)
		}
	}
}

// status reads a file like /proc/self/status.
func status(text string) map[string]string {
	fields := map[string]string{}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(line, ":")
		fields[name] = strings.Join(strings.Fields(value), " ")
	}
	return fields
}

func checkIdentity(t *testing.T, c *cell) {
	s := status(c.must(t, "cat /proc/self/status"))
	for name, want := range map[string]string{
		"Uid": "1000 1000 1000 1000", "Gid": "1000 1000 1000 1000", "NoNewPrivs": "1", "Seccomp": "2",
		"CapInh": noCaps, "CapPrm": noCaps, "CapEff": noCaps, "CapAmb": noCaps,
	} {
		if s[name] != want {
			t.Errorf("%s: %q, want %q", name, s[name], want)
		}
	}
	for g := range strings.FieldsSeq(s["Groups"]) { // the guest marks commands by a group that nobody has
		if n, err := strconv.Atoi(g); err != nil || n != 1000 && n < 1<<30 {
			t.Errorf("groups: %q", s["Groups"])
		}
	}
	first := status(c.must(t, "cat /proc/1/status"))
	for name, want := range map[string]string{"CapEff": guestCaps, "CapBnd": guestCaps, "NoNewPrivs": "1", "Seccomp": "2",
		"Uid": "0 0 0 0"} {
		if first[name] != want {
			t.Errorf("first process: %s: %q, want %q", name, first[name], want)
		}
	}
}

const (
	noCaps    = "0000000000000000"
	guestCaps = "00000000000000e0" // KILL, SETGID, SETUID
)

// writable are the places a command may write to at all.
var writable = regexp.MustCompile(`^(/workspace|/tmp|/var/tmp|/run|/run/hako|/dev|/dev/(pts|shm|mqueue)|/proc)$`)

func checkMounts(t *testing.T, c *cell) {
	seen := map[string]bool{}
	for line := range strings.Lines(c.must(t, "cat /proc/mounts")) {
		f := strings.Fields(line)
		place, options := f[1], strings.Split(f[3], ",")
		seen[place] = true
		if slices.Contains(options, "ro") {
			continue
		}
		if masked := f[2] == "tmpfs" && strings.HasPrefix(place, "/proc/"); masked || place == "/proc/kcore" {
			continue // with /dev/null or nothing in their place
		}
		if !writable.MatchString(place) && f[0] != "tmpfs" {
			t.Errorf("writable: %s", line)
		}
		if place == "/workspace" && f[2] != "ext4" && os.Getuid() == 0 {
			t.Errorf("the workspace has no size of its own: %s", line)
		}
		if strings.HasPrefix(place, "/workspace") || strings.HasSuffix(place, "tmp") || place == "/run" {
			if !slices.Contains(options, "nosuid") || !slices.Contains(options, "nodev") {
				t.Errorf("devices or setuid programs would count: %s", line)
			}
		}
	}
	for _, place := range []string{"/", "/workspace", "/tmp", "/run/hako", "/.hako/hako-guest"} {
		if !seen[place] {
			t.Errorf("%s is no mount", place)
		}
	}
	for _, place := range []string{"/", "/bin", "/etc", "/sys", "/proc/sys", "/usr", "/.hako", "/run", "/run/hako"} {
		if o := c.sh(t, "touch "+place+"/x"); o.Exit == 0 {
			t.Errorf("%s can be written to", place)
		}
	}
	c.must(t, "cd && touch x && cd /workspace/project && touch x && cd /workspace/tmp && touch x && cd /tmp && touch x && cd /var/tmp && touch x && rm x")
}

// checkSetuid makes a program that would run as its owner: it must not help.
func checkSetuid(t *testing.T, c *cell) {
	got := c.must(t, "cp /bin/busybox /workspace/tmp/id; chmod 6755 /workspace/tmp/id; /workspace/tmp/id; /workspace/tmp/id -u")
	if strings.Contains(got, "root") || !strings.HasSuffix(got, "\n1000\n") {
		t.Error(got)
	}
	if found := c.sh(t, `/bin/busybox find / -xdev -perm -4000 -user 0 2>/dev/null`); found.stdout != "" {
		t.Errorf("setuid programs: %s", found.stdout)
	}
}

// checkProcesses checks that nobody else's processes are in sight.
func checkProcesses(t *testing.T, c *cell) {
	names := c.must(t, `cd /proc; for p in [0-9]*; do cat $p/comm 2>/dev/null; done`)
	for name := range strings.Lines(names) {
		if name = strings.TrimSpace(name); !slices.Contains([]string{"hako-guest", "sh", "cat", "busybox"}, name) {
			t.Errorf("process %s", name)
		}
	}
	if n := strings.Count(names, "\n"); n > 4 {
		t.Errorf("%d processes: %s", n, names)
	}
}

func checkDevices(t *testing.T, c *cell) {
	known := strings.Fields("console core fd full mqueue null ptmx pts random shm stderr stdin stdout tty urandom zero")
	for name := range strings.FieldsSeq(c.must(t, "ls /dev")) {
		if !slices.Contains(known, name) {
			t.Errorf("/dev/%s", name)
		}
	}
}

// checkEnvironment checks that nothing of ours came along.
func checkEnvironment(t *testing.T, c *cell) {
	t.Setenv("HAKO_TEST_SECRET", "gone-with-the-wind") // set after the guest began, and before it in the engine's case
	env := c.must(t, "env; cat /proc/self/environ")
	for _, odd := range []string{"gone-with", "HAKO_", "TOKEN", "API_KEY", "DOCKER_HOST", c.dock.State} {
		if strings.Contains(env, odd) {
			t.Errorf("%s is in the environment: %s", odd, env)
		}
	}
}

// checkForkBomb checks that processes are limited, that the guest answers while
// there can be no more, and that all are gone when the time of the command is up.
func checkForkBomb(t *testing.T, c, other *cell) {
	most := c.bomb(t, other, `bomb() { bomb | bomb & }; bomb; while :; do :; done`)
	t.Logf("the classic one: up to %d processes", most) // they come and go
	if most = c.bomb(t, other, `(while :; do sleep 600 & done); while :; do :; done`); most < 20 {
		t.Errorf("up to %d processes, where 64 are allowed", most)
	}
}

// checkLeftBehind does the same with a command that ends before what it started:
// that ends when the time of the command is up.
func checkLeftBehind(t *testing.T, c, other *cell) {
	if most := c.bomb(t, other, `while :; do sleep 600 & done`); most < 20 {
		t.Errorf("up to %d processes, where 64 are allowed", most)
	}
}

// bomb runs a script that starts as many processes as it can, and returns how many
// there were.
func (c *cell) bomb(t *testing.T, other *cell, script string) (most int) {
	t.Helper()
	done := make(chan outcome, 1)
	go func() { done <- c.command(t, guest.Command{Script: script, Timeout: 3 * time.Second}) }()
	if most = c.crowd(t, 2*time.Second); most > 64 {
		t.Errorf("up to %d processes, where 64 are allowed", most)
	}
	other.answers(t)
	<-done
	c.empty(t, 10*time.Second)
	c.answers(t)
	return most
}

// crowd asks much of the guest for a while, so that it needs threads of its own,
// and returns the most processes that there were.
func (c *cell) crowd(t *testing.T, long time.Duration) (most int) {
	t.Helper()
	over := time.Now().Add(long)
	var busy sync.WaitGroup
	defer busy.Wait()
	for range 8 {
		busy.Go(func() {
			for time.Now().Before(over) {
				c.Exec(t.Context(), guest.Command{Script: execArgs, Args: []string{"/bin/busybox",
					"true"}}) // for which there is no room, most of the time
			}
		})
	}
	for time.Now().Before(over) {
		s, err := c.Stats(t.Context(), false)
		if err != nil {
			t.Fatal("the guest does not answer:", err)
		}
		most = max(most, s.Processes)
		time.Sleep(20 * time.Millisecond)
	}
	return most
}

// empty waits until no process is left in a cell.
func (c *cell) empty(t *testing.T, most time.Duration) {
	t.Helper()
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		s, err := c.Stats(t.Context(), false)
		if err != nil {
			t.Fatal("the guest does not answer:", err)
		}
		if s.Processes == 0 {
			return
		}
		if time.Since(began) > most {
			t.Fatalf("%d processes are left", s.Processes)
		}
	}
}

// checkDiskFill checks that a container fills its own disk and nobody else's.
func checkDiskFill(t *testing.T, c, other *cell) {
	before := hostFree(t)
	o := c.sh(t, "dd if=/dev/zero of=/workspace/tmp/x bs=1M count=1024 2>&1; echo and; ls -l /workspace/tmp/x")
	if !strings.Contains(o.all(), "No space left on device") && !o.DiskFull {
		t.Errorf("no end of the disk: exit %d, %v: %s", o.Exit, o.err, o.all())
	}
	if taken := before - hostFree(t); taken > 512<<20 {
		t.Errorf("the host lost %d MB, where 64 are allowed", taken>>20)
	}
	o = c.sh(t, `i=0; while echo >/workspace/tmp/f$i; do i=$((i+1)); done 2>/dev/null; echo $i`)
	t.Logf("small files until the end: %s", o.all())
	if got := other.must(t, "dd if=/dev/zero of=/workspace/tmp/x bs=1M count=32 2>/dev/null && rm /workspace/tmp/x && echo fine"); got != "fine\n" {
		t.Error("another container is affected:", got)
	}
	c.must(t, "rm -f /workspace/tmp/*; echo text > /workspace/tmp/y")
	c.answers(t)
}

func hostFree(t *testing.T) int64 {
	t.Helper()
	var fs unix.Statfs_t
	if err := unix.Statfs(os.TempDir(), &fs); err != nil {
		t.Fatal(err)
	}
	return int64(fs.Bavail) * fs.Bsize
}

// checkMemoryFill checks the other places that can be written to. What is in them is in
// memory, and stays there when who wrote it has been killed: all of them together
// must leave the guest enough to live.
func checkMemoryFill(t *testing.T, c, _ *cell) {
	for _, place := range []string{"/dev/shm", "/tmp", "/var/tmp"} {
		o := c.command(t, guest.Command{Script: `dd if=/dev/zero of=$1/x bs=1M count=2048 2>&1; ls -l $1/x`,
			Args: []string{place}, Timeout: time.Minute})
		if o.err != nil || !strings.Contains(o.all(), "No space left on device") {
			t.Errorf("no end of %s: exit %d %v: %s", place, o.Exit, o.err, o.all())
		}
	}
	c.answers(t)
	if o := c.sh(t, `echo x > /dev/mqueue/x`); o.Exit == 0 {
		t.Error("files in /dev/mqueue")
	}
}

// checkMemoryBomb checks that memory is limited, that the command is told why it
// ended, and that the guest outlives it.
func checkMemoryBomb(t *testing.T, c, other *cell) {
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			o := c.sh(t, `/bin/busybox awk 'BEGIN { x = "0123456789abcdef"; while (1) x = x x }'`)
			if o.err != nil || o.Exit == 0 {
				t.Errorf("exit %d: %v", o.Exit, o.err)
			}
			if !o.OutOfMemory || !strings.Contains(o.Note, "memory") {
				t.Errorf("nobody says why: exit %d, %q: %s", o.Exit, o.Note, o.all())
			}
		})
	}
	all.Wait()
	c.answers(t)
	other.answers(t)
}
