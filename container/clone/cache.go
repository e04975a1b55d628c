package clone

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"hako/internal/ownerfile"
	"hako/run/fault"
)

// A cache holds one repository: a bare mirror, and the packs that were sent into containers. Its user holds the lock.
type cache struct {
	*cloneJob
	dir  string
	lock *os.File
	held bool
	used *os.File // locked while the cache is in use; nil means not yet
}

const lockEnding = ".lock"

// open opens the cache of the repository, and waits while others use it.
func (j *cloneJob) open(ctx context.Context, at remoteRefs) (*cache, error) {
	c := &cache{cloneJob: j, dir: filepath.Join(j.Dir, j.cacheName())}
	f, err := ownerfile.Open(c.dir+lockEnding, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, cacheFault(j.Dir, "", err)
	}
	if err := waitFor(ctx, f, j.progress); err != nil {
		return nil, err
	}
	c.lock, c.held = f, true
	if err = c.prepare(ctx, at); err == nil {
		err = c.use()
	}
	if err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// waitFor locks a file. If it fails, it closes the file.
func waitFor(ctx context.Context, f *os.File, progress func(string)) error {
	got := make(chan error, 1)
	go func() { got <- ownerfile.Lock(f) }()
	patience := time.After(progressInterval)
	for {
		select {
		case err := <-got:
			if err != nil {
				f.Close()
				return cacheFault(f.Name(), "it cannot be locked", err)
			}
			return nil
		case <-patience:
			progress("waiting for another hako that is fetching the same repository")
		case <-ctx.Done():
			go func() { // Lock cannot be interrupted
				if <-got == nil {
					ownerfile.Unlock(f)
				}
				f.Close()
			}()
			return context.Cause(ctx)
		}
	}
}

func (c *cache) unlock() {
	if c.held {
		ownerfile.Unlock(c.lock)
		c.held = false
	}
}

func (c *cache) close() {
	if c.used != nil {
		c.used.Close()
	}
	c.unlock()
	c.lock.Close()
}

func (c *cache) repository() string { return filepath.Join(c.dir, "git") }
func (c *cache) loads() string      { return filepath.Join(c.dir, "loads") }
func (c *cache) packs() string      { return filepath.Join(c.repository(), "objects", "pack") }

// prepare creates the repository, or cleans up after a killed git.
func (c *cache) prepare(ctx context.Context, at remoteRefs) error {
	if err := os.MkdirAll(c.loads(), 0o700); err != nil {
		return cacheFault(c.dir, "it cannot be made", err)
	}
	if _, err := os.Stat(filepath.Join(c.repository(), "HEAD")); err == nil {
		c.tidyUp()
		return nil
	}
	os.RemoveAll(c.repository())
	if err := os.MkdirAll(c.repository(), 0o700); err != nil {
		return cacheFault(c.dir, "it cannot be made", err)
	}
	if err := c.local(ctx, "", nil, "init", "--quiet", "--bare", "--object-format="+at.format()); err != nil {
		os.RemoveAll(c.dir)
		return cacheFault(c.dir, "git cannot make a repository there", err)
	}
	return nil
}

// tidyUp removes what a killed git left behind. Nobody else uses the cache: a git that outlived its hako would still
// hold the lock.
func (c *cache) tidyUp() {
	left, _ := filepath.Glob(filepath.Join(c.packs(), "tmp_*"))
	more, _ := filepath.Glob(filepath.Join(c.repository(), "*.lock"))
	refs, _ := filepath.Glob(filepath.Join(c.repository(), "refs", "hako", "*.lock"))
	half, _ := filepath.Glob(filepath.Join(c.loads(), "new-*"))
	for _, file := range slices.Concat(left, more, refs, half) {
		os.RemoveAll(file)
	}
}

// local runs git without the network.
func (c *cache) local(ctx context.Context, stdin string, stdout *bytes.Buffer, args ...string) error {
	cl := call{args: args, dir: c.repository(), stdin: stdin, lock: c.lock}
	if stdout != nil {
		cl.stdout = stdout
	}
	return c.git.run(ctx, cl)
}

// discardIfDamaged removes the cache if an error means that it is damaged: a local git failed, and not because of the
// server.
func (c *cache) discardIfDamaged(err error) error {
	var explained *fault.Error
	var f *failure
	if !errors.Is(err, errStale) && (errors.As(err, &explained) || !errors.As(err, &f)) {
		return err
	}
	os.RemoveAll(c.dir)
	return errors.Join(errStale, err)
}

// ref returns the name of a fetched reference in the cache. It is a hash, because "a" and "a/b" may follow each
// other, and "A" and "a" can be the same file.
func ref(from string) string {
	sum := sha256.Sum256([]byte(from))
	return "refs/hako/" + hex.EncodeToString(sum[:16])
}

// fetch updates the cache, and returns the commits by branch.
func (c *cache) fetch(ctx context.Context, at remoteRefs) (map[string]string, error) {
	if have := c.commits(ctx, at); maps.Equal(have, at.commits) {
		return have, nil
	}
	c.progress("fetching from " + c.url.Host)
	args := []string{"fetch", "--progress", "--force", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head",
		"--no-auto-gc"}
	if n := c.depth(); n > 0 {
		args = append(args, "--depth="+strconv.Itoa(n))
	}
	args = append(args, c.url.String())
	for _, branch := range sortedNames(at.commits) {
		args = append(args, "+"+at.from[branch]+":"+ref(at.from[branch]))
	}
	had := diskUsage(c.packs()) > 0
	err := c.watched(ctx, call{args: args, dir: c.repository(), lock: c.lock})
	var large *fault.Error
	switch {
	case errors.As(err, &large) && large.Kind == fault.TooLarge && had:
		return nil, errStale // perhaps only because of old branches
	case err != nil && !had:
		return nil, c.explain(err)
	case err != nil:
		return nil, c.explainUnlessCache(err)
	}
	return c.commits(ctx, at), nil
}

// explainUnlessCache explains an error, unless the cache may be the reason.
func (c *cache) explainUnlessCache(err error) error {
	if known := c.known(err); known != nil {
		return known
	}
	var f *failure
	if errors.As(err, &f) {
		return errors.Join(errStale, err)
	}
	return err
}

// commits returns the commits of the branches in the cache.
func (c *cache) commits(ctx context.Context, at remoteRefs) map[string]string {
	var out bytes.Buffer
	have := map[string]string{}
	if c.local(ctx, "", &out, "for-each-ref", "--format=%(objectname)\t%(refname)", "refs/hako") != nil {
		return have
	}
	all, _ := parseRefs(out.String())
	for branch, from := range at.from {
		if commit, ok := all[ref(from)]; ok {
			have[branch] = commit
		}
	}
	return have
}

func sortedNames(commits map[string]string) []string { return slices.Sorted(maps.Keys(commits)) }

// sizeInterval is how often a growing cache is measured.
const sizeInterval = 50 * time.Millisecond

// watched runs git and kills it when the repository gets too large.
func (c *cache) watched(ctx context.Context, cl call) error {
	limit := cmp.Or(c.MaxBytes, defaultBytes)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	over, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(sizeInterval)
		defer tick.Stop()
		for {
			select {
			case <-over:
				return
			case <-tick.C:
				if diskUsage(filepath.Join(c.repository(), "objects")) > limit {
					cancel(c.tooLarge(limit))
				}
			}
		}
	}()
	err := c.runOnline(ctx, cl)
	close(over)
	<-stopped
	if err == nil && diskUsage(filepath.Join(c.repository(), "objects")) > limit {
		return c.tooLarge(limit) // it grew between two measurements
	}
	return err
}

func (j *cloneJob) tooLarge(limit int64) error {
	return &fault.Error{Kind: fault.TooLarge, Op: j.op, Subject: j.subject, Why: "the repository is larger than " +
		bytesText(limit),
		Hint: "raise the size of a repository, or clone only its last commit"}
}

func bytesText(n int64) string {
	for _, unit := range []struct {
		size int64
		name string
	}{{1 << 30, " GB"}, {1 << 20, " MB"}, {1 << 10, " KB"}} {
		if n >= unit.size {
			return strconv.FormatFloat(float64(n*10/unit.size)/10, 'f', -1, 64) + unit.name
		}
	}
	return strconv.FormatInt(n, 10) + " bytes"
}

// packNames returns the packs of a directory, without their extension.
func packNames(dir string) []string {
	files, _ := filepath.Glob(filepath.Join(dir, "pack-*.pack"))
	for i := range files {
		files[i] = strings.TrimSuffix(filepath.Base(files[i]), ".pack")
	}
	return files
}
