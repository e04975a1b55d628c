package vfs

import (
	"bytes"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"hako/quota"
	"hako/run/fault"
)

// Fork returns a copy that goes its own way. Contents are shared until one
// side writes to them. Granted real files can be read in both, but written
// only in the main line: the tree that [New] returned, until [FS.Main] says
// otherwise.
func (t *FS) Fork() *FS { return t.fork(t.env) }

// ForkFor is Fork with a limiter of its own, which must be a fork of t's.
func (t *FS) ForkFor(g *quota.Limiter) *FS {
	return t.fork(&env{limiter: g, strict: t.env.strict, protect: t.env.protect, now: t.env.now, seen: map[string]bool{},
		inodes: t.env.inodes})
}

func (t *FS) fork(e *env) *FS {
	t.mu.RLock()
	defer t.mu.RUnlock()
	f := &FS{env: e, mu: new(sync.RWMutex), grants: map[string]*grant{}, line: t.line}
	copies := map[backend]*memory{t.mem: t.mem.fork(e)}
	for at, g := range t.grants {
		own := *g
		if m, ok := g.b.(*memory); ok {
			if copies[m] == nil {
				copies[m] = m.fork(e)
			}
			own.b = copies[m]
		}
		f.grants[at] = &own
	}
	f.mem = copies[t.mem]
	return f
}

// View returns the same tree once more, with a watch of its own: for a script
// that runs at the same time as others over the same files. What it holds is
// charged to t's limiter, and closing it does nothing.
func (t *FS) View() *FS {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return &FS{env: t.env, mem: t.mem, mu: t.mu, grants: t.grants, line: t.line, parent: t}
}

// Main makes t the main line, the only one of its forks that may write to
// granted real files.
func (t *FS) Main() {
	for t.parent != nil {
		t = t.parent
	}
	t.line.Store(t)
}

// Close gives back what the tree holds in memory. A tree that is given up
// while its limiter lives on must be closed, and not be used after.
func (t *FS) Close() {
	if t.parent != nil && t.mem == t.parent.mem {
		return // a view
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mem.empty(t.mem.root)
	for _, g := range t.grants {
		if m, ok := g.b.(*memory); ok && t.parent == nil {
			m.empty(m.root)
		}
	}
}

// empty drops everything below dir.
func (m *memory) empty(dir *node) {
	for name, n := range dir.children {
		m.empty(n)
		m.drop(dir, name)
	}
}

// fork copies the tree of nodes; hard links stay linked.
func (m *memory) fork(e *env) *memory {
	f := &memory{env: e, chance: m.chance.fork()}
	f.root = f.copy(m.root, map[*node]*node{})
	return f
}

func (m *memory) copy(n *node, done map[*node]*node) *node {
	if c := done[n]; c != nil {
		return c
	}
	n.mu.RLock()
	c := &node{ino: n.ino, kind: n.kind, target: n.target, dev: n.dev, fixed: n.fixed,
		perm: n.perm, mtime: n.mtime, links: n.links, data: n.data.share()}
	n.mu.RUnlock()
	done[n] = c
	if _, ok := c.dev.(randomDevice); ok {
		c.dev = randomDevice{chance: m.chance}
	}
	if n.children != nil {
		c.children = make(map[string]*node, len(n.children))
	}
	for name, child := range n.children {
		c.children[name] = m.copy(child, done)
	}
	return c
}

// Child returns a tree that sees only the given paths of its parent, with the
// same rights, and a private memory for everything else.
func (t *FS) Child(paths []string) (*FS, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := &FS{env: t.env, mem: newMemory(t.env, t.mem.chance), mu: t.mu, line: t.line, parent: t}
	c.furnish()
	c.watch.Store(t.watch.Load())
	for _, name := range paths {
		if err := c.inherit(name); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// inherit grants what the parent sees at name, and all that was granted below it.
func (t *FS) inherit(name string) error {
	p, err := t.parent.resolve(name, true)
	if err != nil || !p.exists && p.rel != p.g.base {
		return &fault.Error{Kind: fault.Denied, Op: "grant", Subject: name, Why: "it is not among the files of the caller",
			Hint: "only files that the caller sees itself can be passed on"}
	}
	own := *p.g
	own.base = p.rel
	if err := t.grant(name, &own); err != nil {
		return wrap("grant", name, err)
	}
	for at, g := range t.parent.grants {
		if within(at, p.path) {
			t.grants[path.Join(path.Clean(name), strings.TrimPrefix(at, p.path))] = g
		}
	}
	return nil
}

// A Change is a difference between two trees.
type Change struct {
	What string // added, changed or removed
	Path string
}

// sight is what Diff compares of a file.
type sight struct {
	info Info
	g    *grant
	n    *node // nil if it is not in memory
}

// Diff says how b differs from a, in the order of paths. Times do not count,
// and neither does what happens in real directories both of them see.
func Diff(a, b *FS) []Change {
	before, after := a.survey(), b.survey()
	var changes []Change
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if _, ok := after[name]; !ok {
			changes = append(changes, Change{"removed", name})
		} else if !before[name].same(after[name], a.env.limiter) {
			changes = append(changes, Change{"changed", name})
		}
	}
	for name := range after {
		if _, ok := before[name]; !ok {
			changes = append(changes, Change{"added", name})
		}
	}
	slices.SortFunc(changes, func(x, y Change) int { return strings.Compare(x.Path, y.Path) })
	return changes
}

// survey returns everything in the tree that is not in a real directory.
func (t *FS) survey() map[string]sight {
	t.mu.RLock()
	defer t.mu.RUnlock()
	all := map[string]sight{}
	t.surveyDir(t.top(), all)
	return all
}

func (t *FS) surveyDir(dir place, all map[string]sight) {
	if dir.g.real {
		return
	}
	infos, _ := t.list(dir)
	for _, info := range infos {
		p, err := t.step(dir, info.name)
		if err != nil || !p.exists {
			continue
		}
		all[p.path] = sight{p.info, p.g, p.n}
		if p.info.IsDir() {
			t.surveyDir(p, all)
		}
	}
}

func (a sight) same(b sight, g *quota.Limiter) bool {
	switch {
	case a.g.real || b.g.real:
		return a.g.b == b.g.b
	case a.info.mode != b.info.mode || a.info.size != b.info.size || a.n.target != b.n.target:
		return false
	}
	x, y := a.n.contents(), b.n.contents()
	defer x.free(g)
	defer y.free(g)
	return x.equal(&y)
}

// contents returns the contents as they are now; the caller frees them.
func (n *node) contents() data {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return n.data.share()
}

func (d *data) equal(e *data) bool {
	if d.size != e.size {
		return false
	}
	var p, q [4096]byte
	for off := int64(0); off < d.size; {
		i := off / blockSize
		if d.blocks[i] == e.blocks[i] {
			off = (i + 1) * blockSize
			continue
		}
		n, _ := d.readAt(p[:], off)
		m, _ := e.readAt(q[:], off)
		if !bytes.Equal(p[:n], q[:m]) {
			return false
		}
		off += int64(n)
	}
	return true
}
