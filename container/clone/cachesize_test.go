//go:build unix

package clone

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hako/container/guest"
)

// noise returns text that cannot be packed.
func noise(n int, seed uint64) string {
	var b strings.Builder
	for r := rand.New(rand.NewPCG(seed, 1)); b.Len() < n; {
		fmt.Fprintf(&b, "%016x", r.Uint64())
	}
	return b.String()[:n]
}

// neighbour puts another repository on the server, of about 100 KB when it is
// packed, and returns its address.
func (w *world) neighbour(n int) string {
	w.t.Helper()
	work := filepath.Join(w.dir, fmt.Sprint("work", n))
	bare := filepath.Join(w.dir, "srv", "group", fmt.Sprint("p", n, ".git"))
	w.git(w.dir, "init", "-q", "--bare", "-b", "main", bare)
	w.git(w.dir, "init", "-q", "-b", "main", work)
	writeFile(w.t, work, "noise", []byte(noise(200_000, uint64(n))))
	w.git(work, "add", "-A")
	w.git(work, "commit", "-q", "-m", "noise")
	w.git(work, "push", "-q", bare, "HEAD:refs/heads/main")
	return fmt.Sprint(w.server.URL, "/group/p", n, ".git")
}

// kept returns where repositories are in the cache.
func (w *world) kept() []string {
	dirs, _ := filepath.Glob(filepath.Join(w.store.Dir, "*", "git"))
	for i := range dirs {
		dirs[i] = filepath.Base(filepath.Dir(dirs[i]))
	}
	return dirs
}

// placeOf returns where a repository would be.
func (w *world) placeOf(address string) string {
	w.t.Helper()
	j, err := w.store.newJob(opClone, Source{URL: address}, func(string) {})
	if err != nil {
		w.t.Fatal(err)
	}
	return j.cacheName()
}

// lastUsed has it that a repository was used some hours ago.
func (w *world) lastUsed(address string, hours int) {
	w.t.Helper()
	then := time.Now().Add(-time.Duration(hours) * time.Hour)
	if err := os.Chtimes(filepath.Join(w.store.Dir, w.placeOf(address), usedFile), then, then); err != nil {
		w.t.Fatal(err)
	}
}

// expectKept wants just these repositories to be in the cache.
func (w *world) expectKept(addresses ...string) {
	w.t.Helper()
	var want []string
	for _, a := range addresses {
		want = append(want, w.placeOf(a))
	}
	if slices.Sort(want); !slices.Equal(w.kept(), want) {
		w.t.Errorf("kept %q, want %q", w.kept(), want)
	}
}

// threeHouses is a cache with three repositories, of which there is room for a
// little less than four.
func threeHouses(t *testing.T) (w *world, a, b, c, d string) {
	w = newWorld(t)
	a, b, c, d = w.neighbour(1), w.neighbour(2), w.neighbour(3), w.neighbour(4)
	w.mustClone(Source{URL: a})
	one := diskUsage(filepath.Join(w.store.Dir, w.placeOf(a)))
	if one < 100_000 || one > 180_000 {
		t.Fatalf("a repository of 100 KB takes %d bytes", one) // its pack counts once, although it has two names
	}
	w.store.MaxTotal = one * 7 / 2
	w.mustClone(Source{URL: b})
	w.mustClone(Source{URL: c})
	w.expectKept(a, b, c)
	for i, address := range []string{a, b, c} {
		w.lastUsed(address, 10+i) // c is the oldest, then b
	}
	return w, a, b, c, d
}

// TestTotal removes what was not used for longest when there is something new.
func TestTotal(t *testing.T) {
	w, a, b, c, d := threeHouses(t)
	w.mustClone(Source{URL: c}) // and c is the youngest
	w.expectKept(a, b, c)
	writeFile(t, w.store.Dir, "not-a-cache/git/big", []byte(noise(1_000_000, 9)))
	writeFile(t, w.store.Dir, strings.Repeat("A", 32)+"/file", []byte(noise(1_000_000, 9)))
	w.mustClone(Source{URL: d})
	for _, name := range []string{"not-a-cache/git/big", strings.Repeat("A", 32) + "/file"} {
		if err := os.Remove(filepath.Join(w.store.Dir, name)); err != nil {
			t.Errorf("what is no cache was removed: %v", err)
		}
		os.RemoveAll(filepath.Join(w.store.Dir, strings.Split(name, "/")[0]))
	}
	w.expectKept(a, c, d)
	if l := w.mustClone(Source{URL: b}); l.Cached {
		t.Error("it was not removed")
	}
	w.expectKept(b, c, d)
	if l := w.mustClone(Source{URL: d}); !l.Cached {
		t.Error("the newest was removed")
	}
}

// TestFailedFetch makes room too: what it leaves behind takes some.
func TestFailedFetch(t *testing.T) {
	w, a, b, _, d := threeHouses(t)
	w.store.MaxFiles = -1 // it is found out after the fetch
	if _, err := w.clone(Source{URL: d}); err == nil {
		t.Fatal("it was cloned")
	}
	w.expectKept(a, b, d)
}

// TestHeld does not remove what another process is fetching into.
func TestHeld(t *testing.T) {
	w, a, b, c, d := threeHouses(t)
	f, err := os.OpenFile(filepath.Join(w.store.Dir, w.placeOf(c)+lockEnding), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	waitHeld(t, f)
	w.mustClone(Source{URL: d})
	w.expectKept(a, c, d)
	release(t, f)
	w.mustClone(Source{URL: b})
	w.expectKept(a, b, d)
}

// TestInUse does not remove what is being sent into a container, which others may
// fetch into meanwhile.
func TestInUse(t *testing.T) {
	w, a, b, c, d := threeHouses(t)
	slow := &fakeGuest{home: w.dir, fails: func(guest.Command) error {
		w.lastUsed(c, 100)
		w.mustClone(Source{URL: d})
		w.expectKept(a, c, d)
		if l := w.mustClone(Source{URL: c}); !l.Cached {
			t.Error("the other use was not let in")
		}
		w.lastUsed(c, 100)
		return nil
	}}
	dir := filepath.Join(w.dir, "slow")
	if _, err := w.store.Clone(t.Context(), Source{URL: c}, slow, dir, nil); err != nil {
		t.Fatal(err)
	}
	w.mustClone(Source{URL: b}) // nobody uses c any more
	w.expectKept(a, b, d)
}

// TestUsualTotal is large enough for everyday use.
func TestUsualTotal(t *testing.T) {
	w := newWorld(t)
	a, b := w.neighbour(1), w.neighbour(2)
	w.mustClone(Source{URL: a})
	w.mustClone(Source{URL: b})
	w.expectKept(a, b)
	if defaultTotal != 10<<30 {
		t.Errorf("%d bytes", int64(defaultTotal))
	}
}
