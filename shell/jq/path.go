package jq

import (
	"math"
	"slices"

	"github.com/itchyny/gojq"
)

// A valuePath is where a value was found, from the inside out. The root has no
// key. nil means that no paths are needed, noPath that the value was computed.
type valuePath struct {
	key  any
	up   *valuePath
	mark uint32 // the last trace that saw it
}

var noPath = &valuePath{}

// computed is the path of a computed value.
func (p *valuePath) computed() *valuePath {
	if p == nil {
		return nil
	}
	return noPath
}

// child is the path of an item of the value at p.
func (r *Run) child(p *valuePath, key any) *valuePath {
	if p == nil {
		return nil
	}
	r.Alloc(pathSize)
	return &valuePath{key: key, up: p}
}

// keys is the path from the outside in.
func (p *valuePath) keys() []any {
	var keys []any
	for ; p.up != nil; p = p.up {
		keys = append(keys, p.key)
	}
	slices.Reverse(keys)
	return keys
}

// index compiles .name, ."text", .[x] and .[a:b] after a term. optional yields
// nothing where indexing fails.
func (c *compiler) index(f Filter, x *gojq.Index, optional bool) Filter {
	switch {
	case x.Name != "":
		return c.run.at(f, constant(x.Name), optional)
	case x.Str != nil:
		return c.run.at(f, c.text(x.Str, ""), optional)
	case !x.IsSlice:
		return c.run.at(f, c.query(x.Start), optional)
	}
	from, to := c.optionalQuery(x.Start, constant(nil)), c.optionalQuery(x.End, constant(nil))
	slice := func(e *scope, v any, _ *valuePath, out emit) error {
		return to(e, v, nil, func(end any, _ *valuePath) error {
			return from(e, v, nil, func(start any, _ *valuePath) error {
				key := NewObject(2)
				key.Put("start", start)
				key.Put("end", end)
				return out(key, nil)
			})
		})
	}
	return c.run.at(f, slice, optional)
}

// at looks up every key in every result of f.
func (r *Run) at(f, key Filter, optional bool) Filter {
	return func(e *scope, v any, p *valuePath, out emit) error {
		at := r.Enter()
		err := f(e, v, p, func(x any, xp *valuePath) error {
			r.roots[at] = rootEntry{x, xp}
			return key(e, v, nil, func(k any, _ *valuePath) error {
				if xp == noPath {
					return r.invalidAccess(x, k)
				}
				item, err := r.indexValue(x, k)
				if _, ok := err.(*Error); ok && optional {
					return nil
				}
				if err != nil {
					return err
				}
				return out(item, r.child(xp, k))
			})
		})
		r.Leave(at)
		return err
	}
}

func (r *Run) invalidAccess(x, key any) error {
	return r.fail("Invalid path expression near attempt to access element %s of %s", r.preview(key), r.preview(x))
}

// iterate compiles .[].
func (r *Run) iterate(f Filter, optional bool) Filter {
	return func(e *scope, v any, p *valuePath, out emit) error {
		at := r.Enter()
		err := f(e, v, p, func(x any, xp *valuePath) error {
			if optional && !isContainer(x) {
				return nil
			}
			r.roots[at] = rootEntry{x, xp}
			return r.each(x, xp, out)
		})
		r.Leave(at)
		return err
	}
}

// each gives all items of an array or object.
func (r *Run) each(x any, xp *valuePath, out emit) error {
	if xp == noPath {
		return r.fail("Invalid path expression near attempt to iterate through %s", r.preview(x))
	}
	switch x := x.(type) {
	case *Array:
		for i, item := range x.Items {
			r.step()
			var ip *valuePath
			if xp != nil {
				ip = r.child(xp, float64(i))
			}
			if err := out(item, ip); err != nil {
				return err
			}
		}
		return nil
	case *Object:
		for i, key := range x.Keys {
			r.step()
			var ip *valuePath
			if xp != nil {
				ip = r.child(xp, key)
			}
			if err := out(x.Vals[i], ip); err != nil {
				return err
			}
		}
		return nil
	}
	return r.fail("Cannot iterate over %s", r.describe(x))
}

