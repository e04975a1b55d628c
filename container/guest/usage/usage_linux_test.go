package usage

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"
)

func TestGroup(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  Usage
	}{
		"version 2": {map[string]string{"memory.current": "1000\n", "memory.max": "5000\n",
			"cpu.stat": "usage_usec 70\nuser_usec 9\n"},
			Usage{Memory: 1000, MemoryLimit: 5000, CPU: 70 * time.Microsecond}},
		"no limit": {map[string]string{"memory.current": "1000\n", "memory.max": "max\n"}, Usage{Memory: 1000}},
		"version 1": {map[string]string{"memory/memory.usage_in_bytes": "7\n",
			"memory/memory.limit_in_bytes": "9223372036854771712\n", "cpuacct/cpuacct.usage": "123\n"},
			Usage{Memory: 7, CPU: 123}},
		"nothing": {nil, Usage{}},
	} {
		root := t.TempDir()
		for file, text := range c.files {
			file = filepath.Join(root, file)
			os.MkdirAll(filepath.Dir(file), 0o755)
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got := Group(root); got != c.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestKills(t *testing.T) {
	for name, c := range map[string]struct {
		file, text string
		want       int64
	}{
		"version 2": {"memory.events", "low 0\noom 3\noom_kill 2\noom_group_kill 9\n", 2},
		"version 1": {"memory/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 5\n", 5},
		"nothing":   {"other", "", 0},
	} {
		root := t.TempDir()
		os.MkdirAll(filepath.Join(root, "memory"), 0o755)
		if err := os.WriteFile(filepath.Join(root, c.file), []byte(c.text), 0o644); err != nil {
			t.Fatal(err)
		}
		k := OpenKills(root)
		if got := k.Count(); got != c.want {
			t.Errorf("%s: %d", name, got)
		}
		more := regexp.MustCompile(`oom_kill \d`).ReplaceAllString(c.text, "oom_kill 7")
		if err := os.WriteFile(filepath.Join(root, c.file), []byte(more), 0o644); err != nil {
			t.Fatal(err)
		}
		if got := k.Count(); got != 7 && c.want > 0 {
			t.Errorf("%s: then %d", name, got)
		}
		k.Close()
	}
}

func TestMountRoot(t *testing.T) {
	const text = `25 1 0:22 / / rw - overlay overlay rw
26 25 8:1 /volumes/x/_data /workspace rw - ext4 /dev/sda1 rw
27 25 7:0 / /a\040b rw - ext4 /dev/loop0 rw
28 25 0:9 /old /top rw - tmpfs tmpfs rw
29 28 0:9 / /top rw - tmpfs tmpfs rw
nonsense
`
	for dir, want := range map[string]string{"/": "/", "/workspace": "/volumes/x/_data", "/a b": "/", "/top": "/",
		"/none": ""} {
		if got := mountRoot(text, dir); got != want {
			t.Errorf("%s: %q", dir, got)
		}
	}
}

func TestBytes(t *testing.T) {
	for n, want := range map[int64]string{0: "0 bytes", 1023: "1023 bytes", 1 << 10: "1 KB", 96 << 20: "96 MB",
		3 << 29: "1.5 GB", 10 << 30: "10 GB"} {
		if got := Bytes(n); got != want {
			t.Errorf("%d: %s", n, got)
		}
	}
}

func FuzzMountRoot(f *testing.F) {
	f.Add(`27 25 7:0 / /a\040b rw`, "/a b")
	f.Add(`\`, `\1`)
	f.Add("1 2 3 \\777\\ \\134\\ 5", `\`)
	f.Fuzz(func(t *testing.T, text, dir string) {
		_ = mountRoot(text, dir)
		if back := unescape(dir); len(back) > len(dir) {
			t.Errorf("%q became longer: %q", dir, back)
		}
	})
}
