package clone

import (
	"cmp"
	"encoding/hex"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hako/internal/ownerfile"
)

// usedFile is in each cache. Its modification time is the last use, and all users share a lock on it.
const usedFile = "used"

// use marks the cache as in use until it is closed, also while it is not locked. The caller holds the lock.
func (c *cache) use() error {
	f, err := ownerfile.Open(filepath.Join(c.dir, usedFile), os.O_RDWR|os.O_CREATE)
	if err != nil {
		return cacheFault(c.dir, "", err)
	}
	if err := share(f); err != nil {
		f.Close()
		return cacheFault(c.dir, "it cannot be locked", err)
	}
	now := time.Now()
	os.Chtimes(f.Name(), now, now) // if it fails, the cache is only removed sooner
	c.used = f
	return nil
}

type cacheSize struct {
	dir   string
	bytes int64
	used  time.Time
}

// shrink removes the least recently used caches until the rest is small enough, but none that is in use, also by
// other processes.
func (s *Store) shrink() {
	all, total := s.cacheSizes()
	slices.SortFunc(all, func(a, b cacheSize) int { return a.used.Compare(b.used) })
	for _, d := range all {
		if total <= cmp.Or(s.MaxTotal, defaultTotal) {
			return
		}
		if d.removeUnused() {
			total -= d.bytes
		}
	}
}

func (s *Store) cacheSizes() (all []cacheSize, total int64) {
	entries, _ := os.ReadDir(s.Dir)
	for _, e := range entries {
		if !e.IsDir() || !isCacheName(e.Name()) {
			continue
		}
		d := cacheSize{dir: filepath.Join(s.Dir, e.Name())}
		d.bytes = diskUsage(d.dir)
		if info, err := os.Stat(filepath.Join(d.dir, usedFile)); err == nil {
			d.used = info.ModTime()
		}
		all, total = append(all, d), total+d.bytes
	}
	return all, total
}

// isCacheName reports whether a name is that of a cache, see cacheName: nothing else is removed, whatever the
// directory contains.
func isCacheName(name string) bool {
	raw, err := hex.DecodeString(name)
	return err == nil && len(raw) == cacheNameBytes && name == strings.ToLower(name)
}

// removeUnused removes a cache unless it is locked or in use. It does not wait. The lock file stays: somebody may be
// waiting for it.
func (d cacheSize) removeUnused() bool {
	lock, err := ownerfile.Open(d.dir+lockEnding, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return false
	}
	defer lock.Close()
	if !ownerfile.TryLock(lock) {
		return false
	}
	defer ownerfile.Unlock(lock)
	used, err := ownerfile.Open(filepath.Join(d.dir, usedFile), os.O_RDWR|os.O_CREATE)
	if err != nil {
		return false
	}
	defer used.Close()
	return ownerfile.TryLock(used) && os.RemoveAll(d.dir) == nil
}

// diskUsage returns the bytes of the files below a directory, hard links counted once.
func diskUsage(dir string) int64 {
	var sum int64
	seen := map[string]fs.FileInfo{}
	filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil
		}
		info, err := d.Info()
		if err != nil || seen[d.Name()] != nil && os.SameFile(seen[d.Name()], info) {
			return nil
		}
		seen[d.Name()] = info
		sum += info.Size()
		return nil
	})
	return sum
}
