package jq

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
)

// The values of jq: nil, bool, float64, Big, string, *Array, *Object.
// They are never changed once another value can refer to them.

// A Big is an integer that a double cannot hold, kept as it was written
// until it is used in a calculation.
type Big struct {
	Text  string
	float float64
}

// An Array is a list. The newest array grown from a common part may grow in
// place, so that adding to the end again and again stays cheap.
type Array struct {
	Items    []any
	growable bool
	mark     uint32 // the last trace that saw it
	whole    int    // items of the array that this one is a part of, as they stay in memory with it
	Origin   any    // what it was read from, for writing it in the same style
}

func NewArray(items ...any) *Array { return &Array{Items: items} }

// with returns the array with more items at its end.
func (a *Array) with(more []any) *Array {
	if !a.growable {
		grown := make([]any, len(a.Items), max(2*len(a.Items), len(a.Items)+len(more)))
		copy(grown, a.Items)
		return &Array{Items: append(grown, more...), growable: true, Origin: a.Origin}
	}
	a.growable = false
	return &Array{Items: append(a.Items, more...), growable: true, Origin: a.Origin}
}

// An Object keeps its keys in the order they came, as jq does.
type Object struct {
	Keys   []string
	Vals   []any
	index  keyIndex // nil while there are few keys
	mark   uint32   // the last trace that saw it
	Origin any      // as of an Array; a changed copy keeps it
}

// A keyIndex finds keys. Objects that grew from one another share it: a
// position beyond an object's own length belongs to a longer one.
type keyIndex map[string]int

const fewKeys = 12

func NewObject(size int) *Object {
	return &Object{Keys: make([]string, 0, size), Vals: make([]any, 0, size)}
}

func (o *Object) Find(key string) int {
	if o.index == nil {
		return slices.Index(o.Keys, key)
	}
	if at, ok := o.index[key]; ok && at < len(o.Keys) {
		return at
	}
	return -1
}

func (o *Object) get(key string) (any, bool) {
	if at := o.Find(key); at >= 0 {
		return o.Vals[at], true
	}
	return nil, false
}

// Put changes the object itself; only its maker may call it.
func (o *Object) Put(key string, v any) {
	if at := o.Find(key); at >= 0 {
		o.Vals[at] = v
		return
	}
	if o.index != nil && len(o.index) != len(o.Keys) {
		o.index = nil // a longer relative took the places that follow
	}
	if o.index == nil && len(o.Keys) >= fewKeys {
		o.buildIndex(2 * len(o.Keys))
	}
	if o.index != nil {
		o.index[key] = len(o.Keys)
	}
	o.Keys = append(o.Keys, key)
	o.Vals = append(o.Vals, v)
}

// drop removes a key; only the maker may call it.
func (o *Object) drop(key string) {
	if at := o.Find(key); at >= 0 {
		o.Keys = slices.Delete(slices.Clone(o.Keys), at, at+1)
		o.Vals = slices.Delete(slices.Clone(o.Vals), at, at+1)
		o.index = nil
		if len(o.Keys) > fewKeys {
			o.buildIndex(len(o.Keys))
		}
	}
}

func (o *Object) buildIndex(size int) {
	o.index = make(keyIndex, size)
	for i, k := range o.Keys {
		o.index[k] = i
	}
}

// clone returns a copy that may be changed.
func (o *Object) clone() *Object {
	c := &Object{Keys: slices.Clip(o.Keys), Vals: slices.Clone(o.Vals), index: o.index, Origin: o.Origin}
	if o.index != nil && len(o.index) != len(o.Keys) {
		c.index = nil
	}
	if c.index == nil && len(c.Keys) > fewKeys {
		c.buildIndex(len(c.Keys))
	}
	return c
}

// sorted returns the keys in order of code points.
func (o *Object) sorted() []string {
	keys := slices.Clone(o.Keys)
	slices.Sort(keys)
	return keys
}

func typeOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case float64, Big:
		return "number"
	case string:
		return "string"
	case *Array:
		return "array"
	}
	return "object"
}

func isContainer(v any) bool {
	switch v.(type) {
	case *Array, *Object:
		return true
	}
	return false
}

// Truthy reports whether v is neither null nor false.
func Truthy(v any) bool { return v != nil && v != false }

// floatOf is the number as a double.
func floatOf(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case Big:
		return v.float, true
	}
	return 0, false
}

// clampInt turns a number into an index or count, within what an int can hold.
func clampInt(f float64) int {
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

var typeOrder = map[string]int{"null": 0, "boolean": 1, "number": 3, "string": 4, "array": 5, "object": 6}

// compare orders values as jq does. It counts its steps: values that share
// their parts can be far larger to walk through than to hold.
func (u *Usage) compare(a, b any) int {
	u.step()
	switch x := a.(type) {
	case float64:
		if y, ok := b.(float64); ok {
			return compareFloat(x, y)
		}
	case string:
		if y, ok := b.(string); ok {
			u.Spend(int64(min(len(x), len(y))))
			return strings.Compare(x, y)
		}
	case *Array:
		if y, ok := b.(*Array); ok {
			return u.compareArrays(x, y)
		}
	case *Object:
		if y, ok := b.(*Object); ok {
			return u.compareObjects(x, y)
		}
	}
	ta, tb := typeOf(a), typeOf(b)
	switch {
	case ta != tb:
		return typeOrder[ta] - typeOrder[tb]
	case a == b:
		return 0
	case ta == "boolean" && a == true:
		return 1
	case ta == "boolean":
		return -1
	}
	fx, _ := floatOf(a)
	fy, _ := floatOf(b)
	return compareFloat(fx, fy)
}

// compareFloat puts NaN below everything, as jq does.
func compareFloat(x, y float64) int {
	switch {
	case x < y || math.IsNaN(x):
		return -1
	case x == y:
		return 0
	}
	return 1
}

func (u *Usage) compareArrays(x, y *Array) int {
	if x == y {
		return 0
	}
	at := u.invoke()
	defer u.returned(at)
	return slices.CompareFunc(x.Items, y.Items, u.compare)
}

// compareObjects compares the sets of keys first, then the values key by key.
func (u *Usage) compareObjects(x, y *Object) int {
	if x == y {
		return 0
	}
	at := u.invoke()
	defer u.returned(at)
	u.Spend(256 * int64(len(x.Keys)+len(y.Keys)))
	keys := x.sorted()
	if c := slices.Compare(keys, y.sorted()); c != 0 {
		return c
	}
	for _, k := range keys {
		vx, _ := x.get(k)
		vy, _ := y.get(k)
		if c := u.compare(vx, vy); c != 0 {
			return c
		}
	}
	return 0
}

// sort orders items by keys of the same length, stably.
func (u *Usage) sort(keys, items []any) {
	u.Alloc(int64(len(items)) * 40)
	order := make([]int, len(items))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int {
		return cmp.Or(u.compare(keys[i], keys[j]), i-j) // equal keys stay in order
	})
	oldKeys, oldItems := slices.Clone(keys), slices.Clone(items)
	for to, from := range order {
		keys[to], items[to] = oldKeys[from], oldItems[from]
	}
}

// AppendNumber writes a double with the fewest digits that read back the
// same, in the form of jq: plain unless many zeros would have to be added.
func AppendNumber(b []byte, f float64) []byte {
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
