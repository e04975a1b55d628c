package vfs

import (
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
)

// entryCost is what an entry of the memory tree is charged beside its name.
const entryCost = 256

// node is a file, directory, symbolic link or device in memory.
type node struct {
	ino      uint64
	kind     fs.FileMode // type bits; they never change
	target   string      // of a symbolic link
	dev      device
	fixed    bool             // neither it nor its entries come or go
	children map[string]*node // guarded by the lock of the tree

	mu      sync.RWMutex // guards what follows
	perm    fs.FileMode
	mtime   time.Time
	links   int
	handles int
	paid    int // entries that were charged
	data    data
}

// memory is the backend that holds files in memory.
type memory struct {
	env    *env
	root   *node
	chance *chance // for its devices and names of temporary files
}

func newMemory(e *env, c *chance) *memory {
	m := &memory{env: e, chance: c}
	m.root = m.newNode(fs.ModeDir, 0o755)
	m.root.links = 2
	return m
}

func (m *memory) newNode(kind, perm fs.FileMode) *node {
	n := &node{ino: m.env.inodes.Add(1), kind: kind, perm: perm, mtime: m.env.now()}
	if kind.IsDir() {
		n.children, n.links = map[string]*node{}, 1
	}
	return n
}

// walk returns the node at rel, which must not pass through symbolic links.
func (m *memory) walk(rel string) (*node, error) {
	n := m.root
	if rel == "." {
		return n, nil
	}
	for part := range strings.SplitSeq(rel, "/") {
		if !n.kind.IsDir() {
			return nil, ErrNotDir
		}
		next := n.children[part]
		if next == nil {
			return nil, fs.ErrNotExist
		}
		n = next
	}
	return n, nil
}

// vacancy returns the directory that a new entry at rel goes into.
func (m *memory) vacancy(rel string) (*node, string, error) {
	dir, err := m.walk(path.Dir(rel))
	name := path.Base(rel)
	switch {
	case err != nil:
		return nil, "", err
	case !dir.kind.IsDir():
		return nil, "", ErrNotDir
	case rel == "." || dir.children[name] != nil:
		return nil, "", fs.ErrExist
	case dir.fixed:
		return nil, "", fs.ErrPermission
	}
	return dir, name, nil
}

// add charges for an entry and makes it.
func (m *memory) add(dir *node, name string, n *node) error {
	if err := m.env.limiter.Err(); err != nil {
		return err
	}
	if err := m.env.limiter.File(1); err != nil {
		return err
	}
	if err := m.env.limiter.Hold(entryCost + int64(len(n.target))); err != nil {
		m.env.limiter.File(-1)
		return err
	}
	n.mu.Lock()
	n.paid++
	n.mu.Unlock()
	m.attach(dir, name, n)
	return nil
}

func (m *memory) attach(dir *node, name string, n *node) {
	dir.children[name] = n
	n.mu.Lock()
	n.links++
	n.mu.Unlock()
	m.touch(dir, n.kind.IsDir(), 1)
}

// touch notes that an entry of dir came or went.
func (m *memory) touch(dir *node, isDir bool, by int) {
	dir.mu.Lock()
	defer dir.mu.Unlock()
	dir.mtime = m.env.now()
	if isDir {
		dir.links += by
	}
}

// drop removes an entry; the node goes with its last name and handle.
func (m *memory) drop(dir *node, name string) {
	n := dir.children[name]
	delete(dir.children, name)
	m.touch(dir, n.kind.IsDir(), -1)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.links--
	if n.paid > 0 {
		n.paid--
		m.env.limiter.File(-1)
		m.env.limiter.Hold(-entryCost - int64(len(n.target)))
	}
	m.free(n)
}

// free gives back the contents of a node that nobody can reach any more.
func (m *memory) free(n *node) {
	if n.links == 0 && n.handles == 0 {
		n.data.free(m.env.limiter)
	}
}

func (n *node) info(name string) Info {
	n.mu.RLock()
	defer n.mu.RUnlock()
	i := Info{name: name, size: n.data.size, mode: n.kind | n.perm, mtime: n.mtime, ino: n.ino, links: n.links}
	switch {
	case n.kind.IsDir():
		i.size = 4096
	case n.kind&fs.ModeSymlink != 0:
		i.size = int64(len(n.target))
	}
	return i
}

func (m *memory) lstat(rel string) (Info, error) {
	n, err := m.walk(rel)
	if err != nil {
		return Info{}, err
	}
	return n.info(path.Base(rel)), nil
}

func (m *memory) readlink(rel string) (string, error) {
	n, err := m.walk(rel)
	if err == nil && n.kind&fs.ModeSymlink == 0 {
		err = ErrInvalid
	}
	if err != nil {
		return "", err
	}
	return n.target, nil
}

func (m *memory) list(rel string) ([]Info, error) {
	n, err := m.walk(rel)
	if err == nil && !n.kind.IsDir() {
		err = ErrNotDir
	}
	if err != nil {
		return nil, err
	}
	infos := make([]Info, 0, len(n.children))
	for _, name := range slices.Sorted(maps.Keys(n.children)) {
		infos = append(infos, n.children[name].info(name))
	}
	return infos, nil
}

func (m *memory) open(rel string, how opening) (handle, error) {
	n, err := m.walk(rel)
	if err != nil && how.flag&os.O_CREATE != 0 {
		n, err = m.create(rel, how.perm)
	}
	if err != nil {
		return nil, err
	}
	if n.dev != nil {
		return &deviceHandle{n.dev, n.info(path.Base(rel))}, nil
	}
	return m.handle(n, how)
}

