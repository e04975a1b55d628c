package container

import (
	"context"
	"net"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hako/container/clone"
	"hako/container/egress"
	"hako/internal/fakes/forge"
	"hako/run/fault"
)

// A smithy is a dock whose tasks have a repository on a forge.
type smithy struct {
	t      *testing.T
	forge  *forge.Server
	dock   *Manager
	token  string
	cache  string
	record []string // what was put on record, with how it ended
}

// smithyHost is what the forge is called; it is reached by loopback alone.
const smithyHost, smithyRepo = "forge.example", "owner/project"

func newSmithy(t *testing.T) *smithy {
	t.Helper()
	return newSmithyWith(t, map[string]string{"README": "a project\n", "src/a.py": "x = 1\n"}, func(*Options) {})
}

// newSmithyWith is newSmithy with other files in the repository, and other options.
func newSmithyWith(t *testing.T, files map[string]string, change func(*Options)) *smithy {
	t.Helper()
	openEngine(t, pythonImage) // before all the rest is made for nothing
	s := &smithy{t: t, forge: forge.ForTest(t, forge.GitHub), cache: filepath.Join(t.TempDir(), "cache")}
	s.forge.SetGitRoot(t.TempDir())
	s.forge.Repo(smithyRepo)
	s.forge.Private(smithyRepo)
	s.forge.Member(smithyRepo, "bot", "write")
	s.token = s.forge.User("bot")
	if err := s.forge.Seed(smithyRepo, files); err != nil {
		t.Fatal(err)
	}
	keys, err := clone.FromEnviron(func(name string) string {
		return map[string]string{"GITHUB_PERSONAL_ACCESS_TOKEN": s.token, "GITHUB_API_URL": "http://" + smithyHost +
			"/api/v3"}[name]
	})
	if err != nil {
		t.Fatal(err)
	}
	s.dock = newDock(t, pythonImage, func(o *Options) {
		o.Resources = Resources{CPUs: 2, Memory: 256 << 20, Disk: 64 << 20, Pids: 128}
		o.Network = AllowList
		o.ServeEgress = func(ctx context.Context, w Egress) error { return serveEgress(t, s.proxy())(ctx, w) }
		o.Clones = &clone.Store{Dir: s.cache, Keys: keys, Environ: []string{"http_proxy=" + s.forge.URL}}
		o.Record = func(_, what string) (func(error), error) {
			return func(err error) { s.record = append(s.record, what+": "+errText(err)) }, nil
		}
		change(o)
	})
	return s
}

func errText(err error) string {
	if err == nil {
		return "done"
	}
	return err.Error() + " " + fault.Hint(err)
}

// proxy is the way out, which leads to the forge and nowhere else.
func (s *smithy) proxy() *egress.Proxy {
	return &egress.Proxy{
		Allow: []string{smithyHost},
		Log:   func(egress.Event) error { return nil },
		Resolve: func(context.Context, string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr(allowedAddr)}, nil
		},
		Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, strings.TrimPrefix(s.forge.URL, "http://"))
		},
	}
}

// begin prepares a task.
func (s *smithy) begin(t Task) *cell {
	s.t.Helper()
	t.ID, t.Repository = unique("save"), "http://"+smithyHost+"/"+smithyRepo+".git"
	return prepared(s.t, s.dock, t)
}

func (s *smithy) save(c *cell, save Save) string {
	s.t.Helper()
	save.Message, save.Key = "keep it", "issue-1-a"
	commit, err := s.dock.Save(s.t.Context(), c.task, save)
	if err != nil {
		s.t.Fatal(err, fault.Hint(err))
	}
	return commit
}

func (s *smithy) refs() string {
	s.t.Helper()
	refs, err := s.forge.Refs(smithyRepo)
	if err != nil {
		s.t.Fatal(err)
	}
	return strings.ReplaceAll(refs, "\n", " ")
}

// tokenless checks that the token is nowhere where it could be seen.
func (s *smithy) tokenless(c *cell, more ...string) {
	s.t.Helper()
	for _, secret := range s.dock.Clones.Keys.Secrets() {
		if o := c.sh(s.t, "grep -rlF -e '"+secret+"' /workspace /tmp /run 2>/dev/null; env | grep -F -e '"+secret+
			"'"); o.stdout != "" {
			s.t.Errorf("the token is in the container: %s", o.stdout)
		}
		if all := strings.Join(append(s.record, more...), "\n"); strings.Contains(all, secret) {
			s.t.Errorf("the token is on record: %s", all)
		}
	}
}

