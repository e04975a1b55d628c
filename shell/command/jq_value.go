package command

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
)

// The values of jq: nil, bool, float64, jqBig, string, *jqArray, *jqObject.
// They are never changed once another value can refer to them.

// A jqBig is an integer that a double cannot hold, kept as it was written for
// as long as nobody calculates with it.
type jqBig struct {
	text  string
	float float64
}

// A jqArray is a list. The newest array grown from a common part may grow in
// place, so that adding to the end again and again stays cheap.
type jqArray struct {
	items  []any
	tip    bool
	mark   uint32 // the last trace that saw it
	whole  int    // items of the array that this one is a part of, as they stay in memory with it
	origin any    // what it was read from, if somebody wants to write it the same way
}

func newJqArray(items ...any) *jqArray { return &jqArray{items: items} }

// with returns the array with more items at its end.
func (a *jqArray) with(more []any) *jqArray {
	if !a.tip {
		grown := make([]any, len(a.items), max(2*len(a.items), len(a.items)+len(more)))
		copy(grown, a.items)
		return &jqArray{items: append(grown, more...), tip: true, origin: a.origin}
	}
	a.tip = false
	return &jqArray{items: append(a.items, more...), tip: true, origin: a.origin}
}

// A jqObject keeps its keys in the order they came, as jq does.
type jqObject struct {
	keys   []string
	vals   []any
	index  *jqIndex // nil while there are few keys
	mark   uint32   // the last trace that saw it
	origin any      // as of a jqArray; a changed copy keeps it
}

// A jqIndex finds keys. Objects that grew from one another share it: a
// position beyond an object's own length belongs to a longer one.
type jqIndex struct{ at map[string]int }

const jqFewKeys = 12

func newJqObject(size int) *jqObject {
	return &jqObject{keys: make([]string, 0, size), vals: make([]any, 0, size)}
}

func (o *jqObject) find(key string) int {
	if o.index == nil {
		return slices.Index(o.keys, key)
	}
	if at, ok := o.index.at[key]; ok && at < len(o.keys) {
		return at
	}
	return -1
}

func (o *jqObject) get(key string) (any, bool) {
	if at := o.find(key); at >= 0 {
		return o.vals[at], true
	}
	return nil, false
}

// put changes the object itself; only its maker may call it.
func (o *jqObject) put(key string, v any) {
	if at := o.find(key); at >= 0 {
		o.vals[at] = v
		return
	}
	if o.index != nil && len(o.index.at) != len(o.keys) {
		o.index = nil // a longer relative took the places that follow
	}
	if o.index == nil && len(o.keys) >= jqFewKeys {
		o.index = &jqIndex{make(map[string]int, 2*len(o.keys))}
		for i, k := range o.keys {
			o.index.at[k] = i
		}
	}
	if o.index != nil {
		o.index.at[key] = len(o.keys)
	}
	o.keys = append(o.keys, key)
	o.vals = append(o.vals, v)
}

// drop takes a key away; only the maker may call it.
func (o *jqObject) drop(key string) {
	if at := o.find(key); at >= 0 {
		o.keys = slices.Delete(slices.Clone(o.keys), at, at+1)
		o.vals = slices.Delete(slices.Clone(o.vals), at, at+1)
		o.index = nil
		if len(o.keys) > jqFewKeys {
			o.index = &jqIndex{make(map[string]int, len(o.keys))}
			for i, k := range o.keys {
				o.index.at[k] = i
			}
		}
	}
}

// clone returns a copy that may be changed.
func (o *jqObject) clone() *jqObject {
	c := &jqObject{keys: slices.Clip(o.keys), vals: slices.Clone(o.vals), index: o.index, origin: o.origin}
	if o.index != nil && len(o.index.at) != len(o.keys) {
		c.index = nil
	}
	if c.index == nil && len(c.keys) > jqFewKeys {
		c.index = &jqIndex{make(map[string]int, len(c.keys))}
		for i, k := range c.keys {
			c.index.at[k] = i
		}
	}
	return c
}

// sorted returns the keys in order of code points.
func (o *jqObject) sorted() []string {
	keys := slices.Clone(o.keys)
	slices.Sort(keys)
	return keys
}

func jqType(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case float64, jqBig:
		return "number"
	case string:
		return "string"
	case *jqArray:
		return "array"
	}
	return "object"
}

func jqTrue(v any) bool { return v != nil && v != false }

// jqFloat is the number as a double.
func jqFloat(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case jqBig:
		return v.float, true
	}
	return 0, false
}

// jqInt turns a number into an index or count, within what an int can hold.
func jqInt(f float64) int {
	switch {
	case math.IsNaN(f):
		return 0
	case f >= math.MaxInt32*1024:
		return math.MaxInt32 * 1024
	case f <= -math.MaxInt32*1024:
		return -math.MaxInt32 * 1024
	}
	return int(math.Floor(f))
}

