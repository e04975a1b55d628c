package container

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hako/container/deps"
	"hako/container/lang"
	"hako/run/fault"
)

// pushTries are ways to make the proxy lend a credential for a push. Each prints
// the status of the answer.
const pushTries = `
at=http://git.hako.internal/` + smithyHost + `/` + smithyRepo + `.git
ask() { curl -s -o /dev/null -w '%{http_code} ' --path-as-is --proxy http://127.0.0.1:3128 "$@"; }
type='Content-Type: application/x-git-receive-pack-request'
ask "$at/info/refs?service=git-receive-pack"
ask "$at/info/refs?service=GIT-RECEIVE-PACK"
ask "$at/info/refs?service=git-receive%2dpack"
ask "$at/info/refs?service=git-upload-pack&service=git-receive-pack"
ask "$at/info/refs?Service=git-receive-pack"
ask "$at/info%2frefs?service=git-receive-pack"
ask "$at/info/refs/?service=git-receive-pack"
ask "$at//info/refs?service=git-receive-pack"
ask -H 'Git-Protocol: version=2' "$at/info/refs?service=git-receive-pack"
ask -H "$type" --data-binary 0000 "$at/git-receive-pack"
ask -H "$type" --data-binary 0000 "$at/git-receive-pack?"
ask -H "$type" --data-binary 0000 "$at/git%2Dreceive-pack"
ask -H "$type" --data-binary 0000 "$at/Git-Receive-Pack"
ask -H "$type" --data-binary 0000 "$at/git-upload-pack/../git-receive-pack"
ask -H "$type" --data-binary 0000 "$at/git-upload-pack"
ask -H "$type" -X PUT --data-binary 0000 "$at/git-receive-pack"
ask -H 'X-HTTP-Method-Override: POST' -H "$type" "$at/git-receive-pack"
ask -H 'Content-Type: application/vnd.git-lfs+json' --data '{"operation":"upload"}' "$at/info/lfs/objects/batch"
ask -H 'Content-Type: application/vnd.git-lfs+json' --data '{}' "$at/info/lfs/locks"
ask "http://git.hako.internal/api.` + smithyHost + `/repos/` + smithyRepo + `"
ask -X POST --data '{}' "http://git.hako.internal/` + smithyHost + `/api/v3/repos/` + smithyRepo + `/git/refs"
ask -X POST --data '{}' "http://` + smithyHost + `/api/v3/repos/` + smithyRepo + `/git/refs"
`

// TestNobodyPushes tries to push out of a container whose repository is private: a
// credential is lent to it, and not for pushes.
func TestNobodyPushes(t *testing.T) {
	s := newSmithy(t)
	c := s.begin(Task{})
	c.must(t, "git fetch -q origin main && echo x >x && git add x && git commit -q -m x")
	o := c.sh(t, "git push origin HEAD:refs/heads/stolen 2>&1")
	if o.Exit == 0 || !strings.Contains(o.stdout, "403") {
		t.Errorf("git push: %d, %s", o.Exit, o.stdout)
	}
	for _, status := range strings.Fields(c.must(t, pushTries)) {
		if status[0] == '2' || status[0] == '3' {
			t.Errorf("something was let through: %s", status)
		}
	}
	if s.refs() != "refs/heads/main" {
		t.Errorf("the repository has %s", s.refs())
	}
	if why := c.must(t, "curl -s --proxy http://127.0.0.1:3128 'http://git.hako.internal/"+smithyHost+"/"+smithyRepo+
		".git/info/refs?service=git-receive-pack'"); !strings.Contains(why, "not push") || !strings.Contains(why,
		"hako env up") {
		t.Errorf("the answer does not explain itself: %s", why)
	}
}

// pushing is an environment whose installation pushes, at once and later.
func pushing(t *testing.T) lang.Language {
	return lang.Language{Name: "python", Image: pythonImage, Install: []lang.Step{{
		Name: "evil", When: []string{"lock"}, Key: []string{"lock"}, Keep: []string{".home/libs"},
		Command: `mkdir -p ../.home/libs
git push -q origin HEAD:refs/heads/during; echo "status $?" >/workspace/tmp/during
setsid sh -c 'while sleep 0.1; do git push -q origin HEAD:refs/heads/later; echo tried >>/workspace/tmp/later; done' >/dev/null 2>&1 &
while ! test -s /workspace/tmp/later; do sleep 0.1; done`,
	}}}
}

