package clone

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hako/run/fault"
)

// A transfer is what is sent into a container: the objects of the wanted commits and no others, although the cache
// may have more.
type transfer struct {
	manifest
	branch    string
	commits   map[string]string
	from      map[string]string // see remoteRefs
	cached    bool
	dir       string
	pack, idx *os.File
}

// A manifest is the stored description of a transfer.
type manifest struct {
	Pack     string   `json:"pack"` // its name, without ending
	Bytes    int64    `json:"bytes"`
	Commit   string   `json:"commit"`
	Key      string   `json:"key,omitempty"`     // of the commit, if Save made it
	Parent   string   `json:"parent,omitempty"`  // of the commit, if it has one and that is there
	Shallow  []string `json:"shallow,omitempty"` // commits whose parents are missing
	Warnings []string `json:"warnings,omitempty"`
}

const manifestFile = "load.json"

// keptLoads is the number of transfers that stay in the cache of a repository.
const keptLoads = 4

// maxPacks is the number of packs at which they are merged.
const maxPacks = 20

// load returns the transfer of the server's current commits, from the cache if possible.
func (c *cache) load(ctx context.Context, at remoteRefs) (*transfer, error) {
	l := &transfer{branch: at.branch, commits: at.commits, from: at.from, cached: true}
	if found, err := c.find(l); found || err != nil {
		return l, err
	}
	defer c.shrink() // even a failed fetch may have written something
	before := packNames(c.packs())
	commits, err := c.fetch(ctx, at)
	if err != nil {
		return nil, err
	}
	after := packNames(c.packs())
	if l.cached = slices.Equal(before, after); len(commits) != len(at.commits) {
		return nil, errStale
	}
	l.commits = commits
	if err := c.make(ctx, l, len(before) == 0 && len(after) == 1); err != nil {
		return nil, err
	}
	c.trim(ctx)
	found, err := c.find(l)
	if err == nil && !found {
		err = errStale
	}
	return l, err
}

// loadDir returns the directory of a transfer, named after a hash of its commits.
func (c *cache) loadDir(l *transfer) string {
	var all []string
	for _, branch := range sortedNames(l.commits) {
		all = append(all, l.commits[branch])
	}
	if l.branch != "" {
		all = append(all, "at "+l.commits[l.branch])
	}
	sum := sha256.Sum256([]byte(strings.Join(all, "\n")))
	return filepath.Join(c.loads(), hex.EncodeToString(sum[:16]))
}

// find opens a transfer in the cache.
func (c *cache) find(l *transfer) (bool, error) {
	l.dir = c.loadDir(l)
	text, err := os.ReadFile(filepath.Join(l.dir, manifestFile))
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil || json.Unmarshal(text, &l.manifest) != nil || l.Commit != l.commits[l.branch] ||
		filepath.Base(l.Pack) != l.Pack {
		return false, errStale
	}
	l.pack, err = os.Open(filepath.Join(l.dir, l.Pack+".pack"))
	if err != nil {
		return false, errStale
	}
	l.idx, err = os.Open(filepath.Join(l.dir, l.Pack+".idx"))
	if info, err := l.pack.Stat(); err != nil || l.idx == nil || info.Size() != l.Bytes {
		l.close()
		return false, errStale
	}
	now := time.Now()
	os.Chtimes(l.dir, now, now) // the oldest are removed first
	return true, err
}

func (l *transfer) close() {
	for _, f := range []*os.File{l.pack, l.idx} {
		if f != nil {
			f.Close()
		}
	}
}

// make adds a transfer to the cache. Exact means that the repository has one pack with just these commits.
func (c *cache) make(ctx context.Context, l *transfer, exact bool) error {
	tmp, err := os.MkdirTemp(c.loads(), "new-")
	if err != nil {
		return cacheFault(c.dir, "", err)
	}
	defer os.RemoveAll(tmp) // after the rename there is nothing to remove
	m := manifest{Commit: l.commits[l.branch]}
	if err := c.examine(ctx, l, &m); err != nil {
		return err
	}
	if !exact || c.link(tmp) != nil {
		if err := c.repack(ctx, l, tmp); err != nil {
			return err
		}
	}
	if err := m.describe(tmp); err != nil {
		return err
	}
	home := c.loadDir(l)
	os.RemoveAll(home)
	if err := os.Rename(tmp, home); err != nil {
		return cacheFault(c.dir, "", err)
	}
	return nil
}

// link hard-links the pack of the repository.
func (c *cache) link(to string) error {
	name := packNames(c.packs())[0]
	for _, ending := range []string{".pack", ".idx"} {
		if err := os.Link(filepath.Join(c.packs(), name+ending), filepath.Join(to, name+ending)); err != nil {
			return err
		}
	}
	return nil
}

// repack makes a pack of the commits alone. Git stops at the shallow boundary of the cache.
func (c *cache) repack(ctx context.Context, l *transfer, to string) error {
	c.progress("packing the branch")
	commits := strings.Join(slices.Collect(maps.Values(l.commits)), "\n") + "\n"
	return c.local(ctx, commits, nil, "pack-objects", "--revs", "--quiet", "--delta-base-offset",
		filepath.Join(to, "pack"))
}

func (m *manifest) describe(dir string) error {
	names := packNames(dir)
	if len(names) != 1 {
		return errStale
	}
	info, err := os.Stat(filepath.Join(dir, names[0]+".pack"))
	if err != nil {
		return errStale
	}
	m.Pack, m.Bytes = names[0], info.Size()
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, manifestFile), text, 0o600); err != nil {
		return cacheFault(dir, "", err)
	}
	return nil
}

// trim keeps the cache from growing with every fetch.
func (c *cache) trim(ctx context.Context) {
	if len(packNames(c.packs())) > maxPacks {
		// If it fails, the next clone detects what is lost.
		_ = c.local(ctx, "", nil, "repack", "-a", "-d", "-q")
	}
	dirs, err := os.ReadDir(c.loads())
	if err != nil {
		return
	}
	age := func(d os.DirEntry) int64 {
		info, err := d.Info()
		if err != nil {
			return 0
		}
		return info.ModTime().UnixNano()
	}
	slices.SortFunc(dirs, func(a, b os.DirEntry) int { return cmp.Compare(age(b), age(a)) })
	for i := keptLoads; i < len(dirs); i++ {
		os.RemoveAll(filepath.Join(c.loads(), dirs[i].Name()))
	}
}

// checkCached checks whether a delivery failed because the cache is damaged. What was just fetched is not: git
// checked it.
func (c *cache) checkCached(ctx context.Context, l *transfer, err error) error {
	if !l.cached || interrupted(ctx, err) || fault.KindOf(err) != fault.Invalid {
		return err
	}
	var output bytes.Buffer
	if c.git.run(ctx, call{args: []string{"verify-pack", l.pack.Name()}, dir: c.repository(), stdout: &output}) == nil ||
		ctx.Err() != nil {
		return err
	}
	if err := waitFor(ctx, c.lock, c.progress); err != nil {
		return err
	}
	c.held = true
	os.RemoveAll(c.dir)
	return errors.Join(errStale, err)
}
