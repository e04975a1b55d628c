package deps

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"hako/container/guest"
	"hako/container/lang"
	"hako/run/fault"
)

func TestInstallThenRestore(t *testing.T) {
	s := &Store{Dir: filepath.Join(t.TempDir(), "store")}
	first := newDen(t)
	first.write("project/lock", "libs 1")
	var told recorder
	o := first.options()
	o.Progress = told.say
	r := only(t, first.install(s, fetching, o))
	if r.Name != "lock" || r.Command != fetch || r.Restored || !r.Kept || r.Warning+r.Skipped+r.Unkept != "" ||
		r.Duration <= 0 {
		t.Errorf("first: %+v", r)
	}
	if !told.has("lock: "+fetch) || !told.has("fetched libs") {
		t.Errorf("told:\n%s", told.text.String())
	}
	second := newDen(t)
	second.write("project/lock", "libs 1")
	o = second.options()
	o.Progress = told.say
	if r := only(t, second.install(s, fetching, o)); !r.Restored || r.Kept || second.ran(fetch) != 0 || r.Unkept != "" {
		t.Errorf("second: %+v", r)
	}
	if !told.has("lock: what was installed before is put back") {
		t.Errorf("told:\n%s", told.text.String())
	}
	if got := second.read(".home/libs/link"); got != "libs 1" {
		t.Errorf("put back: %q", got)
	}
	if info, err := os.Stat(filepath.Join(second.root, ".home/libs/sub")); err != nil || info.Mode().Perm() != 0o750 {
		t.Errorf("the mode is lost: %v %v", info, err)
	}
	if second.has("tmp/.hako-restore") {
		t.Error("something was left in the temporary directory")
	}
}

// Each of these makes another key.
func TestKeyChanges(t *testing.T) {
	other := func(change func(*lang.Step)) lang.Language {
		l := lang.Language{Name: "test", Install: slices.Clone(fetching.Install)}
		change(&l.Install[0])
		return l
	}
	s := &Store{Dir: t.TempDir()}
	start := newDen(t)
	start.write("project/lock", "libs 1")
	start.install(s, fetching, start.options())
	for what, c := range map[string]struct {
		files  map[string]string
		lang   lang.Language
		salt   string
		reused bool
	}{
		"nothing":             {lang: fetching, reused: true},
		"file that is no key": {lang: fetching, files: map[string]string{"project/other": "x"}, reused: true},
		"contents":            {lang: fetching, files: map[string]string{"project/lock": "libs 2"}},
		"second key":          {lang: fetching, files: map[string]string{"project/a.cfg": ""}},
		"key in directory":    {lang: fetching, files: map[string]string{"project/sub/a.cfg": "x"}},
		"salt":                {lang: fetching, salt: "another image"},
		"command":             {lang: other(func(s *lang.Step) { s.Command += " " })},
		"step":                {lang: other(func(s *lang.Step) { s.Name += "2" })},
		"what is kept":        {lang: other(func(s *lang.Step) { s.Keep = append(slices.Clone(s.Keep), ".home/more") })},
		"language":            {lang: lang.Language{Name: "other", Install: fetching.Install}},
	} {
		d := newDen(t)
		d.write("project/lock", "libs 1")
		for name, text := range c.files {
			d.write(name, text)
		}
		o := d.options()
		if c.salt != "" {
			o.Salt = c.salt
		}
		if r := only(t, d.install(s, c.lang, o)); r.Restored != c.reused {
			t.Errorf("%s: %+v", what, r)
		}
	}
}

// A name and its contents cannot be mixed up with another name and contents, and
// age and order do not matter.
func TestKeyOfFiles(t *testing.T) {
	keyOf := func(files ...string) string {
		d := newDen(t)
		for i := 0; i < len(files); i += 2 {
			d.write("project/"+files[i], files[i+1])
		}
		j := &job{store: &Store{Dir: "x"}, guest: d, options: d.options()}
		k, err := j.key(t.Context(), "l", lang.Step{Key: []string{"*"}, Keep: []string{"k/k"}})
		if err != nil || k.none != "" {
			t.Fatal(err, k.none)
		}
		return k.name
	}
	same := keyOf("a", "1", "b", "2")
	if keyOf("b", "2", "a", "1") != same {
		t.Error("the order matters")
	}
	for _, files := range [][]string{{"a", "2", "b", "1"}, {"a", "12"}, {"ab", "12"}, {"a", "1", "b", "2", "c", ""},
		{"a", "1", "b", ""}, {"a", "1"}, {}} {
		if keyOf(files...) == same {
			t.Errorf("%q is the same", files)
		}
	}
}

