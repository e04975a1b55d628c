package host

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"hako/host/sandbox"
	"hako/internal/text"
	"hako/policy"
	"hako/quota"
	"hako/run"
	"hako/shell"
	"hako/shell/vfs"
)

// secretText must never come out of a sandbox, neither from the file outside
// nor from the environment of this process.
const secretText = "canary-77c1-kept-outside-the-root"

// A scene is a root, a directory beside it that nothing may reach, and somebody
// who listens at its doors.
type scene struct {
	top, root, outside string
	bell               int // rings when somebody opens something outside
	before             string
}

// A runnerOutcome is what came of a script, as far as it fits.
type runnerOutcome struct {
	text  string
	res   run.Result
	fault error
}

// newScene sets a scene. What furnish puts into the root is up to the test.
func newScene(dir string, furnish func(*scene) error) (*scene, error) {
	top, err := os.MkdirTemp(dir, "scene")
	if err != nil {
		return nil, err
	}
	if top, err = filepath.EvalSymlinks(top); err != nil {
		return nil, err
	}
	s := &scene{top: top, root: top + "/root", outside: top + "/outside", bell: -1}
	// Ordinary rights protect nothing here: only the sandbox does.
	for _, name := range []string{s.root, s.outside, s.outside + "/d", s.outside + "/hooks"} {
		err = errors.Join(err, os.Mkdir(name, 0o777), os.Chmod(name, 0o777))
	}
	for _, name := range []string{"secret.txt", "secret", "victim.txt", "x", "f", "x.py", "Makefile"} {
		err = errors.Join(err, os.WriteFile(s.outside+"/"+name, []byte(secretText+"\n"), 0o666),
			os.Chmod(s.outside+"/"+name, 0o666))
	}
	if err = errors.Join(err, furnish(s)); err != nil {
		return nil, err
	}
	s.before, err = s.look()
	return s, errors.Join(err, s.listen())
}

func (s *scene) close() {
	if s.bell >= 0 {
		unix.Close(s.bell)
	}
	removeAll(s.top)
}

// replace puts the scene's places where the corpus has marks, or the places
// that the tests of the policy have.
func (s *scene) replace(text string) string {
	return strings.NewReplacer("@ROOT@", s.root, "@PWN@", s.outside+"/pwn", "@SECRET@", s.outside+"/secret.txt", "@OUT@",
		s.outside, "/srv/box", s.top).Replace(text)
}

// alarming is what rings. Closing does not: a process that is just being started
// may be the last to close what we ourselves had open.
const alarming = unix.IN_ALL_EVENTS &^ unix.IN_CLOSE

// listen has the kernel tell when anything outside is opened or changed.
func (s *scene) listen() (err error) {
	if s.bell, err = unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC); err != nil {
		return err
	}
	defer s.heard() // that was us
	return filepath.WalkDir(s.outside, func(path string, _ fs.DirEntry, err error) error {
		if err == nil {
			_, err = unix.InotifyAddWatch(s.bell, path, alarming)
		}
		return err
	})
}

// heard reports whether anything was opened or changed since it was last asked.
func (s *scene) heard() bool {
	var buf [4096]byte
	for rang := false; ; rang = true {
		if n, err := unix.Read(s.bell, buf[:]); err != nil || n <= 0 {
			return rang
		}
	}
}

// look describes everything beside the root: names, modes, owners, links, times
// and contents. The time of the last change cannot be set back by anybody.
func (s *scene) look() (string, error) {
	var b strings.Builder
	err := filepath.WalkDir(s.top, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if path == s.root {
			return fs.SkipDir
		}
		var st syscall.Stat_t
		if err := syscall.Lstat(path, &st); err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s %o %d %d:%d %d %v %v ", path, st.Mode, st.Nlink, st.Uid, st.Gid, st.Size, st.Mtim, st.Ctim)
		if d.Type().IsRegular() {
			text, err := os.ReadFile(path)
			fmt.Fprintf(&b, "%q %v", text, err)
		}
		b.WriteString("\n")
		return nil
	})
	return b.String(), err
}

// needles are the secret and the shapes in which programs might print it.
var needles = func() (list []string) {
	flip := []byte(secretText)
	slices.Reverse(flip)
	list = append(list, secretText, string(flip), hex.EncodeToString([]byte(secretText))[:40])
	for skip := range 3 { // base64 looks different at each place it can begin
		text := secretText[skip : skip+(len(secretText)-skip)/3*3]
		list = append(list, base64.StdEncoding.EncodeToString([]byte(text)))
	}
	return list
}()

func tells(text string) bool {
	return slices.ContainsFunc(needles, func(n string) bool { return strings.Contains(text, n) })
}

// breach says what a script got at that it must not, or "".
func (s *scene) breach(o runnerOutcome) string {
	if s.heard() {
		return "something outside was opened or changed"
	}
	defer s.heard() // what we look at ourselves
	switch now, err := s.look(); {
	case err != nil:
		return err.Error()
	case now != s.before:
		return "the world outside changed:\n" + now + "was\n" + s.before
	case tells(o.text):
		return "the secret was printed"
	}
	found := ""
	filepath.WalkDir(s.root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && found == "" {
			if info, err := d.Info(); err == nil && info.Size() < 1<<20 {
				if text, err := os.ReadFile(path); err == nil && tells(string(text)) {
					found = "the secret was written into " + path
				}
			}
		}
		return nil
	})
	return found
}

