package deps

import (
	"archive/tar"
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"hako/container/guest"
	"hako/container/lang"
)

// kept returns a store that has one result, and its file.
func kept(t *testing.T) (*Store, string) {
	t.Helper()
	s, d := &Store{Dir: t.TempDir()}, newDen(t)
	d.write("project/lock", "libs 1")
	d.install(s, fetching, d.options())
	list := archives(t, s)
	if len(list) != 1 || len(filepath.Base(list[0])) != 64+len(archiveEnding) {
		t.Fatalf("kept: %q", list)
	}
	return s, list[0]
}

// again installs once more, and expects it to work by the command.
func again(t *testing.T, s *Store) *den {
	t.Helper()
	d := newDen(t)
	d.write("project/lock", "libs 1")
	if r := only(t, d.install(s, fetching, d.options())); r.Restored || !r.Kept || d.ran(fetch) != 1 || r.Warning != "" {
		t.Errorf("got %+v", r)
	}
	if d.has("tmp/.hako-restore") || d.read(".home/libs/link") != "libs 1" {
		t.Error("what is there is not what the command installs")
	}
	return d
}

// replace gives the archive other contents.
func replace(t *testing.T, file string, change func([]byte) []byte) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(file, change(text), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestDamagedArchives(t *testing.T) {
	for what, change := range map[string]func([]byte) []byte{
		"cut in the middle":      func(p []byte) []byte { return p[:len(p)/2] },
		"without its last byte":  func(p []byte) []byte { return p[:len(p)-1] },
		"one byte more":          func(p []byte) []byte { return append(p, 0) },
		"one bit in a file":      func(p []byte) []byte { p[bytes.Index(p, []byte("libs 1"))] ^= 1; return p },
		"empty":                  func([]byte) []byte { return nil },
		"shorter than a seal":    func([]byte) []byte { return []byte(sealMagic) },
		"no archive, but a seal": func([]byte) []byte { return sealed(t, []byte("not an archive at all")) },
		"half an archive, sealed": func(p []byte) []byte {
			return sealed(t, p[:bytes.Index(p, []byte("libs 1"))+3])
		},
	} {
		s, file := kept(t)
		replace(t, file, change)
		again(t, s)
		d := newDen(t)
		d.write("project/lock", "libs 1")
		if r := only(t, d.install(s, fetching, d.options())); !r.Restored {
			t.Errorf("%s: the good one that came after is not used: %+v", what, r)
		}
	}
}

// sealed makes an archive of a text as the store does.
func sealed(t *testing.T, text []byte) []byte {
	t.Helper()
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	a := &archive{file: f, left: 1 << 20}
	if _, err := a.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := a.seal(); err != nil {
		t.Fatal(err)
	}
	out, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// An archive that was forged puts nothing anywhere else than it is kept for.
func TestForgedArchives(t *testing.T) {
	s, file := kept(t)
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range []tar.Header{
		{Name: "./project/source.go", Size: 4, Mode: 0o644},
		{Name: "project/.git/hooks/pre-commit", Size: 4, Mode: 0o755},
		{Name: "../up", Size: 4, Mode: 0o644},
		{Name: "./.home/.bashrc", Size: 4, Mode: 0o644},
		{Name: "./.home/libs", Typeflag: tar.TypeSymlink, Linkname: "../project"},
		{Name: "./.home/libs/through", Size: 4, Mode: 0o644},
	} {
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if h.Size > 0 {
			w.Write([]byte("evil"))
		}
	}
	w.Close()
	replace(t, file, func([]byte) []byte { return sealed(t, b.Bytes()) })
	d := newDen(t)
	d.write("project/lock", "libs 1")
	d.install(s, fetching, d.options())
	for _, name := range []string{"project/source.go", "project/.git", "../up", "up", ".home/.bashrc", "project/through"} {
		if d.has(name) {
			t.Errorf("%s was made", name)
		}
	}
}

// A second step that keeps the same directory adds to what the first left.
func TestStepsShareADirectory(t *testing.T) {
	l := lang.Language{Install: []lang.Step{
		{Name: "a", When: []string{"a"}, Key: []string{"a"}, Keep: []string{".home/libs"},
			Command: "mkdir -p ../.home/libs && echo a >../.home/libs/a"},
		{Name: "b", When: []string{"b"}, Key: []string{"b"}, Keep: []string{".home/libs"},
			Command: "mkdir -p ../.home/libs && echo b >../.home/libs/b && echo other >../.home/libs/a"},
	}}
	s := &Store{Dir: t.TempDir()}
	for i := range 2 {
		d := newDen(t)
		d.write("project/a", "1")
		d.write("project/b", "1")
		r := d.install(s, l, d.options())
		if len(r.Steps) != 2 || r.Steps[0].Restored != (i == 1) || r.Steps[1].Restored != (i == 1) {
			t.Errorf("%d: %+v", i, r)
		}
		if d.read(".home/libs/a") != "other\n" || d.read(".home/libs/b") != "b\n" {
			t.Errorf("%d: a has %q, b has %q", i, d.read(".home/libs/a"), d.read(".home/libs/b"))
		}
	}
}

// Projects of several packages have a directory of libraries in each.
func TestPatternsOfDirectories(t *testing.T) {
	l := lang.Language{Install: []lang.Step{{Name: "s", When: []string{"lock"}, Key: []string{"lock", "packages/*/lock"},
		Keep:    []string{"project/libs", "project/*/libs", "project/*/*/libs"},
		Command: `for d in . "packages/a b" packages/c .hidden; do mkdir -p "$d/libs" && echo "$d" >"$d/libs/from"; done; mkdir packages/c/other; ln -s c packages/link`}}}
	s := &Store{Dir: t.TempDir()}
	for i := range 2 {
		d := newDen(t)
		for _, name := range []string{"lock", "packages/a b/lock", "packages/c/lock"} {
			d.write("project/"+name, "x")
		}
		if r := only(t, d.install(s, l, d.options())); r.Restored != (i == 1) || r.Warning+r.Unkept != "" {
			t.Fatalf("%d: %+v", i, r)
		}
		if a, c := d.read("project/packages/a b/libs/from"), d.read("project/packages/c/libs/from"); a != "packages/a b\n" ||
			c != "packages/c\n" || !d.has("project/libs/from") {
			t.Errorf("%d: %q and %q are there", i, a, c)
		}
		if kept := d.has("project/.hidden"); kept != (i == 0) {
			t.Errorf("%d: what no pattern names: %v", i, kept)
		}
	}
}

func TestOldResultsAreMadeAnew(t *testing.T) {
	s, _ := kept(t)
	s.MaxAge = time.Nanosecond
	d := newDen(t)
	d.write("project/lock", "libs 1")
	if r := only(t, d.install(s, fetching, d.options())); r.Restored || !r.Kept {
		t.Errorf("got %+v", r)
	}
	if got := (&Store{}).maxAge(); got != 720*time.Hour {
		t.Errorf("usually %v", got)
	}
}

func TestLargeResultsAreNotKept(t *testing.T) {
	s, d := &Store{Dir: t.TempDir(), MaxOne: 8 << 10}, newDen(t)
	d.write("project/lock", strings.Repeat("x", 64<<10))
	if r := only(t, d.install(s, fetching, d.options())); r.Kept || r.Unkept != "it is larger than 0 MB" ||
		r.Warning != "" || !d.has(".home/libs/link") {
		t.Errorf("got %+v", r)
	}
	if left := archives(t, s); len(left) != 0 {
		t.Errorf("left: %q", left)
	}
}

func TestUsualSizes(t *testing.T) {
	for _, c := range []struct {
		s        Store
		all, one int64
	}{{Store{}, 5 << 30, 2 << 30}, {Store{MaxBytes: 1 << 20}, 1 << 20, 1 << 20},
		{Store{MaxBytes: 1 << 20, MaxOne: 1 << 30}, 1 << 20, 1 << 20}, {Store{MaxOne: 5}, 5 << 30, 5}} {
		if c.s.maxBytes() != c.all || c.s.maxOne() != c.one {
			t.Errorf("%+v: %d and %d", c.s, c.s.maxBytes(), c.s.maxOne())
		}
	}
}

// The longest unused go first, and using is what counts.
func TestShrink(t *testing.T) {
	s := &Store{Dir: t.TempDir()}
	put := func(content string) string {
		d := newDen(t)
		d.write("project/lock", content)
		had := archives(t, s)
		d.install(s, fetching, d.options())
		for _, f := range archives(t, s) {
			if !strings.Contains(strings.Join(had, "\n"), f) {
				return f
			}
		}
		return ""
	}
	one, two, three := put("1"), put("2"), put("3")
	for i, f := range []string{one, two, three} {
		long := time.Now().Add(time.Duration(i-10) * time.Hour)
		if err := os.Chtimes(f, long, long); err != nil {
			t.Fatal(err)
		}
	}
	put("1") // is used
	info, err := os.Stat(one)
	if err != nil {
		t.Fatal(err)
	}
	s.MaxBytes = 3*info.Size() + info.Size()/2
	four := put("4")
	for f, want := range map[string]bool{one: true, two: false, three: true, four: true} {
		if _, err := os.Stat(f); (err == nil) != want {
			t.Errorf("%s: %v", f, err)
		}
	}
}

func TestAbandonedPartsAreRemoved(t *testing.T) {
	s := &Store{Dir: t.TempDir()}
	old, fresh := filepath.Join(s.Dir, "k.1"+partEnding), filepath.Join(s.Dir, "k.2"+partEnding)
	other := filepath.Join(s.Dir, "notes.txt")
	for _, f := range []string{old, fresh, other} {
		if err := os.WriteFile(f, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	long := time.Now().Add(-2 * abandoned)
	for _, f := range []string{old, other} {
		if err := os.Chtimes(f, long, long); err != nil {
			t.Fatal(err)
		}
	}
	d := newDen(t)
	d.write("project/lock", "x")
	d.install(s, fetching, d.options())
	for f, want := range map[string]bool{old: false, fresh: true, other: true} {
		if _, err := os.Stat(f); (err == nil) != want {
			t.Errorf("%s: %v", f, err)
		}
	}
}

// That nothing can be kept is no reason to stop.
func TestStoreThatCannotBeWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s, d := &Store{Dir: filepath.Join(file, "store")}, newDen(t)
	d.write("project/lock", "x")
	if r := only(t, d.install(s, fetching, d.options())); r.Kept ||
		!strings.HasPrefix(r.Unkept, "it could not be written: ") || r.Warning != "" {
		t.Errorf("got %+v", r)
	}
}

func TestFullDiskOfTheStore(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there is no /dev/full")
	}
	f, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer f.Close()
	a := &archive{file: f, left: 1 << 20}
	if _, err := a.Write([]byte("x")); err == nil || a.err == nil {
		t.Errorf("got %v", err)
	}
	if why := (&Store{}).notKept(a.err); !strings.Contains(why, "no space left") {
		t.Errorf("got %q", why)
	}
}

func TestNothingLeftToKeep(t *testing.T) {
	l := lang.Language{Install: []lang.Step{{Name: "s", When: []string{"lock"}, Key: []string{"lock"},
		Keep:    []string{".home/libs", ".home/link"},
		Command: "ln -s ../project ../.home/link"}}}
	s, d := &Store{Dir: t.TempDir()}, newDen(t)
	d.write("project/lock", "x")
	if r := only(t, d.install(s, l, d.options())); r.Kept || r.Unkept != "it left nothing to keep" {
		t.Errorf("got %+v", r)
	}
}

// A container in which packing fails, whatever tar says about it.
func TestPackingThatFails(t *testing.T) {
	s, d := &Store{Dir: t.TempDir()}, newDen(t)
	d.write("project/lock", "x")
	d.change = func(c *guest.Command) {
		if c.Script == keepScript {
			c.Script = "echo half; echo 'tar: file changed as we read it' >&2; exit 1"
		}
	}
	if r := only(t, d.install(s, fetching, d.options())); r.Kept ||
		r.Unkept != "packing it did not work; its last output:\ntar: file changed as we read it" || r.Warning != "" {
		t.Errorf("got %+v", r)
	}
	if left := archives(t, s); len(left) != 0 {
		t.Errorf("left: %q", left)
	}
}

// Time that runs out in the middle of putting back leaves no half behind.
func TestRestoringThatTakesTooLong(t *testing.T) {
	s, _ := kept(t)
	d := newDen(t)
	d.write("project/lock", "libs 1")
	d.change = func(c *guest.Command) {
		if c.Script == restoreScript {
			c.Script, c.Timeout = "mkdir -p tmp/.hako-restore/half; exec sleep 60", 200*time.Millisecond
		}
	}
	if r := only(t, d.install(s, fetching, d.options())); r.Restored || !r.Kept || d.has("tmp/.hako-restore") {
		t.Errorf("got %+v", r)
	}
}
