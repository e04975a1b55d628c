package shell

import (
	"cmp"
	"slices"
	"strconv"

	"hako/quota"
)

// attr is a set of variable attributes.
type attr uint8

const (
	exported attr = 1 << iota
	readonly
	integer
	lower
	upper
	nameref
)

type valueKind uint8

const (
	scalar valueKind = iota
	indexed
	assoc
)

// A variable is a shell variable. Unset but declared variables have set false.
type variable struct {
	kind  valueKind
	attrs attr
	set   bool
	str   string
	list  list
	table *table
	size  int64 // bytes charged for it
}

// list is an indexed array. keys is nil while the indices are 0…len-1.
type list struct {
	keys []int64
	vals []string
}

func (l *list) find(i int64) (int, bool) {
	if i < 0 {
		return 0, false
	}
	if l.keys == nil {
		return int(min(i, int64(len(l.vals)))), i < int64(len(l.vals))
	}
	return slices.BinarySearch(l.keys, i)
}

func (l *list) get(i int64) (string, bool) {
	if at, ok := l.find(i); ok {
		return l.vals[at], true
	}
	return "", false
}

func (l *list) put(i int64, v string) {
	at, ok := l.find(i)
	switch {
	case ok:
		l.vals[at] = v
	case l.keys == nil && i == int64(len(l.vals)):
		l.vals = append(l.vals, v)
	default:
		l.spread()
		at, _ = l.find(i)
		l.keys = slices.Insert(l.keys, at, i)
		l.vals = slices.Insert(l.vals, at, v)
	}
}

func (l *list) remove(i int64) {
	at, ok := l.find(i)
	if !ok {
		return
	}
	l.spread()
	l.keys = slices.Delete(l.keys, at, at+1)
	l.vals = slices.Delete(l.vals, at, at+1)
}

// spread writes the indices down.
func (l *list) spread() {
	if l.keys != nil {
		return
	}
	l.keys = make([]int64, len(l.vals))
	for i := range l.keys {
		l.keys[i] = int64(i)
	}
}

// top returns the highest index, or -1.
func (l *list) top() int64 {
	if len(l.keys) == 0 {
		return int64(len(l.vals)) - 1
	}
	return l.keys[len(l.keys)-1]
}

func (l *list) indices() []string {
	out := make([]string, len(l.vals))
	for i := range out {
		k := int64(i)
		if l.keys != nil {
			k = l.keys[i]
		}
		out[i] = strconv.FormatInt(k, 10)
	}
	return out
}

// table is an associative array. It lists its keys in the order bash does, so
// that scripts print the same everywhere.
type table struct {
	vals map[string]string
	born map[string]int
	next int
}

func newTable() *table { return &table{vals: map[string]string{}, born: map[string]int{}} }

func (t *table) put(k, v string) {
	if _, ok := t.vals[k]; !ok {
		t.born[k] = t.next
		t.next++
	}
	t.vals[k] = v
}

func (t *table) remove(k string) {
	delete(t.vals, k)
	delete(t.born, k)
}

func (t *table) keys() []string {
	type place struct {
		key    string
		bucket uint32
		born   int
	}
	places := make([]place, 0, len(t.vals))
	for k := range t.vals {
		places = append(places, place{k, bucket(k), t.born[k]})
	}
	slices.SortFunc(places, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.bucket, b.bucket), cmp.Compare(b.born, a.born))
	})
	keys := make([]string, len(places))
	for i, at := range places {
		keys[i] = at.key
	}
	return keys
}

// bucket is the place of a key in a hash table of 1024 chains (FNV-1).
func bucket(s string) uint32 {
	h := uint32(2166136261)
	for i := range len(s) {
		h *= 16777619
		h ^= uint32(s[i])
	}
	return h & 1023
}

func (t *table) clone() *table {
	c := newTable()
	for k, v := range t.vals {
		c.vals[k] = v
	}
	for k, v := range t.born {
		c.born[k] = v
	}
	c.next = t.next
	return c
}

func (v *variable) clone() *variable {
	c := *v
	c.size = 0
	c.list = list{slices.Clone(v.list.keys), slices.Clone(v.list.vals)}
	if v.table != nil {
		c.table = v.table.clone()
	}
	return &c
}

