package host

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"hako/host/sandbox"
	"hako/run"
)

// proven remembers which levels were proven: once will do.
var proven sync.Map

// eachLevel runs a test in a scene of its own at each level that there is here.
func eachLevel(t *testing.T, files map[string]string, test func(t *testing.T, s *scene, r *Runner)) {
	t.Helper()
	for _, level := range []sandbox.Level{sandbox.Full, sandbox.LandlockOnly} {
		t.Run(level.String(), func(t *testing.T) {
			if done, ok := proven.Load(level); ok && !done.(bool) || !ok && !provenLevel(t, level) {
				proven.Store(level, false)
				t.Skip("there is no such level here")
			}
			proven.Store(level, true)
			s, err := newScene(t.TempDir(), func(s *scene) error {
				for name, text := range files {
					write(t, s.root, name, text)
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(s.close)
			r, err := runnerAt(t, Options{Root: s.root}, level)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(r.Close)
			test(t, s, r)
		})
	}
}

// TestNothingIsDoneThroughLinks has programs put links where hako itself goes when
// they have ended: what these lead to stays as it is.
func TestNothingIsDoneThroughLinks(t *testing.T) {
	for name, script := range map[string]string{
		"a link as .git":                  "ln -s @OUT@/d .git",
		"a relative link":                 "ln -s ../outside/d .git",
		"a link to a link":                "ln -s @OUT@/d l; ln -s l .git",
		"a link as commondir":             "mkdir .git; ln -s @OUT@/secret.txt .git/commondir",
		"a link as hooks":                 "mkdir .git; ln -s @OUT@/hooks .git/hooks",
		"a link as settings":              "mkdir .git; ln -s @OUT@/secret.txt .git/config",
		"a link as .vscode":               "ln -s @OUT@/d .vscode",
		"a link as settings of hako":      "ln -s @OUT@/secret.txt hako.yaml",
		"a link in a temporary directory": "ln -s @OUT@ $TMPDIR/home2; rm -rf $TMPDIR/home; ln -s @OUT@ $TMPDIR/home",
		"closed directories":              "mkdir -p $TMPDIR/c/d; ln -s @OUT@ $TMPDIR/c/d/l; chmod 0 $TMPDIR/c/d $TMPDIR/c",
	} {
		t.Run(name, func(t *testing.T) {
			eachLevel(t, nil, func(t *testing.T, s *scene, r *Runner) {
				write(t, s.outside, "d/commondir", "kept")
				write(t, s.outside, "d/config", "kept")
				write(t, s.outside, "hooks/post-commit", "kept")
				s.heard()
				s.before, _ = s.look()
				s.heard()
				o := attempt(t, r, run.Request{Script: s.replace(bash(script))}, 10*time.Second)
				r.Close()
				if why := s.breach(o); why != "" {
					t.Errorf("%s\n%s", why, o.text)
				}
			})
		})
	}
}

// TestGitIsNotLedAstray has programs change what git, an editor or hako believes
// outside of the sandbox.
func TestGitIsNotLedAstray(t *testing.T) {
	files := map[string]string{
		"wt/.git": "gitdir: /somewhere\n", "sub/.git/config": "[core]\n", "sub/.git/HEAD": "ref: x\n", ".envrc": "old",
		"bare/HEAD": "ref: x\n", "bare/config": "[core]\n", "bare/refs/x": "", "bare/objects/x": "",
	}
	dir := map[string]string{".git/config": "[core]\n\tbare = false\n", ".git/HEAD": "ref: x\n", ".git/hooks/x.sample": "",
		".git/modules/m/HEAD": "ref: x", ".git/modules/m/config": "[core]\n", ".git/modules/m/objects/x": "",
		".git/modules/m/refs/x": ""}
	linked := map[string]string{".git": "gitdir: /somewhere\n"}
	for name, c := range map[string]struct {
		more   map[string]string
		script string
		want   map[string]string // what has to be there; empty means nothing
	}{
		"a linked worktree": {linked, "echo 'gitdir: evil' >.git",
			map[string]string{".git": "gitdir: /somewhere\n"}},
		"in place": {linked, "python3 -c 'open(\".git\",\"r+\").write(\"gitdir: evil\")'",
			map[string]string{".git": "gitdir: /somewhere\n"}},
		"moved over": {linked, "echo 'gitdir: evil' >x; mv -f x .git",
			map[string]string{".git": "gitdir: /somewhere\n"}},
		"replaced by a directory": {linked, "rm -f .git; mkdir .git; printf '[core]\\nfsmonitor = x\\n' >.git/config",
			map[string]string{".git": "gitdir: /somewhere\n"}},
		"replaced by a link": {linked, "rm -f .git; ln -s wt .git",
			map[string]string{".git": "gitdir: /somewhere\n"}},
		"a worktree below": {nil, "echo 'gitdir: evil' >wt/.git",
			map[string]string{"wt/.git": "gitdir: /somewhere\n"}},
		"a worktree below, moved": {nil, "mv wt w2; mkdir wt; echo 'gitdir: evil' >wt/.git",
			map[string]string{"wt/.git": "gitdir: /somewhere\n"}},
		"a repository below": {nil, "printf '[core]\\nfsmonitor = x\\n' >sub/.git/config",
			map[string]string{"sub/.git/config": "[core]\n"}},
		"a hook below": {nil, "mkdir -p sub/.git/hooks; echo evil >sub/.git/hooks/post-commit",
			map[string]string{"sub/.git/hooks/post-commit": ""}},
		"a repository without files": {nil,
			"printf '[core]\\nfsmonitor = x\\n' >bare/config; mkdir bare/hooks; echo x >bare/hooks/update",
			map[string]string{"bare/config": "[core]\n", "bare/hooks/update": ""}},
		"a submodule": {dir,
			"printf '[core]\\nfsmonitor = x\\n' >.git/modules/m/config; mkdir .git/modules/m/hooks; echo x >.git/modules/m/hooks/y", map[string]string{".git/modules/m/config": "[core]\n", ".git/modules/m/hooks/y": ""}},
		"settings": {dir, "printf '[core]\\nfsmonitor = x\\n' >.git/config",
			map[string]string{".git/config": "[core]\n\tbare = false\n"}},
		"a hook": {dir, "echo x >.git/hooks/pre-commit; echo x >.git/hooks/x.sample",
			map[string]string{".git/hooks/pre-commit": ""}},
		"a hook among many": {dir,
			"for i in $(seq 1500); do : >.git/hooks/$i.sample; done; echo x >.git/hooks/update",
			map[string]string{".git/hooks/update": ""}},
		"settings of a worktree": {dir, "echo x >.git/config.worktree; echo x >.git/commondir",
			map[string]string{".git/config.worktree": "", ".git/commondir": ""}},
		"a new repository": {nil,
			"mkdir .git .git/hooks; printf '[core]\\nfsmonitor = x\\n' >.git/config; echo x >.git/hooks/post-checkout",
			map[string]string{".git/config": "", ".git/hooks/post-checkout": ""}},
		"a new file": {nil, "echo 'gitdir: evil' >.git", map[string]string{".git": ""}},
		"an editor": {nil, "mkdir .vscode; echo x >.vscode/tasks.json",
			map[string]string{".vscode": "", ".vscode/tasks.json": ""}},
		"hako": {nil, "echo x >hako.yaml; echo x >.aicli.json; echo x >>.envrc",
			map[string]string{"hako.yaml": "", ".aicli.json": "", ".envrc": "old"}},
	} {
		t.Run(name, func(t *testing.T) {
			all := map[string]string{}
			for _, list := range []map[string]string{files, c.more} {
				for name, text := range list {
					all[name] = text
				}
			}
			eachLevel(t, all, func(t *testing.T, s *scene, r *Runner) {
				for range 2 { // what lies aside from the first time is not in the way of the second
					o := attempt(t, r, run.Request{Script: bash(c.script)}, 10*time.Second)
					for name, want := range c.want {
						text, err := os.ReadFile(filepath.Join(s.root, name))
						if string(text) != want || want == "" && !errors.Is(err, os.ErrNotExist) && !strings.Contains(name, "/") {
							t.Errorf("%s: %q, %v\n%s", name, text, err, o.text)
						}
					}
					if o := attempt(t, r, run.Request{Script: "env echo works"}, 5*time.Second); o.text != "works\n" {
						t.Errorf("nothing runs any more: %+v", o)
					}
				}
			})
		})
	}
}

// TestGitStillWorks does with git what is done every day.
func TestGitStillWorks(t *testing.T) {
	s, r := fullScene(t, func(*scene) (Options, error) { return Options{Env: committer}, nil })
	for _, script := range []string{
		"git init -q -b main . && echo 1 >a && git add a && git commit -qm one",
		"git checkout -q -b other && echo 2 >a && git commit -qam two && git checkout -q main && git merge -q other",
		"git stash list; git tag v1; git worktree add -q ../root/wt other; cd wt; git status --short; git log --oneline | head -n 1",
		"git init -q sub && cd sub && echo 1 >b && git add b && git commit -qm sub && git config user.name x",
		"rm -r -f sub/.git; git status --short",
	} {
		o := attempt(t, r, run.Request{Script: script}, 10*time.Second)
		if o.res.Exit != 0 || o.fault != nil || strings.Contains(o.text, "hako: ") {
			t.Errorf("%s: %+v", script, o)
		}
	}
	if _, err := os.Stat(s.root + "/.git/config"); err != nil {
		t.Error(err)
	}
}
