// Package vfs is a tree of files for scripts that are not trusted: a private tree in
// memory, into which real directories are mounted and single real files injected.
// What was not granted does not exist.
//
//	files := vfs.New(vfs.Options{})
//	err := files.Mount("/data", "./logs", false)              // a directory, read-only
//	err = files.Inject("/box/notes.txt", "notes.txt", true)   // one file, writable
//
// Names are resolved here, element by element, over the whole tree: a symbolic link
// always points into the tree, wherever its target would lie on the host. The host
// itself is reached only through [os.Root], so that a mistake in the resolution would
// still end at the border of a granted directory. No backend follows a symbolic link,
// and no host file is opened by an absolute name once Mount or Inject has returned.
//
// Files in memory are charged to a [quota.Limiter]. [FS.Fork] makes a copy that
// shares what neither changes, and [Diff] tells what changed.
package vfs

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"hako/internal/protect"
	"hako/quota"
	"hako/run/fault"
)

const (
	// Binary is an extra flag for [FS.Open]: the caller can handle bytes
	// that are not text, so the strict profile need not refuse them.
	Binary = 1 << 30

	umask   = 0o022
	maxPath = 4096
	maxName = 255
)

// Options say what a tree is held to.
type Options struct {
	Limiter *quota.Limiter   // what files are charged to; nil charges nothing
	Strict  bool             // refuse real files that are too large or not text
	Now     func() time.Time // the clock; nil means the real one
	Seed    uint64           // for /dev/random and temporary names; zero means real chance

	// Protect are names that cannot be changed in the real directories that are
	// mounted. Nil means those of [protect.Default], an empty list none.
	Protect []string
}

// An FS is a tree of files. It is safe for concurrent use.
type FS struct {
	env    *env
	mem    *memory
	mu     *sync.RWMutex     // guards grants and all structure; shared with children
	grants map[string]*grant // by the path they cover; "/" is always there
	line   *atomic.Pointer[FS]
	parent *FS // of a child; nil for others
	watch  atomic.Pointer[func(what, path string, bytes int64)]
}

// env is what all parts of a tree share.
type env struct {
	limiter *quota.Limiter
	strict  bool
	protect *protect.Set
	now     func() time.Time
	inodes  *atomic.Uint64
	made    atomic.Int64 // entries on real mounts that the running script was charged for

	mu   sync.Mutex // guards seen
	seen map[string]bool
}

// A grant makes part of a backend visible at a path.
type grant struct {
	b     backend
	base  string // the part that is visible; "." for all
	write bool
	real  bool // it is a file or directory of the host
}

// New returns a private tree with /box, /tmp and /dev in memory.
func New(o Options) *FS {
	if o.Protect == nil {
		o.Protect = protect.Default()
	}
	e := &env{limiter: o.Limiter, strict: o.Strict, protect: protect.New(o.Protect), now: o.Now, inodes: new(atomic.Uint64),
		seen: map[string]bool{}}
	if e.now == nil {
		e.now = time.Now
	}
	t := &FS{env: e, mem: newMemory(e, newChance(o.Seed)), mu: new(sync.RWMutex), line: new(atomic.Pointer[FS])}
	t.furnish()
	t.line.Store(t)
	return t
}

// furnish makes the directories every tree has. They are not charged.
func (t *FS) furnish() {
	t.mem.attach(t.mem.root, "box", t.mem.newNode(fs.ModeDir, 0o755))
	t.mem.attach(t.mem.root, "tmp", t.mem.newNode(fs.ModeDir, 0o777|fs.ModeSticky))
	t.mem.devices()
	t.grants = map[string]*grant{"/": {b: t.mem, base: ".", write: true}}
}

// Watch has f called for every file that is closed, with "read" or "written", for
// every one that is removed, with "removed", and for every one that a script may
// not have, with "refused". Nil stops it. A script is
// watched from its start to its end, so what it made on real mounts stops
// counting then: a session must not run dry by what it keeps elsewhere.
func (t *FS) Watch(f func(what, path string, bytes int64)) {
	if f == nil {
		t.watch.Store(nil)
		t.env.limiter.File(-t.env.made.Swap(0))
		return
	}
	t.watch.Store(&f)
}

func (t *FS) report(what, path string, bytes int64) {
	if f := t.watch.Load(); f != nil {
		(*f)(what, path, bytes)
	}
}

// Mount makes the real directory visible at the given path. Unless write is
// set, nothing in it can be changed.
func (t *FS) Mount(at, real string, write bool) error {
	b, err := openDirBackend(t.env, real)
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return wrap("mount", at, t.grant(at, &grant{b: b, base: ".", write: write, real: true}))
}

// MountRoot is Mount for a directory that is open already; the tree takes it
// over. What was mounted at that path before is no longer seen.
func (t *FS) MountRoot(at string, root *os.Root, write bool) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return wrap("mount", at, t.grant(at, &grant{b: &dirBackend{t.env, root, at, newGuard(t.env.protect, at)}, base: ".",
		write: write, real: true}))
}