// first returns the value of the variable without a subscript.
func (v *variable) first() (string, bool) {
	switch v.kind {
	case indexed:
		return v.list.get(0)
	case assoc:
		s, ok := v.table.vals["0"]
		return s, ok
	}
	return v.str, v.set
}

// values returns the elements in order.
func (v *variable) values() []string {
	switch v.kind {
	case indexed:
		return v.list.vals
	case assoc:
		out := make([]string, 0, len(v.table.vals))
		for _, k := range v.table.keys() {
			out = append(out, v.table.vals[k])
		}
		return out
	}
	if !v.set {
		return nil
	}
	return []string{v.str}
}

// keys returns the subscripts in the order of values.
func (v *variable) keys() []string {
	switch v.kind {
	case indexed:
		return v.list.indices()
	case assoc:
		return v.table.keys()
	}
	if !v.set {
		return nil
	}
	return []string{"0"}
}

// bytes is what the variable weighs.
func (v *variable) bytes() int64 {
	n := int64(len(v.str)) + 64
	for _, s := range v.list.vals {
		n += int64(len(s)) + 24
	}
	if v.table != nil {
		for k, s := range v.table.vals {
			n += int64(2*len(k)+len(s)) + 64
		}
	}
	return n
}

// A scope holds the variables of one shell process. A subshell has a scope of
// its own over that of its parent: it reads through and writes into its own,
// so that nothing it does is seen outside and nothing has to be copied.
type scope struct {
	parent  *scope
	vars    map[string]*variable // nil value: unset here, whatever the parent has
	limiter *quota.Limiter
	held    int64
}

func newScope(parent *scope, g *quota.Limiter) *scope { return &scope{parent: parent, limiter: g} }

func (s *scope) get(name string) *variable {
	for ; s != nil; s = s.parent {
		if v, ok := s.vars[name]; ok {
			return v
		}
	}
	return nil
}

// own returns the variable for changing: a copy if it belongs to a parent, a
// new one if there is none.
func (s *scope) own(name string) *variable {
	v, mine := s.vars[name]
	if mine && v != nil {
		return v
	}
	if !mine && s.parent != nil {
		if v = s.parent.get(name); v != nil {
			v = v.clone()
		}
	}
	if v == nil {
		v = &variable{}
	}
	s.place(name, v)
	return v
}

// freeze returns a copy of all that is visible, charged for, without a parent.
func (s *scope) freeze() (*scope, error) {
	c := newScope(nil, s.limiter)
	for _, name := range s.names() {
		v := s.get(name).clone()
		c.place(name, v)
		if err := c.resize(v, v.bytes()); err != nil {
			return c, err
		}
	}
	return c, nil
}

// place puts v under a name without charging for it.
func (s *scope) place(name string, v *variable) {
	if s.vars == nil {
		s.vars = make(map[string]*variable)
	}
	s.vars[name] = v
}

func (s *scope) unset(name string) {
	if v := s.vars[name]; v != nil {
		s.charge(-v.size)
	}
	if s.parent == nil {
		delete(s.vars, name)
		return
	}
	s.place(name, nil)
}

// resize charges the difference between what v weighed and now weighs.
func (s *scope) resize(v *variable, now int64) error {
	d := now - v.size
	if d == 0 {
		return nil
	}
	if err := s.charge(d); err != nil {
		return err
	}
	v.size = now
	return nil
}

func (s *scope) charge(n int64) error {
	if err := s.limiter.Hold(n); err != nil {
		return err
	}
	s.held += n
	return nil
}

// drop gives back what the scope holds, at the end of a subshell.
func (s *scope) drop() { _ = s.limiter.Hold(-s.held); s.held = 0 }

// names returns all visible names, sorted.
func (s *scope) names() []string {
	seen := make(map[string]bool)
	var out []string
	for ; s != nil; s = s.parent {
		for name, v := range s.vars {
			if !seen[name] && v != nil {
				out = append(out, name)
			}
			seen[name] = true
		}
	}
	slices.Sort(out)
	return out
}