// indexValue is v[key].
func (r *Run) indexValue(v, key any) (any, error) {
	switch x := v.(type) {
	case *Object:
		if k, ok := key.(string); ok {
			item, _ := x.get(k)
			return item, nil
		}
	case *Array:
		if n, ok := floatOf(key); ok {
			return itemAt(x.Items, n), nil
		}
		if k, ok := key.(*Array); ok {
			return r.indices(x, k), nil
		}
	case nil:
		switch key.(type) {
		case string, float64, Big, nil:
			return nil, nil
		}
	}
	if k, ok := key.(*Object); ok {
		return r.slice(v, k)
	}
	if k, ok := key.(string); ok {
		return nil, r.fail("Cannot index %s with string \"%s\"", typeOf(v), k)
	}
	return nil, r.fail("Cannot index %s with %s", typeOf(v), typeOf(key))
}

func itemAt(items []any, n float64) any {
	i := clampInt(n)
	if i < 0 {
		i += len(items)
	}
	if i < 0 || i >= len(items) || math.IsNaN(n) {
		return nil
	}
	return items[i]
}

// slice is v[start:end].
func (r *Run) slice(v any, key *Object) (any, error) {
	switch x := v.(type) {
	case nil:
		return nil, nil
	case *Array:
		from, to, err := r.bounds(key, len(x.Items))
		if err != nil {
			return nil, err
		}
		return r.part(x, from, to)
	case string:
		r.Alloc(4 * int64(len(x)))
		runes := []rune(x)
		from, to, err := r.bounds(key, len(runes))
		if err != nil {
			return nil, err
		}
		return string(runes[from:to]), nil
	}
	return nil, r.fail("Cannot index %s with object", typeOf(v))
}

// part is a slice of an array. It shares the items unless it is small: a small
// part would keep all of a large array in memory.
func (r *Run) part(a *Array, from, to int) (any, error) {
	whole := max(a.whole, cap(a.Items))
	if 2*(to-from) >= whole {
		return &Array{Items: a.Items[from:to:to], whole: whole}, nil
	}
	r.Alloc(itemSize * int64(to-from))
	return NewArray(slices.Clone(a.Items[from:to])...), nil
}

// bounds turns the ends of a slice into positions.
func (r *Run) bounds(key *Object, n int) (from, to int, err error) {
	position := func(name string, missing int, round func(float64) float64) int {
		v, _ := key.get(name)
		f, ok := floatOf(v)
		switch {
		case v == nil:
			return missing
		case !ok:
			err = r.fail("Start and end indices of an array slice must be numbers")
		case f < 0:
			f += float64(n)
		}
		return min(max(clampInt(round(f)), 0), n)
	}
	from, to = position("start", 0, math.Floor), position("end", n, math.Ceil)
	return from, max(from, to), err
}