// TestSave keeps the work of a task, goes on with it in another container, and
// publishes it.
func TestSave(t *testing.T) {
	s := newSmithy(t)
	first := s.begin(Task{Branch: "hako/issue-1-a", Start: "refs/heads/main", Target: "main"})
	base := first.box.Commit
	if got := s.save(first, Save{Ref: "refs/hako/issue-1-a", Mine: true}); got != "" || s.refs() != "refs/heads/main" {
		t.Errorf("nothing changed, and %q was kept: %s", got, s.refs())
	}
	first.must(t, "echo 'x = 2' >src/a.py; echo new >new; mkdir -p __pycache__; echo x >__pycache__/a.pyc")
	kept := s.save(first, Save{Ref: "refs/hako/issue-1-a", Mine: true})
	if got := first.must(t, "git rev-parse HEAD; git status --porcelain; ls /workspace/tmp /tmp"); kept == "" ||
		strings.Contains(got, "A  new") || !strings.HasPrefix(got, base+"\n") || strings.Contains(got, "tmp.") {
		t.Errorf("the container was changed: %s", got)
	}
	asked := len(s.forge.Requests())
	if again := s.save(first, Save{Ref: "refs/hako/issue-1-a", Mine: true}); again != kept ||
		len(s.forge.Requests()) != asked {
		t.Errorf("the forge was asked for nothing: %s", again)
	}
	s.tokenless(first)
	if err := s.dock.Cleanup(t.Context(), first.task); err != nil {
		t.Fatal(err)
	}

	second := s.begin(Task{Branch: "hako/issue-1-a", Start: "refs/heads/main", Target: "main", Commit: kept})
	if got := second.must(t, "cat src/a.py new; git rev-parse HEAD; git branch --show-current; ls -a"); !strings.HasPrefix(
		got, "x = 2\nnew\n"+base+"\nhako/issue-1-a\n") || strings.Contains(got, "__pycache__") {
		t.Errorf("%s", got)
	}
	second.must(t, "git commit -q -a -m 'by hand'; echo more >>new")
	done := s.save(second, Save{Ref: "refs/heads/hako/issue-1-a", Drop: "refs/hako/issue-1-a"})
	if s.refs() != "refs/heads/hako/issue-1-a refs/heads/main" || s.forge.Head(smithyRepo, "hako/issue-1-a") != done {
		t.Errorf("%s: %s", done, s.refs())
	}
	if diff, err := s.forge.Diff(smithyRepo, "main", "hako/issue-1-a"); err != nil ||
		!strings.Contains(diff, "hako: keep it\n\nHako-Task: issue-1-a") || strings.Contains(diff, "by hand") ||
		!strings.Contains(diff, "+more") {
		t.Errorf("%v: %s", err, diff)
	}
	second.must(t, "mkdir -p .github/workflows; echo 'on: push' >.github/workflows/x.yml")
	_, err := s.dock.Save(t.Context(), second.task, Save{Message: "m", Key: "k", Ref: "refs/heads/other",
		Guard: []string{".github/workflows/"}})
	wantFault(t, err, fault.Denied, ".github/workflows/x.yml", "agent.ci_files")
	if on := strings.Join(s.record, "\n"); !strings.Contains(on, "keep refs/heads/hako/issue-1-a: done") ||
		!strings.Contains(on, "refs/heads/main "+kept) {
		t.Errorf("on record: %s", on)
	}
}