// TestPush lets git push where that was asked for, and not while dependencies are
// installed, nor what these left running.
func TestPush(t *testing.T) {
	s := newSmithyWith(t, map[string]string{"lock": "1\n"}, func(o *Options) {
		o.Push, o.Install, o.Packages = true, true, &deps.Store{Dir: filepath.Join(t.TempDir(), "deps")}
		o.Languages = []lang.Language{pushing(t)}
	})
	c := s.begin(Task{})
	if got := c.must(t, "cat /workspace/tmp/during"); !strings.HasPrefix(got, "status 1") || !c.box.Push {
		t.Errorf("during the installation: %s (%v)", got, c.box.Push)
	}
	if got := c.must(t, `cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\0' ' ' | grep -c 'heads/later; echo trie[d]' || true`); got != "0\n" {
		t.Errorf("what the installation left runs on: %s", got)
	}
	c.must(t, "echo x >x && git add x && git commit -q -m x && git push -q origin HEAD:refs/heads/wanted")
	if s.refs() != "refs/heads/main refs/heads/wanted" {
		t.Errorf("the repository has %s", s.refs())
	}
	s.tokenless(c)
}

// TestPushNeeds says what is missing for pushes.
func TestPushNeeds(t *testing.T) {
	s := newSmithyWith(t, map[string]string{"a": "b\n"}, func(o *Options) { o.Push = true })
	_, err := s.dock.Prepare(t.Context(), Task{ID: unique("push")}, "python")
	wantFault(t, err, fault.Invalid, "no repository", "--repo")
	at := "http://" + smithyHost + "/" + smithyRepo + ".git"
	_, err = s.dock.Prepare(t.Context(), Task{ID: unique("push"), Repository: at, Network: None}, "python")
	wantFault(t, err, fault.Invalid, "no network")
}

// TestTaskNetwork gives a task less than the settings allow, and not more.
func TestTaskNetwork(t *testing.T) {
	s := newSmithy(t) // allow-list
	none := s.begin(Task{Network: None})
	if o := none.sh(t, "test -S /run/hako/egress.sock || curl -sS -m 5 --proxy http://127.0.0.1:3128 http://"+smithyHost+
		"/ 2>&1"); none.box.Network != None || strings.Contains(o.stdout, "403") {
		t.Errorf("%s: %d %s", none.box.Network, o.Exit, o.stdout)
	}
	if o := none.sh(t, "git fetch -q origin main"); o.Exit == 0 {
		t.Error("there is a way out")
	}
	_, err := s.dock.Prepare(t.Context(), Task{ID: unique("net"), Network: Open}, "python")
	wantFault(t, err, fault.Denied, "allow-list")
	_, err = s.dock.Prepare(t.Context(), Task{ID: unique("net"), Network: "half"}, "python")
	wantFault(t, err, fault.Denied, "half")
}

func TestCovers(t *testing.T) {
	for _, c := range []struct {
		have, want Network
		ok         bool
	}{{Open, None, true}, {Open, AllowList, true}, {Open, Open, true}, {AllowList, Open, false}, {AllowList, None, true},
		{None, None, true},
		{None, AllowList, false}, {Open, "", false}, {"", None, false}, {Open, "Open", false}} {
		if c.have.Covers(c.want) != c.ok {
			t.Errorf("%q covers %q: %v", c.have, c.want, !c.ok)
		}
	}
}

// wait is for facts that come about by themselves.
func wait(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if done() {
			return
		}
	}
	t.Fatal("waited in vain for " + what)
}

// used makes a box look as if it had been used last some time ago.
func used(t *testing.T, d *Manager, task string, ago time.Duration) *box {
	t.Helper()
	b, err := d.find(task)
	if err != nil {
		t.Fatal(err)
	}
	b.Created = time.Now().Add(-ago)
	if err := b.save(); err != nil {
		t.Fatal(err)
	}
	at := time.Now().Add(-ago)
	if err := os.Chtimes(filepath.Join(b.dir, usedMark), at, at); err != nil {
		t.Fatal(err)
	}
	return b
}