func TestKeyOfHardLinks(t *testing.T) {
	names := []string{"a", "b", "*"}
	keyOf := func(link bool) string {
		d := newDen(t)
		d.write("project/a", "text")
		if link {
			if err := os.Link(filepath.Join(d.root, "project/a"), filepath.Join(d.root, "project/b")); err != nil {
				t.Fatal(err)
			}
		} else {
			d.write("project/b", "text")
		}
		j := &job{store: &Store{Dir: "x"}, guest: d, options: d.options()}
		k, err := j.key(t.Context(), "l", lang.Step{Key: names, Keep: []string{"k/k"}})
		if err != nil || k.none != "" {
			t.Fatal(err, k.none)
		}
		return k.name
	}
	if keyOf(true) != keyOf(false) {
		t.Error("that files are one file makes another key")
	}
}

func TestLargeKeyIsNotRead(t *testing.T) {
	s, d := &Store{Dir: t.TempDir()}, newDen(t)
	d.write("project/lock", strings.Repeat("x", maxKey))
	if r := only(t, d.install(s, fetching, d.options())); r.Kept || !strings.Contains(r.Unkept, "10 MB") ||
		r.Warning != "" || !d.has(".home/libs/link") {
		t.Errorf("got %+v", r)
	}
	if left := archives(t, s); len(left) != 0 {
		t.Errorf("left: %q", left)
	}
}

func TestFailingInstallIsAWarning(t *testing.T) {
	s, d := &Store{Dir: t.TempDir()}, newDen(t)
	d.write("project/lock", "x")
	l := lang.Language{Install: []lang.Step{
		{Name: "bad", When: []string{"lock"}, Key: []string{"lock"}, Keep: []string{".home/libs"},
			Command: `mkdir -p ../.home/libs; i=0; while [ $i -lt 500 ]; do echo "noise $i"; i=$((i+1)); done; printf '\033[31mE: \007no such library 箱\033[0m\n' >&2; exit 7`},
		{Name: "good", When: []string{"lock"}, Key: []string{"lock"}, Keep: []string{".home/libs"}, Command: fetch},
	}}
	r := d.install(s, l, d.options())
	if len(r.Steps) != 2 {
		t.Fatalf("got %+v", r)
	}
	w := r.Steps[0].Warning
	if !strings.HasPrefix(w, "it ended with status 7; its last output:\n…\n") ||
		!strings.HasSuffix(w, "\nE: no such library 箱") || len(w) > 2*tailSize+200 || r.Steps[0].Kept {
		t.Errorf("the warning is %q", w)
	}
	if !r.Steps[1].Kept || r.Steps[1].Warning != "" {
		t.Errorf("the next step: %+v", r.Steps[1])
	}
	if n := len(archives(t, s)); n != 1 {
		t.Errorf("%d are kept", n)
	}
}

func TestTimeout(t *testing.T) {
	s, d := &Store{Dir: t.TempDir()}, newDen(t)
	d.write("project/lock", "x")
	l := lang.Language{Install: []lang.Step{{Name: "slow", When: []string{"lock"}, Command: "echo begun; exec sleep 60"}}}
	o := d.options()
	o.Timeout = 300 * time.Millisecond
	if r := only(t, d.install(s, l, o)); r.Warning != "it took longer than 300ms; its last output:\nbegun" {
		t.Errorf("got %+v", r)
	}
}

func TestWhichTimeoutCounts(t *testing.T) {
	for _, c := range []struct{ option, step, want time.Duration }{
		{0, 0, 10 * time.Minute}, {0, time.Minute, time.Minute}, {time.Second, time.Minute, time.Second},
	} {
		j := &job{options: Options{Timeout: c.option}}
		if got := j.timeout(lang.Step{Timeout: c.step}); got != c.want {
			t.Errorf("%v and %v make %v", c.option, c.step, got)
		}
	}
}

func TestLostGuestIsAnError(t *testing.T) {
	gone := &fault.Error{Kind: fault.Unavailable, Op: "ask guest", Why: "the connection is lost"}
	for _, at := range []string{lookScript, keyScript, fetch, keepScript, restoreScript} {
		s := &Store{Dir: t.TempDir()}
		if at == restoreScript {
			d := newDen(t)
			d.write("project/lock", "x")
			d.install(s, fetching, d.options())
		}
		d := newDen(t)
		d.write("project/lock", "x")
		d.before = func(c guest.Command) error {
			if c.Script == at {
				return gone
			}
			return nil
		}
		if _, err := s.Install(t.Context(), d, fetching, d.options()); !errors.Is(err, gone) {
			t.Errorf("lost at %.30q: %v", at, err)
		}
		for _, name := range archives(t, s) {
			if strings.HasSuffix(name, partEnding) {
				t.Errorf("lost at %.30q: %s is left", at, name)
			}
		}
	}
}

