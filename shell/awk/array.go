package awk

import (
	"slices"
	"strconv"
	"strings"
)

// elementCost is what an element costs beside its key and a long value, and
// rowCost what one that needs no key does.
const (
	elementCost = 112
	rowCost     = 40
)

// shortString is the length up to which a kept string is part of the price of
// what keeps it.
const shortString = 64

// An array maps subscripts to values. Most arrays are filled with the
// subscripts 0, 1, 2… or 1, 2, 3…: those need no keys and lie in rows. Others,
// and those that come out of turn, are in a map.
type array struct {
	m    map[string]*value
	slab []value // elements not yet handed out

	rows  []*row
	end   int // the subscript behind the last in rows
	count int // how many in rows exist
}

const rowSize = 64

// A row holds consecutive elements; those that exist are live.
type row struct {
	vals [rowSize]value
	live [rowSize]bool
}

func newArray() *array { return &array{m: make(map[string]*value)} }

func (a *array) len() int { return len(a.m) + a.count }

// subscriptOf returns the number a subscript spells the way numbers are
// spelled, or -1.
func subscriptOf[T string | []byte](key T) int {
	if len(key) == 0 || len(key) > 9 || key[0] == '0' && len(key) > 1 {
		return -1
	}
	n := 0
	for i := range len(key) {
		if !isDigit(key[i]) {
			return -1
		}
		n = n*10 + int(key[i]-'0')
	}
	return n
}

// inRow returns element n of the rows, or nil.
func (a *array) inRow(n int) *value {
	if n >= 0 && n < a.end {
		if r := a.rows[n/rowSize]; r.live[n%rowSize] {
			return &r.vals[n%rowSize]
		}
	}
	return nil
}

// find returns the element with that subscript, or nil.
func (a *array) find(key string) *value {
	if a.end > 0 {
		if v := a.inRow(subscriptOf(key)); v != nil {
			return v
		}
	}
	return a.m[key]
}

// findBytes is find for a subscript that was put together in a buffer.
func (a *array) findBytes(key []byte) *value {
	if a.end > 0 {
		if v := a.inRow(subscriptOf(key)); v != nil {
			return v
		}
	}
	return a.m[string(key)]
}

// at returns the element with that subscript, new if need be.
func (m *machine) at(a *array, key string) *value {
	if v := a.find(key); v != nil {
		return v
	}
	return m.insert(a, key)
}

// atBytes is at for a subscript that was put together in a buffer.
func (m *machine) atBytes(a *array, key []byte) *value {
	if v := a.findBytes(key); v != nil {
		return v
	}
	return m.insert(a, string(key))
}

// atNum is at for a number.
func (m *machine) atNum(a *array, f float64) *value {
	n := int(f)
	if float64(n) != f || n < 0 || n > a.end || n >= 1_000_000_000 {
		m.key = m.appendKey(m.key[:0], &value{n: f, k: number})
		return m.atBytes(a, m.key)
	}
	if v := a.inRow(n); v != nil {
		return v
	}
	if len(a.m) > 0 {
		m.key = strconv.AppendInt(m.key[:0], int64(n), 10)
		if v := a.m[string(m.key)]; v != nil {
			return v
		}
	}
	return m.insertRow(a, n)
}

// insert adds an element that is not there; a key in a buffer is copied.
func (m *machine) insert(a *array, key string) *value {
	if n := subscriptOf(key); n >= 0 && (n <= a.end || n == 1 && a.end == 0) {
		return m.insertRow(a, n)
	}
	m.hold(elementCost + len(key))
	if len(a.slab) == 0 {
		a.slab = make([]value, min(max(4, len(a.m)), 128))
	}
	v := &a.slab[0]
	a.slab = a.slab[1:]
	a.m[strings.Clone(key)] = v
	return v
}

// insertRow adds element n to the rows, where it comes last or fills a gap.
func (m *machine) insertRow(a *array, n int) *value {
	if n/rowSize >= len(a.rows) {
		a.rows = append(a.rows, new(row))
	}
	if n >= a.end {
		m.hold(rowCost * (n + 1 - a.end))
		a.end = n + 1
	}
	a.count++
	r := a.rows[n/rowSize]
	r.live[n%rowSize] = true
	return &r.vals[n%rowSize]
}

func (m *machine) setElement(a *array, key string, v value) { m.store(m.at(a, key), v) }

func (m *machine) remove(a *array, key string) {
	if n := subscriptOf(key); a.inRow(n) != nil {
		r := a.rows[n/rowSize]
		m.recharge(len(r.vals[n%rowSize].s), 0)
		r.vals[n%rowSize], r.live[n%rowSize] = value{}, false
		if a.count--; a.count == 0 { // the room of single ones is not given back
			m.dropRows(a)
		}
		return
	}
	if v := a.m[key]; v != nil {
		m.hold(-elementCost - len(key))
		m.recharge(len(v.s), 0)
		delete(a.m, key)
	}
}

// empty removes all elements.
func (m *machine) empty(a *array) {
	for key, v := range a.m {
		m.hold(-elementCost - len(key))
		m.recharge(len(v.s), 0)
	}
	for n := range a.end {
		if v := a.inRow(n); v != nil {
			m.recharge(len(v.s), 0)
		}
	}
	if len(a.m) > 0 {
		a.m = make(map[string]*value)
	}
	a.slab = nil
	m.dropRows(a)
}