// elsewhere finds names in a set-up that lead out of the scene. Set-ups run
// without a sandbox.
var elsewhere = regexp.MustCompile(
	`(^|[\s"'=<>|;:])(/[^\s"';|]*|~[^\s]*)|\.\./|\$HOME|\b(sudo|rm|dd|kill|curl|wget|ssh)\b`)

// prepare runs the set-up of an attack. It refuses what names anything but the
// scene.
func (s *scene) prepare(setup string) error {
	if setup == "" {
		return nil
	}
	setup = s.replace(setup)
	for _, m := range elsewhere.FindAllStringSubmatch(setup, -1) {
		path := m[2]
		if path != "/dev/null" && path != "/bin/sh" && !strings.HasPrefix(strings.TrimPrefix(path, "//"), s.top+"/") &&
			!strings.HasPrefix(m[0], "!/bin/sh") {
			return fmt.Errorf("the set-up %q leads out of the scene: %q", setup, m[0])
		}
	}
	cmd := exec.Command("bash", "-c", setup)
	cmd.Dir = s.root
	cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + s.root, "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_CONFIG_NOSYSTEM=1"}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("set-up %q: %w\n%s", setup, err, out)
	}
	return nil
}

// nowhere is a place that does not exist. A tree of files cannot be furnished
// with it, so that a cage which is to show it gets no further than Landlock.
const nowhere = "/nowhere/this/does/not/exist"

// runnerAt makes a runner with a sandbox of exactly this level.
func runnerAt(t testing.TB, o Options, level sandbox.Level) (*Runner, error) {
	o.Parse = policy.ParseScript
	o.Limiter = quota.NewLimiter(func() quota.ScriptLimits {
		l := quota.Lenient()
		l.Time, l.Output = time.Hour,
			1<<40
		return l
	}())
	if err := o.resolve(); err != nil {
		return nil, err
	}
	if o.Least = level; level == sandbox.LandlockOnly {
		o.Readable = append(o.Readable, nowhere)
	}
	temp, err := newTemp()
	if err != nil {
		return nil, err
	}
	r := &Runner{o: o, temp: temp, search: newSearch(o.Root, o.Path)}
	if err := r.build(t.Context()); err != nil {
		r.Close()
		return nil, err
	}
	if got := r.Status().Level; got != level {
		r.Close()
		return nil, fmt.Errorf("the sandbox is %v, not %v", got, level)
	}
	return r, nil
}

// renew gives a runner a new shell in the same sandbox: nothing of what a script
// has set or where it went is left.
func renew(r *Runner) error {
	r.session.Close()
	r.fs = vfs.New(vfs.Options{Limiter: r.o.Limiter, Protect: r.o.Protect})
	for i, at := range []string{r.Status().TempDir, r.o.Root} {
		if err := r.fs.MountRoot(at, r.dirs[i], true); err != nil {
			return err
		}
	}
	r.session = shell.New(shell.Options{
		FS: r.fs, Limiter: r.o.Limiter, Dir: r.o.Root, Env: r.environment(), Parse: r.o.Parse,
		Find: r.find, Names: r.search.names, Unknown: r.search.hint, Jobs: true,
	})
	return nil
}

// attempt runs a script for a while and keeps what it prints.
func attempt(t testing.TB, r run.Runner, req run.Request, patience time.Duration) runnerOutcome {
	var out text.HeadTail
	req.Timeout, req.Stdout, req.Stderr = patience, &out, &out
	res, err := r.Run(t.Context(), &req)
	text := out.String()
	if err != nil {
		text += err.Error()
	}
	return runnerOutcome{text, res, err}
}

// provenLevel checks with something harmless that the sandbox holds at a level;
// where it does not, no attack is made. It reports whether there is that level
// here.
func provenLevel(t *testing.T, level sandbox.Level) bool {
	t.Helper()
	s, err := newScene(t.TempDir(), func(s *scene) error { return os.Symlink("../outside", s.root+"/out") })
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	r, err := runnerAt(t, Options{Root: s.root}, level)
	if err != nil {
		if os.Getenv("HAKO_REQUIRE_TOOLS") != "" {
			t.Fatal(err)
		}
		t.Logf("%v: left out: %v", level, err)
		return false
	}
	defer r.Close()
	for _, harmless := range []string{
		"env touch " + s.outside + "/pwn out/pwn", "env cat " + s.outside + "/secret.txt out/secret.txt",
		"env sh -c 'echo x >>out/victim.txt'", "env printenv HAKO_ATTACK",
	} {
		o := attempt(t, r, run.Request{Script: harmless}, 5*time.Second)
		if why := s.breach(o); why != "" || o.fault != nil || o.res.Exit == 0 {
			t.Fatalf("%v: %s: the sandbox does not hold, no attack is run: %s, %+v", level, harmless, why, o)
		}
	}
	if o := attempt(t, r, run.Request{Script: "env echo works"}, 5*time.Second); o.text != "works\n" {
		t.Fatalf("%v: nothing runs: %+v", level, o)
	}
	return true
}