func (m *memory) create(rel string, perm fs.FileMode) (*node, error) {
	dir, name, err := m.vacancy(rel)
	if err != nil {
		return nil, err
	}
	n := m.newNode(0, perm.Perm()&^umask)
	return n, m.add(dir, name, n)
}

func (m *memory) mkdir(rel string, perm fs.FileMode) error {
	dir, name, err := m.vacancy(rel)
	if err != nil {
		return err
	}
	return m.add(dir, name, m.newNode(fs.ModeDir, perm.Perm()&^umask))
}

func (m *memory) symlink(target, rel string) error {
	dir, name, err := m.vacancy(rel)
	if err != nil {
		return err
	}
	n := m.newNode(fs.ModeSymlink, 0o777)
	n.target = target
	return m.add(dir, name, n)
}

func (m *memory) link(old, new string) error {
	n, err := m.walk(old)
	if err != nil {
		return err
	}
	if n.kind.IsDir() || n.dev != nil {
		return errNotGranted
	}
	dir, name, err := m.vacancy(new)
	if err != nil {
		return err
	}
	return m.add(dir, name, n)
}

func (m *memory) remove(rel string) error {
	n, err := m.walk(rel)
	if err != nil {
		return err
	}
	if rel == "." {
		return errBusy
	}
	dir, err := m.walk(path.Dir(rel))
	switch {
	case err != nil:
		return err
	case n.fixed || dir.fixed:
		return fs.ErrPermission
	case len(n.children) > 0:
		return ErrNotEmpty
	}
	m.drop(dir, path.Base(rel))
	return nil
}

func (m *memory) rename(old, new string) error {
	n, err := m.walk(old)
	if err != nil {
		return err
	}
	from, err := m.walk(path.Dir(old))
	if err != nil {
		return err
	}
	if n.fixed || from.fixed || old == "." {
		return fs.ErrPermission
	}
	if was, err := m.walk(new); err == nil {
		if was == n { // hard links of one file: POSIX says to do nothing
			return nil
		}
		if err := m.giveWay(n, was, new); err != nil {
			return err
		}
	}
	to, name, err := m.vacancy(new)
	if err != nil {
		return err
	}
	delete(from.children, path.Base(old))
	m.touch(from, n.kind.IsDir(), -1)
	n.mu.Lock()
	n.links--
	n.mu.Unlock()
	m.attach(to, name, n)
	return nil
}

// giveWay removes what stands at the target of a rename, if n may replace it.
func (m *memory) giveWay(n, was *node, rel string) error {
	switch {
	case was.kind.IsDir() && !n.kind.IsDir():
		return ErrIsDir
	case !was.kind.IsDir() && n.kind.IsDir():
		return ErrNotDir
	}
	return m.remove(rel)
}

func (m *memory) chmod(rel string, mode fs.FileMode) error {
	n, err := m.walk(rel)
	if err == nil && n.fixed {
		err = fs.ErrPermission
	}
	if err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.perm = mode & (fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky)
	return nil
}

func (m *memory) chtimes(rel string, _, mtime time.Time) error {
	n, err := m.walk(rel)
	if err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if !mtime.IsZero() {
		n.mtime = mtime
	}
	return nil
}

// memoryHandle is an open memory file.
type memoryHandle struct {
	m    *memory
	n    *node
	how  opening
	mu   sync.Mutex // guards pos; taken before the node's
	pos  int64
	once sync.Once
}

func (m *memory) handle(n *node, how opening) (handle, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if how.flag&os.O_TRUNC != 0 {
		if err := n.data.truncate(m.env.limiter, 0); err != nil {
			return nil, err
		}
		n.mtime = m.env.now()
	}
	n.handles++
	return &memoryHandle{m: m, n: n, how: how}, nil
}

func (h *memoryHandle) Read(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	n, err := h.ReadAt(p, h.pos)
	h.pos += int64(n)
	return n, err
}

// ReadAt may return less than was asked for without an error; [File.ReadAt]
// makes the difference good.
func (h *memoryHandle) ReadAt(p []byte, off int64) (int, error) {
	h.n.mu.RLock()
	defer h.n.mu.RUnlock()
	return h.n.data.readAt(p, off)
}

func (h *memoryHandle) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.n.mu.Lock()
	defer h.n.mu.Unlock()
	if h.how.flag&os.O_APPEND != 0 {
		h.pos = h.n.data.size
	}
	if err := h.m.env.room("write", h.how.name, h.pos, int64(len(p))); err != nil {
		return 0, err
	}
	n, err := h.n.data.writeAt(h.m.env.limiter, p, h.pos)
	h.pos += int64(n)
	h.n.mtime = h.m.env.now()
	return n, err
}

func (h *memoryHandle) Seek(off int64, whence int) (int64, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch whence {
	case io.SeekCurrent:
		off += h.pos
	case io.SeekEnd:
		h.n.mu.RLock()
		off += h.n.data.size
		h.n.mu.RUnlock()
	}
	if off < 0 {
		return h.pos, ErrInvalid
	}
	h.pos = off
	return off, nil
}

func (h *memoryHandle) Truncate(size int64) error {
	if err := h.m.env.room("truncate", h.how.name, size, 0); err != nil {
		return err
	}
	h.n.mu.Lock()
	defer h.n.mu.Unlock()
	h.n.mtime = h.m.env.now()
	return h.n.data.truncate(h.m.env.limiter, size)
}

func (h *memoryHandle) info() (Info, error) { return h.n.info(""), nil }

func (h *memoryHandle) Close() error {
	h.once.Do(func() {
		h.n.mu.Lock()
		defer h.n.mu.Unlock()
		h.n.handles--
		h.m.free(h.n)
	})
	return nil
}