var jqOrder = map[string]int{"null": 0, "boolean": 1, "number": 3, "string": 4, "array": 5, "object": 6}

// compare orders values as jq does. It counts its steps: values that share
// their parts can be far larger to walk through than to hold.
func (m *jqMeter) compare(a, b any) (int, error) {
	if err := m.step(); err != nil {
		return 0, err
	}
	switch x := a.(type) {
	case float64:
		if y, ok := b.(float64); ok {
			return jqCompareFloat(x, y), nil
		}
	case string:
		if y, ok := b.(string); ok {
			return strings.Compare(x, y), m.spend(int64(min(len(x), len(y))))
		}
	case *jqArray:
		if y, ok := b.(*jqArray); ok {
			return m.compareArrays(x, y)
		}
	case *jqObject:
		if y, ok := b.(*jqObject); ok {
			return m.compareObjects(x, y)
		}
	}
	ta, tb := jqType(a), jqType(b)
	if ta != tb {
		return jqOrder[ta] - jqOrder[tb], nil
	}
	switch ta {
	case "boolean":
		switch {
		case a == b:
			return 0, nil
		case a == true:
			return 1, nil
		}
		return -1, nil
	case "number":
		x, y := a, b
		if p, ok := x.(jqBig); ok {
			if q, ok := y.(jqBig); ok && p.text == q.text {
				return 0, nil
			}
		}
		fx, _ := jqFloat(x)
		fy, _ := jqFloat(y)
		return jqCompareFloat(fx, fy), nil
	}
	return 0, nil
}

// jqCompareFloat puts NaN below everything, as jq does.
func jqCompareFloat(x, y float64) int {
	switch {
	case x < y || math.IsNaN(x):
		return -1
	case x == y:
		return 0
	}
	return 1
}

func (m *jqMeter) compareArrays(x, y *jqArray) (int, error) {
	if x == y {
		return 0, nil
	}
	at, err := m.invoke()
	if err != nil {
		return 0, err
	}
	defer m.returned(at)
	for i := range min(len(x.items), len(y.items)) {
		if c, err := m.compare(x.items[i], y.items[i]); c != 0 || err != nil {
			return c, err
		}
	}
	return cmp.Compare(len(x.items), len(y.items)), nil
}

// compareObjects compares the sets of keys first, then the values key by key.
func (m *jqMeter) compareObjects(x, y *jqObject) (int, error) {
	if x == y {
		return 0, nil
	}
	at, err := m.invoke()
	if err != nil {
		return 0, err
	}
	defer m.returned(at)
	if err := m.spend(256 * int64(len(x.keys)+len(y.keys))); err != nil {
		return 0, err
	}
	kx, ky := x.sorted(), y.sorted()
	if c := slices.Compare(kx, ky); c != 0 {
		return c, nil
	}
	for _, k := range kx {
		vx, _ := x.get(k)
		vy, _ := y.get(k)
		if c, err := m.compare(vx, vy); c != 0 || err != nil {
			return c, err
		}
	}
	return 0, nil
}

// sort orders items by keys of the same length, stably.
func (m *jqMeter) sort(keys []any, items []any) error {
	if err := m.alloc(int64(len(items)) * 40); err != nil {
		return err
	}
	order := make([]int, len(items))
	for i := range order {
		order[i] = i
	}
	var failed error
	slices.SortFunc(order, func(i, j int) int {
		if failed == nil {
			var c int
			if c, failed = m.compare(keys[i], keys[j]); c != 0 {
				return c
			}
		}
		return i - j // equal keys stay in order
	})
	if failed != nil {
		return failed
	}
	oldKeys, oldItems := slices.Clone(keys), slices.Clone(items)
	for to, from := range order {
		keys[to], items[to] = oldKeys[from], oldItems[from]
	}
	return nil
}

// appendJqNumber writes a double with the fewest digits that read back the
// same, in the form of jq: plain unless many zeros would have to be added.
func appendJqNumber(b []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(b, "null"...)
	case math.IsInf(f, 0):
		f = math.Copysign(math.MaxFloat64, f)
	case f == math.Trunc(f) && math.Abs(f) < 1e15:
		if f == 0 && math.Signbit(f) {
			return append(b, "-0"...)
		}
		return strconv.AppendInt(b, int64(f), 10)
	}
	var buf [32]byte
	e := strconv.AppendFloat(buf[:0], f, 'e', -1, 64)
	mark := strings.IndexByte(string(e), 'e')
	exp, _ := strconv.Atoi(string(e[mark+1:]))
	digits := mark
	if e[0] == '-' {
		digits--
	}
	if digits > 1 {
		digits-- // the point
	}
	if point := exp + 1; point <= -4 || point > digits+15 {
		return append(b, e...)
	}
	return strconv.AppendFloat(b, f, 'f', -1, 64)
}