// Inject makes one real file visible at the given path. With write set it may
// be written, and need not exist yet.
func (t *FS) Inject(name, real string, write bool) error {
	b, err := openFileBackend(real, write)
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return wrap("inject", name, t.grant(name, &grant{b: b, base: ".", write: write, real: true}))
}

// grant puts g into the tree and makes the directories that lead there.
func (t *FS) grant(at string, g *grant) error {
	at = path.Clean("/" + at)
	if at == "/" {
		for _, own := range []string{"box", "tmp", "dev"} {
			t.grants["/"+own] = &grant{b: t.mem, base: own, write: true}
		}
		t.grants["/"] = g
		return nil
	}
	dir, err := t.leadTo(path.Dir(at))
	if err != nil {
		return err
	}
	t.grants[path.Join(dir.path, path.Base(at))] = g
	return nil
}

// leadTo returns the directory at the given path, making it up where it is missing.
func (t *FS) leadTo(dir string) (place, error) {
	p, err := t.top(), error(nil)
	for part := range strings.SplitSeq(strings.Trim(dir, "/"), "/") {
		if part == "" {
			break
		}
		if p, err = t.resolve(path.Join(p.path, part), true); err != nil {
			return p, err
		}
		if !p.exists {
			p = t.makeUp(p)
		}
	}
	if !p.info.IsDir() {
		return p, ErrNotDir
	}
	return p, nil
}

// makeUp creates a directory in memory; in front of a real directory it
// covers a name that is not there.
func (t *FS) makeUp(p place) place {
	if m, ok := p.g.b.(*memory); ok {
		if dir, name, err := m.vacancy(p.rel); err == nil {
			m.attach(dir, name, m.newNode(fs.ModeDir, 0o755))
		}
	} else {
		t.grants[p.path] = &grant{b: newMemory(t.env, t.mem.chance), base: "."}
	}
	p, _ = t.resolve(p.path, true)
	return p
}

// mayChange tells whether files at p can be changed. A fork must not change
// the real files it shares with the main line.
func (t *FS) mayChange(p place) error {
	if !p.g.write || p.g.real && !t.isMain() {
		return ErrReadOnly
	}
	if _, ok := p.g.b.(changer); !ok {
		return ErrReadOnly
	}
	return nil
}

func (t *FS) isMain() bool {
	for t.parent != nil {
		t = t.parent
	}
	return t.line.Load() == t
}

// maxSize is how long a file may become by writing.
func (e *env) maxSize() int64 {
	l := e.limiter.Limits()
	if e.strict {
		return l.FileSize
	}
	return max(l.FileSize, l.Memory)
}

// entry charges for a new entry at p if that is on the host. The tree in memory
// charges for its own; there removing one gives room back, here nothing does:
// what a script leaves on the host, or wears out there, must end somewhere.
func (e *env) entry(p place) error {
	if !p.g.real {
		return nil
	}
	if err := e.limiter.Err(); err != nil {
		return err
	}
	if err := e.limiter.File(1); err != nil {
		return err
	}
	e.made.Add(1)
	return nil
}

// room refuses to let a file grow over the limit.
func (e *env) room(op, name string, pos, more int64) error {
	limit := e.maxSize()
	if more <= limit && pos <= limit-more {
		return nil
	}
	return tooLarge(op, name, "it would have", pos+more, limit)
}

// readable refuses a real file that the strict profile finds too large.
func (e *env) readable(name string, size int64) error {
	if limit := e.limiter.Limits().FileSize; e.strict && size > limit {
		return tooLarge("open", name, "it has", size, limit)
	}
	return nil
}

// allow gives a script time to read a real file, once for each.
func (e *env) allow(key string, size int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.seen[key] {
		e.seen[key] = true
		e.limiter.Extend(time.Duration(float64(size) / (25 << 20) * float64(time.Second)))
	}
}

func tooLarge(op, name, has string, size, limit int64) error {
	return &fault.Error{Kind: fault.TooLarge, Op: op, Subject: name,
		Why:      fmt.Sprintf("%s %s, the limit file_size is %s", has, amount(size, " "), amount(limit, " ")),
		Hint:     "have limits.file_size raised to " + amount(size, ""),
		FlagHint: "raise it: --limit file_size=" + amount(size, "")}
}

// amount writes a size in a whole number of units, rounded up.
func amount(n int64, space string) string {
	switch {
	case n < 0: // a sum that overflowed
		return "over 8000" + space + "GB"
	case n >= 1<<20:
		return fmt.Sprintf("%d%sMB", (n-1)>>20+1, space)
	case n >= 1<<10:
		return fmt.Sprintf("%d%sKB", (n-1)>>10+1, space)
	}
	return fmt.Sprintf("%d%sB", n, space)
}