// dropRows removes what is in rows. The first is kept for what comes next:
// arrays like that of split are filled over and over.
func (m *machine) dropRows(a *array) {
	if len(a.rows) > 0 {
		clear(a.rows[0].vals[:min(a.end, rowSize)])
		clear(a.rows[0].live[:min(a.end, rowSize)])
		clear(a.rows[1:])
		a.rows = a.rows[:1]
	}
	m.hold(-rowCost * a.end)
	a.end, a.count = 0, 0
}

// store puts a value where it stays.
func (m *machine) store(p *value, v value) {
	if v.part {
		v.s, v.part = strings.Clone(v.s), false
	}
	if len(v.s) > shortString || len(p.s) > shortString {
		m.recharge(len(p.s), len(v.s))
	}
	*p = v
}

// storeNum is store for a number.
func (m *machine) storeNum(p *value, n float64) {
	if len(p.s) > shortString {
		m.recharge(len(p.s), 0)
	}
	*p = value{n: n, k: number}
}

// recharge replaces the charge for a string of one length by another.
func (m *machine) recharge(was, is int) {
	if was <= shortString {
		was = 0
	}
	if is <= shortString {
		is = 0
	}
	m.hold(is - was)
}

// A subscript is a key with the number it spells, for sorting.
type subscript struct {
	key string
	n   float64
	num bool
}

// keys returns the subscripts in the order a for statement takes them:
// numbers ascending, then the others as text, unless PROCINFO says otherwise.
func (m *machine) keys(a *array) []string {
	m.fits(a.len() * 40)
	if how := m.arrays[aPROCINFO].find("sorted_in"); how != nil && m.str(how) != "" {
		return m.keysBy(a, m.str(how))
	}
	keys := a.rowKeys()
	if len(a.m) == 0 {
		return keys
	}
	subs := make([]subscript, 0, a.len())
	for _, key := range a.mapKeys(keys) {
		s := subscript{key: key}
		s.n, s.num = looksNumeric(key)
		subs = append(subs, s)
	}
	slices.SortFunc(subs, func(x, y subscript) int {
		m.tick()
		switch {
		case x.num && y.num && x.n != y.n:
			return orderNums(x.n, y.n)
		case x.num != y.num:
			return int(truth(y.num)) - int(truth(x.num))
		}
		return strings.Compare(x.key, y.key)
	})
	keys = keys[:0]
	for _, s := range subs {
		keys = append(keys, s.key)
	}
	return keys
}

// rowKeys returns the subscripts in the rows in order.
func (a *array) rowKeys() []string {
	keys := make([]string, 0, a.len())
	for n := range a.end {
		if a.inRow(n) != nil {
			keys = append(keys, strconv.Itoa(n))
		}
	}
	return keys
}

// mapKeys appends the subscripts that are not in rows.
func (a *array) mapKeys(keys []string) []string {
	for key := range a.m {
		keys = append(keys, key)
	}
	return keys
}

// keysBy sorts by one of the orders of PROCINFO["sorted_in"].
func (m *machine) keysBy(a *array, how string) []string {
	keys := a.mapKeys(a.rowKeys())
	slices.SortFunc(keys, func(x, y string) int {
		m.tick()
		m.spend(min(len(x), len(y)))
		return strings.Compare(x, y)
	})
	what, desc := strings.CutSuffix(how, "_desc")
	what = strings.TrimSuffix(what, "_asc")
	var cmp func(x, y string) int
	switch what {
	case "@ind_num":
		cmp = func(x, y string) int { return orderNums(toNumber(x), toNumber(y)) }
	case "@ind_str":
		cmp = strings.Compare
	case "@val_num":
		cmp = func(x, y string) int { return orderNums(a.find(x).num(), a.find(y).num()) }
	case "@val_str":
		cmp = func(x, y string) int { return strings.Compare(m.str(a.find(x)), m.str(a.find(y))) }
	case "@val_type":
		cmp = func(x, y string) int { return m.orderByType(a.find(x), a.find(y)) }
	default:
		return keys
	}
	slices.SortFunc(keys, func(x, y string) int { // no two are equal
		m.tick()
		c := cmp(x, y)
		if c == 0 {
			c = strings.Compare(x, y)
		}
		if desc {
			return -c
		}
		return c
	})
	return keys
}

// orderByType puts numbers before text, as asort does.
func (m *machine) orderByType(x, y *value) int {
	x.examine()
	y.examine()
	m.spend(len(x.s) + len(y.s))
	if (x.k == text) != (y.k == text) {
		return int(truth(x.k == text)) - int(truth(y.k == text))
	}
	if x.k == text {
		return strings.Compare(x.s, y.s)
	}
	return orderNums(x.num(), y.num())
}

// appendKey writes a subscript: whole numbers as such, others by CONVFMT.
func (m *machine) appendKey(b []byte, v *value) []byte {
	if v.k != number {
		m.spend(4 * len(v.s))
		return append(b, v.s...)
	}
	if i := int64(v.n); float64(i) == v.n {
		return strconv.AppendInt(b, i, 10)
	}
	return m.appendNum(b, v.n, m.convfmt)
}