// getpath follows keys; below null everything is null.
func (r *Run) getpath(v any, keys []any) (any, error) {
	for _, k := range keys {
		if v == nil {
			return nil, nil
		}
		var err error
		if v, err = r.indexValue(v, k); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// An owner is the set of containers that one update made itself, which it
// may change in place.
type owner map[any]bool

// setpath returns v with the value at the path replaced.
func (r *Run) setpath(v any, keys []any, to any, own owner) (any, error) {
	if len(keys) == 0 {
		return to, nil
	}
	at := r.invoke()
	defer r.returned(at)
	key := keys[0]
	if k, ok := key.(*Object); ok {
		return r.setSlice(v, k, keys[1:], to, own)
	}
	old, err := r.indexValue(v, key)
	if err != nil {
		return nil, err
	}
	item, err := r.setpath(old, keys[1:], to, own)
	if err != nil {
		return nil, err
	}
	switch k := key.(type) {
	case string:
		o := r.ownObject(v, own)
		o.Put(k, item)
		return o, nil
	case float64:
		return r.setItem(v, clampInt(k), item, own)
	}
	return nil, r.fail("Invalid path component %s", r.preview(key))
}

func (r *Run) ownObject(v any, own owner) *Object {
	o, _ := v.(*Object)
	if own[o] && o != nil {
		r.Alloc(40)
		return o
	}
	if o == nil {
		o = &Object{}
	}
	r.Alloc(int64(64 + 20*len(o.Keys)))
	o = o.clone()
	if own != nil {
		own[o] = true
	}
	return o
}

func (r *Run) setItem(v any, i int, item any, own owner) (any, error) {
	a, _ := v.(*Array)
	if a == nil {
		a = NewArray()
	}
	n := len(a.Items)
	if i < 0 {
		if i += n; i < 0 {
			return nil, r.fail("Out of bounds negative array index")
		}
	}
	size := max(n, i+1)
	if own[a] && size <= cap(a.Items) {
		a.Items = a.Items[:size]
		a.Items[i] = item
		return a, nil
	}
	r.Alloc(20*int64(size) + arraySize)
	items := make([]any, size, size+size/4)
	copy(items, a.Items)
	items[i] = item
	made := &Array{Items: items, Origin: a.Origin}
	if own != nil {
		delete(own, a)
		own[made] = true
	}
	return made, nil
}

func (r *Run) setSlice(v any, key *Object, rest []any, to any, own owner) (any, error) {
	if _, ok := v.(*Array); !ok && v != nil {
		return nil, r.fail("Cannot update field at object index of %s", typeOf(v))
	}
	old, err := r.slice(v, key)
	if err != nil {
		return nil, err
	}
	if to, err = r.setpath(old, rest, to, own); err != nil {
		return nil, err
	}
	part, ok := to.(*Array)
	if !ok {
		return nil, r.fail("A slice of an array can only be assigned another array")
	}
	a, _ := v.(*Array)
	if a == nil {
		a = NewArray()
	}
	from, until, err := r.bounds(key, len(a.Items))
	if err != nil {
		return nil, err
	}
	r.Alloc(16 * int64(len(a.Items)+len(part.Items)))
	return NewArray(slices.Concat(a.Items[:from], part.Items, a.Items[until:])...), nil
}

// delpaths deletes paths, the last ones first so that the earlier ones
// stay valid.
func (r *Run) delpaths(v any, paths []any) (any, error) {
	r.Pin()
	defer r.Unpin()
	r.sort(slices.Clone(paths), paths)
	own := owner{}
	for i := len(paths) - 1; i >= 0; i-- {
		keys, ok := paths[i].(*Array)
		if !ok {
			return nil, r.fail("Path must be specified as an array")
		}
		var err error
		if v, err = r.delpath(v, keys.Items, own); err != nil {
			return nil, err
		}
	}
	return v, nil
}

func (r *Run) delpath(v any, keys []any, own owner) (any, error) {
	if v == nil || len(keys) == 0 {
		return nil, nil
	}
	at := r.invoke()
	defer r.returned(at)
	if len(keys) > 1 {
		old, err := r.indexValue(v, keys[0])
		if err != nil || old == nil {
			return v, err
		}
		item, err := r.delpath(old, keys[1:], own)
		if err != nil {
			return nil, err
		}
		return r.setpath(v, keys[:1], item, own)
	}
	switch x := v.(type) {
	case *Object:
		if k, ok := keys[0].(string); ok {
			if x.Find(k) < 0 {
				return x, nil
			}
			o := r.ownObject(x, own)
			o.drop(k)
			return o, nil
		}
		return nil, r.fail("Cannot delete %s field of object", typeOf(keys[0]))
	case *Array:
		return r.delItem(x, keys[0], own)
	}
	return nil, r.fail("Cannot delete fields from %s", typeOf(v))
}

func (r *Run) delItem(a *Array, key any, own owner) (any, error) {
	from, to := 0, 0
	switch k := key.(type) {
	case float64:
		if from = clampInt(k); from < 0 {
			from += len(a.Items)
		}
		if from < 0 || from >= len(a.Items) {
			return a, nil
		}
		to = from + 1
	case *Object:
		var err error
		if from, to, err = r.bounds(k, len(a.Items)); err != nil {
			return nil, err
		}
	default:
		return nil, r.fail("Cannot delete %s element of array", typeOf(key))
	}
	if !own[a] {
		r.Alloc(16 * int64(len(a.Items)))
		a = NewArray(slices.Clone(a.Items)...)
		own[a] = true
	}
	a.Items = slices.Delete(a.Items, from, to)
	return a, nil
}

// Events yields the events of a value for --stream: [path, leaf], and [path] where a
// container ends.
func (r *Run) Events(v any, keys []any, out func(any)) {
	at := r.invoke()
	defer r.returned(at)
	r.Alloc(int64(160 + 32*len(keys)))
	var last any
	empty := true
	if isContainer(v) {
		r.each(v, &valuePath{}, func(x any, p *valuePath) error {
			last, empty = p.key, false
			r.Events(x, append(slices.Clip(keys), p.key), out)
			return nil
		})
	}
	if empty {
		out(NewArray(NewArray(keys...), v))
	} else {
		out(NewArray(NewArray(append(slices.Clip(keys), last)...)))
	}
}