func TestEndedContextIsAnError(t *testing.T) {
	d := newDen(t)
	d.write("project/lock", "x")
	ctx, cancel := context.WithCancel(t.Context())
	d.before = func(c guest.Command) error {
		if c.Script == fetch {
			cancel()
		}
		return nil
	}
	if _, err := (&Store{Dir: t.TempDir()}).Install(ctx, d, fetching, d.options()); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestGuestWithoutRoomIsAWarning(t *testing.T) {
	full := &fault.Error{Kind: fault.Exhausted, Op: "run command", Why: "the container has no room for another process"}
	for _, at := range []string{lookScript, keyScript, fetch, keepScript} {
		d := newDen(t)
		d.write("project/lock", "x")
		d.before = func(c guest.Command) error {
			if c.Script == at {
				return full
			}
			return nil
		}
		r := only(t, d.install(&Store{Dir: t.TempDir()}, fetching, d.options()))
		if output := r.Warning + r.Unkept; output != full.Error() || r.Kept {
			t.Errorf("at %.30q: %+v", at, r)
		}
	}
}

func TestWithoutStore(t *testing.T) {
	d := newDen(t)
	d.write("project/lock", "x")
	for range 2 {
		if err := os.RemoveAll(filepath.Join(d.root, ".home/libs")); err != nil {
			t.Fatal(err)
		}
		if r := only(t, d.install(&Store{}, fetching, d.options())); r.Restored || r.Kept || r.Warning != "" ||
			!d.has(".home/libs/link") {
			t.Errorf("got %+v", r)
		}
	}
}

func TestNothingToDo(t *testing.T) {
	d := newDen(t)
	if r := d.install(&Store{Dir: t.TempDir()}, fetching, d.options()); len(r.Steps) != 0 {
		t.Errorf("got %+v", r)
	}
	if err := os.Remove(filepath.Join(d.root, "project")); err != nil {
		t.Fatal(err)
	}
	if r := d.install(&Store{Dir: t.TempDir()}, fetching, d.options()); len(r.Steps) != 0 {
		t.Errorf("without a clone: %+v", r)
	}
	if r := d.install(&Store{}, lang.Language{}, d.options()); len(r.Steps) != 0 || len(d.scripts) != 2 {
		t.Errorf("without steps: %+v, %q", r, d.scripts)
	}
}

// What is not a file of the project calls for nothing.
func TestOnlyFilesOfTheProjectCount(t *testing.T) {
	for what, c := range map[string]struct {
		make func(d *den, name string) error
		want bool
	}{
		"directory":    {func(_ *den, name string) error { return os.Mkdir(name, 0o755) }, false},
		"pipe":         {func(_ *den, name string) error { return exec.Command("mkfifo", name).Run() }, false},
		"link outside": {func(_ *den, name string) error { return os.Symlink("/etc/hostname", name) }, false},
		"link upwards": {func(d *den, name string) error { d.write("secret", "x"); return os.Symlink("../secret", name) },
			false},
		"link to nothing": {func(_ *den, name string) error { return os.Symlink("nowhere", name) }, false},
		"link to itself":  {func(_ *den, name string) error { return os.Symlink("lock", name) }, false},
		"link to the like": {func(d *den, name string) error {
			d.write("project2/x", "x")
			return os.Symlink("../project2/x",
				name)
		}, false},
		"link inside": {func(d *den, name string) error {
			d.write("project/real", "x")
			return os.Symlink("real",
				name)
		}, true},
	} {
		d := newDen(t)
		if err := c.make(d, filepath.Join(d.root, "project/lock")); err != nil {
			t.Fatal(what, err)
		}
		if r := d.install(&Store{Dir: t.TempDir()}, fetching, d.options()); (len(r.Steps) == 1) != c.want {
			t.Errorf("%s: %+v", what, r)
		}
	}
}

// What a key's link leads to outside the project is not read.
func TestKeysDoNotLeadOutside(t *testing.T) {
	s := &Store{Dir: t.TempDir()}
	for i, secret := range []string{"one", "two"} {
		d := newDen(t)
		d.write("project/lock", "x")
		d.write("secret", secret)
		if err := os.Symlink("../secret", filepath.Join(d.root, "project/a.cfg")); err != nil {
			t.Fatal(err)
		}
		if r := only(t, d.install(s, fetching, d.options())); r.Restored != (i == 1) {
			t.Errorf("%d: %+v", i, r)
		}
	}
}

func TestChooseOfGroups(t *testing.T) {
	step := func(name, group, when, needs string) lang.Step {
		return lang.Step{Name: name, Group: group, When: strings.Fields(when), Needs: strings.Fields(needs)}
	}
	steps := []lang.Step{step("pnpm", "node", "package.json pnpm-lock", "pnpm"),
		step("yarn", "node", "package.json yarn.lock", "yarn"),
		step("npm", "node", "package.json", "npm"), step("pip", "python", "requirements.txt", "pip"),
		step("own", "", "x", ""), step("own2", "", "x", "")}
	for _, c := range []struct{ files, programs, want string }{
		{"package.json", "npm yarn pnpm", "npm"},
		{"package.json yarn.lock", "npm yarn pnpm", "yarn"},
		{"package.json yarn.lock pnpm-lock", "npm yarn pnpm", "pnpm"},
		{"package.json yarn.lock", "npm", "npm"},
		{"package.json yarn.lock", "", "yarn-yarn"},
		{"pnpm-lock", "pnpm", ""},
		{"package.json requirements.txt", "npm pip", "npm pip"},
		{"requirements.txt x", "", "pip-pip own own2"},
	} {
		found := probeResult{files: names{}, programs: names{}}
		for _, f := range strings.Fields(c.files) {
			found.files[f] = true
		}
		for _, p := range strings.Fields(c.programs) {
			found.programs[p] = true
		}
		var got []string
		for _, s := range choose(steps, found) {
			name := s.Name
			if s.missing != "" {
				name += "-" + s.missing
			}
			got = append(got, name)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s with %s: %q, want %q", c.files, c.programs, got, c.want)
		}
	}
}

func TestMissingProgramIsNoWarning(t *testing.T) {
	d := newDen(t)
	d.write("project/lock", "x")
	l := lang.Language{Install: []lang.Step{{Name: "s", When: []string{"lock"}, Needs: []string{"sh", "no-such-program"},
		Command: fetch}}}
	r := only(t, d.install(&Store{}, l, d.options()))
	if r.Skipped != "there is no no-such-program in this environment" || r.Warning != "" || d.ran(fetch) != 0 {
		t.Errorf("got %+v", r)
	}
}

func TestStepsSeeTheirEnvironment(t *testing.T) {
	d := newDen(t)
	d.write("project/lock", "x")
	l := lang.Language{Install: []lang.Step{{Name: "s", When: []string{"lock"},
		Command: `echo "$COLOUR in $(pwd)" >../.home/said`}}}
	o := d.options()
	o.Env = []string{"COLOUR=blue"}
	d.install(&Store{}, l, o)
	if got := d.read(".home/said"); got != "blue in "+d.root+"/project\n" {
		t.Errorf("got %q", got)
	}
}

// A package that brings its own tar has no say in what is kept.
func TestPackagesDoNotReplaceTar(t *testing.T) {
	s, d := &Store{Dir: t.TempDir()}, newDen(t)
	d.write("project/lock", "libs 1")
	d.write("bin/tar", "#!/bin/sh\necho forged\n")
	if err := os.Chmod(filepath.Join(d.root, "bin/tar"), 0o755); err != nil {
		t.Fatal(err)
	}
	o := d.options()
	o.Env = []string{"PATH=" + d.root + "/bin:" + os.Getenv("PATH")}
	if r := only(t, d.install(s, fetching, o)); !r.Kept {
		t.Fatalf("got %+v", r)
	}
	next := newDen(t)
	next.write("project/lock", "libs 1")
	if r := only(t, next.install(s, fetching, next.options())); !r.Restored || next.read(".home/libs/link") != "libs 1" {
		t.Errorf("got %+v", r)
	}
}

// Eight processes that want the same at the same time all get it.
func TestTogether(t *testing.T) {
	dir := t.TempDir()
	var all sync.WaitGroup
	for i := range 8 {
		d := newDen(t)
		d.write("project/lock", fmt.Sprint("libs ", i%2))
		all.Go(func() {
			for range 3 {
				r, err := (&Store{Dir: dir}).Install(t.Context(), d, fetching, d.options())
				if err != nil || len(r.Steps) != 1 || r.Steps[0].Warning != "" ||
					d.read(".home/libs/sub/installed") != fmt.Sprint("libs ", i%2) {
					t.Errorf("%d: %+v, %v", i, r, err)
				}
				os.RemoveAll(filepath.Join(d.root, ".home/libs"))
			}
		})
	}
	all.Wait()
	if n := len(archives(t, &Store{Dir: dir})); n != 2 {
		t.Errorf("%d files are in the store", n)
	}
}