// TestSaveFromHostile is a container that does what it can against it.
func TestSaveFromHostile(t *testing.T) {
	s := newSmithy(t)
	c := s.begin(Task{})
	owned := "/workspace/tmp/owned"
	c.must(t, `mkdir -p ~/.local/bin
for name in git tar cp mktemp rm cat sh bash; do printf '#!/bin/sh\ntouch `+owned+`\nexec /usr/bin/%s "$@"\n' $name >~/.local/bin/$name; chmod 755 ~/.local/bin/$name; done
git config core.fsmonitor 'touch `+owned+`;'; git config filter.evil.clean 'touch `+owned+`; cat'; git config core.hooksPath hooks
echo '* filter=evil' >.gitattributes; mkdir hooks; for h in pre-commit post-index-change reference-transaction; do printf '#!/bin/sh\ntouch `+owned+`\n' >hooks/$h; chmod 755 hooks/$h; done
printf '[core]\n\tfsmonitor = touch `+owned+`\n' >~/.gitconfig; echo 'touch `+owned+`' >~/.bashrc; cp ~/.bashrc ~/.profile; echo changed >README; rm -f `+owned)

	kept := s.save(c, Save{Ref: "refs/heads/hostile"})
	if c.sh(t, "ls "+owned).Exit == 0 || kept == "" {
		t.Error("something was run")
	}
	push := c.sh(t, `unset GIT_TRACE; /usr/bin/git -c core.fsmonitor= -c core.hooksPath=/dev/null push -q origin HEAD:refs/heads/stolen 2>&1; /usr/bin/git fetch -q origin main && echo fetched`)
	if !strings.Contains(push.stdout, "403") || !strings.HasSuffix(push.stdout, "fetched\n") ||
		s.refs() != "refs/heads/hostile refs/heads/main" {
		t.Errorf("%s%s: %s", push.stdout, push.stderr, s.refs())
	}
	c.must(t, `/usr/bin/git -c core.fsmonitor= -c core.hooksPath=/dev/null -c user.name=x -c user.email=x@y commit -q --amend --allow-empty -m rewritten`)
	_, err := s.dock.Save(t.Context(), c.task, Save{Message: "m", Key: "k", Ref: "refs/heads/hostile", Mine: true})
	wantFault(t, err, fault.Invalid, "does not go on from the commit that was cloned")
	s.forge.Member(smithyRepo, "bot", "read")
	c.must(t, "/usr/bin/git -c core.fsmonitor= reset -q --hard "+c.box.Commit+"; echo more >README")
	_, denied := s.dock.Save(t.Context(), c.task, Save{Message: "m", Key: "k2", Ref: "refs/heads/hostile", Mine: true})
	wantFault(t, denied, fault.Denied, "GITHUB_PERSONAL_ACCESS_TOKEN", "push")
	s.tokenless(c, errText(err), errText(denied))
	if left, _ := filepath.Glob(filepath.Join(s.cache, "*out-*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// TestSaveWithoutRepository says what is missing.
func TestSaveWithoutRepository(t *testing.T) {
	d := ownDock(t, nil)
	task := unique("none")
	_, err := d.Save(t.Context(), task, Save{Message: "m", Key: "k", Ref: "refs/heads/x"})
	wantFault(t, err, fault.NotFound, "hako env up")
	prepare(t, d, task)
	_, err = d.Save(t.Context(), task, Save{Message: "m", Key: "k", Ref: "refs/heads/x"})
	wantFault(t, err, fault.Invalid, "no repository")
	_, err = d.Save(t.Context(), task, Save{Message: "m", Key: "k", Ref: "refs/tags/x"})
	wantFault(t, err, fault.Invalid, "refs/tags/x")
	d.Record = nil
	_, err = d.Save(t.Context(), task, Save{Message: "m", Key: "k", Ref: "refs/heads/x"})
	wantFault(t, err, fault.Denied, "record")
}

// TestSaveTime measures a change of one line.
func TestSaveTime(t *testing.T) {
	s := newSmithy(t)
	c := s.begin(Task{})
	best, none := time.Hour, time.Hour
	for _, text := range []string{"1", "2", "3", "4", "5"} {
		c.must(t, "echo "+text+" >README")
		start := time.Now()
		s.save(c, Save{Ref: "refs/hako/time", Mine: true})
		best = min(best, time.Since(start))
		start = time.Now()
		s.save(c, Save{Ref: "refs/hako/time", Mine: true})
		none = min(none, time.Since(start))
	}
	t.Logf("a change %v, none %v", best, none)
	if best > 5*time.Second { // a tenth of one on a quiet machine
		t.Error("it takes too long")
	}
}

// TestSalt keeps what strangers install from those who trust a branch.
func TestSalt(t *testing.T) {
	with := func(change func(*box)) string {
		b := &box{record: record{ImageID: "i", Info: Info{Repository: "r", Branch: "main"}}}
		change(b)
		return salt(b)
	}
	main := with(func(*box) {})
	if with(func(b *box) { b.Branch, b.Source.Start = "hako/issue-1-a", "refs/heads/main" }) != main {
		t.Error("the same branch under another name is not the same")
	}
	if with(func(b *box) { b.Source.Start = "refs/pull/7/head" }) == main ||
		with(func(b *box) { b.Source.Commit = strings.Repeat("1", 40) }) == main {
		t.Error("what strangers install is shared")
	}
}

// TestOwnSource reads steps that run as root from nowhere but a branch.
func TestOwnSource(t *testing.T) {
	d := &Manager{Options: Options{Clones: &clone.Store{}}}
	var p containerPlan
	if err := d.ownImage(t.Context(), Task{Repository: "https://forge.example/a/b", Start: "refs/pull/7/head"},
		&p); err != nil || len(p.warnings) != 1 {
		t.Errorf("%v, %q", err, p.warnings)
	}
	if src, ours := d.ownSource(Task{Branch: "x", Start: "refs/heads/main", Commit: strings.Repeat("1", 40)}); !ours ||
		src.Commit != "" || src.Start != "refs/heads/main" {
		t.Errorf("%+v, %v", src, ours)
	}
}
