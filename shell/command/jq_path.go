package command

import (
	"math"
	"slices"

	"github.com/itchyny/gojq"
)

// A jqPath is where a value was found, from the inside out. The root has no
// key. A value that was calculated rather than found has a path that is bad.
type jqPath struct {
	key  any
	up   *jqPath
	mark uint32 // the last trace that saw it
}

var jqBadPath = &jqPath{}

// lost is the path of a calculated value: none if nobody wants paths.
func (p *jqPath) lost() *jqPath {
	if p == nil {
		return nil
	}
	return jqBadPath
}

func (p *jqPath) to(key any) *jqPath {
	if p == nil {
		return nil
	}
	return &jqPath{key: key, up: p}
}

// keys is the path from the outside in.
func (p *jqPath) keys() []any {
	var keys []any
	for ; p.up != nil; p = p.up {
		keys = append(keys, p.key)
	}
	slices.Reverse(keys)
	return keys
}

// index compiles .name, ."text", .[x] and .[a:b] after a term. lax finds
// nothing where indexing fails.
func (c *jqCompiler) index(f jqFilter, x *gojq.Index, lax bool) (jqFilter, error) {
	switch {
	case x.Name != "":
		return c.run.at(f, jqConst(x.Name), lax), nil
	case x.Str != nil:
		key, err := c.text(x.Str, "")
		return c.run.at(f, key, lax), err
	case !x.IsSlice:
		key, err := c.query(x.Start)
		return c.run.at(f, key, lax), err
	}
	from, to := jqConst(nil), jqConst(nil)
	var err error
	if x.Start != nil {
		if from, err = c.query(x.Start); err != nil {
			return nil, err
		}
	}
	if x.End != nil {
		if to, err = c.query(x.End); err != nil {
			return nil, err
		}
	}
	run := c.run
	slice := func(e *jqEnv, v any, _ *jqPath, out jqOut) error {
		return to(e, v, nil, func(end any, _ *jqPath) error {
			return from(e, v, nil, func(start any, _ *jqPath) error {
				key := newJqObject(2)
				key.put("start", start)
				key.put("end", end)
				return out(key, nil)
			})
		})
	}
	return run.at(f, slice, lax), nil
}

// at looks up every key in every result of f.
func (r *jqRun) at(f, key jqFilter, lax bool) jqFilter {
	return func(e *jqEnv, v any, p *jqPath, out jqOut) error {
		at, err := r.enter()
		if err != nil {
			return err
		}
		err = f(e, v, p, func(x any, xp *jqPath) error {
			r.roots[at] = jqRoot{x, xp}
			return key(e, v, nil, func(k any, _ *jqPath) error {
				if xp == jqBadPath {
					return r.fail("Invalid path expression near attempt to access element %s of %s", r.preview(k), r.preview(x))
				}
				item, err := r.indexValue(x, k)
				if _, ok := err.(*jqError); ok && lax {
					return nil
				}
				if err == nil && xp != nil {
					err = r.alloc(jqPathSize)
				}
				if err != nil {
					return err
				}
				return out(item, xp.to(k))
			})
		})
		r.leave(at)
		return err
	}
}

// iterate compiles .[].
func (r *jqRun) iterate(f jqFilter, lax bool) jqFilter {
	return func(e *jqEnv, v any, p *jqPath, out jqOut) error {
		at, err := r.enter()
		if err != nil {
			return err
		}
		err = f(e, v, p, func(x any, xp *jqPath) error {
			if t := jqType(x); lax && t != "array" && t != "object" {
				return nil
			}
			r.roots[at] = jqRoot{x, xp}
			return r.each(x, xp, out)
		})
		r.leave(at)
		return err
	}
}

// each gives all items of an array or object.
func (r *jqRun) each(x any, xp *jqPath, out jqOut) error {
	if xp == jqBadPath {
		return r.fail("Invalid path expression near attempt to iterate through %s", r.preview(x))
	}
	switch x := x.(type) {
	case *jqArray:
		for i, item := range x.items {
			if err := r.step(); err != nil {
				return err
			}
			var ip *jqPath
			if xp != nil {
				if err := r.alloc(jqPathSize); err != nil {
					return err
				}
				ip = xp.to(float64(i))
			}
			if err := out(item, ip); err != nil {
				return err
			}
		}
		return nil
	case *jqObject:
		for i, key := range x.keys {
			if err := r.step(); err != nil {
				return err
			}
			if xp != nil {
				if err := r.alloc(jqPathSize); err != nil {
					return err
				}
			}
			if err := out(x.vals[i], xp.to(key)); err != nil {
				return err
			}
		}
		return nil
	}
	return r.fail("Cannot iterate over %s (%s)", jqType(x), r.preview(x))
}

// indexValue is v[key].
func (r *jqRun) indexValue(v, key any) (any, error) {
	switch x := v.(type) {
	case *jqObject:
		if k, ok := key.(string); ok {
			item, _ := x.get(k)
			return item, nil
		}
	case *jqArray:
		if n, ok := jqFloat(key); ok {
			return jqItem(x.items, n), nil
		}
		if k, ok := key.(*jqArray); ok {
			return r.indices(x, k)
		}
	case nil:
		switch key.(type) {
		case string, float64, jqBig, nil:
			return nil, nil
		}
	}
	if k, ok := key.(*jqObject); ok {
		return r.slice(v, k)
	}
	if k, ok := key.(string); ok {
		return nil, r.fail("Cannot index %s with string \"%s\"", jqType(v), k)
	}
	return nil, r.fail("Cannot index %s with %s", jqType(v), jqType(key))
}

func jqItem(items []any, n float64) any {
	i := jqInt(n)
	if i < 0 {
		i += len(items)
	}
	if i < 0 || i >= len(items) || math.IsNaN(n) {
		return nil
	}
	return items[i]
}

// slice is v[start:end].
func (r *jqRun) slice(v any, key *jqObject) (any, error) {
	start, _ := key.get("start")
	end, _ := key.get("end")
	switch x := v.(type) {
	case nil:
		return nil, nil
	case *jqArray:
		from, to, err := r.bounds(start, end, len(x.items))
		if err != nil {
			return nil, err
		}
		return r.part(x, from, to)
	case string:
		runes := []rune(nil)
		if err := r.alloc(4 * int64(len(x))); err != nil {
			return nil, err
		}
		runes = []rune(x)
		from, to, err := r.bounds(start, end, len(runes))
		if err != nil {
			return nil, err
		}
		return string(runes[from:to]), nil
	}
	return nil, r.fail("Cannot index %s with object", jqType(v))
}

// part is a slice of an array. It shares the items unless it is small: a small
// part would keep all of a large array in memory.
func (r *jqRun) part(a *jqArray, from, to int) (any, error) {
	whole := max(a.whole, cap(a.items))
	if 2*(to-from) >= whole {
		return &jqArray{items: a.items[from:to:to], whole: whole}, nil
	}
	if err := r.alloc(jqItemSize * int64(to-from)); err != nil {
		return nil, err
	}
	return newJqArray(slices.Clone(a.items[from:to])...), nil
}

// bounds turns the ends of a slice into positions.
func (r *jqRun) bounds(start, end any, n int) (from, to int, err error) {
	place := func(v any, otherwise int, round func(float64) float64) (int, error) {
		if v == nil {
			return otherwise, nil
		}
		f, ok := jqFloat(v)
		if !ok {
			return 0, r.fail("Start and end indices of an array slice must be numbers")
		}
		if f < 0 {
			f += float64(n)
		}
		return min(max(jqInt(round(f)), 0), n), nil
	}
	if from, err = place(start, 0, math.Floor); err != nil {
		return 0, 0, err
	}
	if to, err = place(end, n, math.Ceil); err != nil {
		return 0, 0, err
	}
	return from, max(from, to), nil
}

// getpath follows keys; below null everything is null.
func (r *jqRun) getpath(v any, keys []any) (any, error) {
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

// A jqOwner remembers the containers that one update made itself, which it
// may change in place.
type jqOwner map[any]bool

// setpath returns v with the value at the path replaced.
func (r *jqRun) setpath(v any, keys []any, to any, own jqOwner) (any, error) {
	if len(keys) == 0 {
		return to, nil
	}
	at, err := r.invoke()
	if err != nil {
		return nil, err
	}
	defer r.returned(at)
	key := keys[0]
	if k, ok := key.(*jqObject); ok {
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
		o, err := r.ownObject(v, own)
		if err != nil {
			return nil, err
		}
		o.put(k, item)
		return o, nil
	case float64:
		return r.setItem(v, jqInt(k), item, own)
	}
	return nil, r.fail("Invalid path component %s", r.preview(key))
}

func (r *jqRun) ownObject(v any, own jqOwner) (*jqObject, error) {
	o, _ := v.(*jqObject)
	if own[o] && o != nil {
		return o, r.alloc(40)
	}
	if o == nil {
		o = &jqObject{}
	}
	if err := r.alloc(int64(64 + 20*len(o.keys))); err != nil {
		return nil, err
	}
	o = o.clone()
	if own != nil {
		own[o] = true
	}
	return o, nil
}

func (r *jqRun) setItem(v any, i int, item any, own jqOwner) (any, error) {
	a, _ := v.(*jqArray)
	if a == nil {
		a = newJqArray()
	}
	n := len(a.items)
	if i < 0 {
		if i += n; i < 0 {
			return nil, r.fail("Out of bounds negative array index")
		}
	}
	size := max(n, i+1)
	if own[a] && size <= cap(a.items) {
		a.items = a.items[:size]
		a.items[i] = item
		return a, nil
	}
	if err := r.alloc(20*int64(size) + jqArraySize); err != nil {
		return nil, err
	}
	items := make([]any, size, size+size/4)
	copy(items, a.items)
	items[i] = item
	made := &jqArray{items: items, origin: a.origin}
	if own != nil {
		delete(own, a)
		own[made] = true
	}
	return made, nil
}

func (r *jqRun) setSlice(v any, key *jqObject, rest []any, to any, own jqOwner) (any, error) {
	if _, ok := v.(*jqArray); !ok && v != nil {
		return nil, r.fail("Cannot update field at object index of %s", jqType(v))
	}
	old, err := r.slice(v, key)
	if err != nil {
		return nil, err
	}
	if to, err = r.setpath(old, rest, to, own); err != nil {
		return nil, err
	}
	part, ok := to.(*jqArray)
	if !ok {
		return nil, r.fail("A slice of an array can only be assigned another array")
	}
	a, _ := v.(*jqArray)
	if a == nil {
		a = newJqArray()
	}
	start, _ := key.get("start")
	end, _ := key.get("end")
	from, until, err := r.bounds(start, end, len(a.items))
	if err != nil {
		return nil, err
	}
	if err := r.alloc(16 * int64(len(a.items)+len(part.items))); err != nil {
		return nil, err
	}
	return newJqArray(slices.Concat(a.items[:from], part.items, a.items[until:])...), nil
}

// delpaths takes away many paths, the last ones first so that the earlier
// stay valid.
func (r *jqRun) delpaths(v any, paths []any) (any, error) {
	r.pin()
	defer r.unpin()
	if err := r.sort(slices.Clone(paths), paths); err != nil {
		return nil, err
	}
	own := jqOwner{}
	for i := len(paths) - 1; i >= 0; i-- {
		keys, ok := paths[i].(*jqArray)
		if !ok {
			return nil, r.fail("Path must be specified as an array")
		}
		var err error
		if v, err = r.delpath(v, keys.items, own); err != nil {
			return nil, err
		}
	}
	return v, nil
}

func (r *jqRun) delpath(v any, keys []any, own jqOwner) (any, error) {
	if v == nil || len(keys) == 0 {
		return nil, nil
	}
	at, err := r.invoke()
	if err != nil {
		return nil, err
	}
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
	case *jqObject:
		if k, ok := keys[0].(string); ok {
			if x.find(k) < 0 {
				return x, nil
			}
			o, err := r.ownObject(x, own)
			if err == nil {
				o.drop(k)
			}
			return o, err
		}
		return nil, r.fail("Cannot delete %s field of object", jqType(keys[0]))
	case *jqArray:
		return r.delItem(x, keys[0], own)
	}
	return nil, r.fail("Cannot delete fields from %s", jqType(v))
}

func (r *jqRun) delItem(a *jqArray, key any, own jqOwner) (any, error) {
	from, to := 0, 0
	switch k := key.(type) {
	case float64:
		if from = jqInt(k); from < 0 {
			from += len(a.items)
		}
		if from < 0 || from >= len(a.items) {
			return a, nil
		}
		to = from + 1
	case *jqObject:
		start, _ := k.get("start")
		end, _ := k.get("end")
		var err error
		if from, to, err = r.bounds(start, end, len(a.items)); err != nil {
			return nil, err
		}
	default:
		return nil, r.fail("Cannot delete %s element of array", jqType(key))
	}
	if !own[a] {
		if err := r.alloc(16 * int64(len(a.items))); err != nil {
			return nil, err
		}
		a = newJqArray(slices.Clone(a.items)...)
		own[a] = true
	}
	a.items = slices.Delete(a.items, from, to)
	return a, nil
}

// events takes a value apart for --stream: [path, leaf], and [path] where a
// container closes.
func (r *jqRun) events(v any, keys []any, out func(any)) error {
	at, err := r.invoke()
	if err != nil {
		return err
	}
	defer r.returned(at)
	if err := r.alloc(int64(160 + 32*len(keys))); err != nil {
		return err
	}
	var last any
	empty := true
	switch v.(type) {
	case *jqArray, *jqObject:
		err = r.each(v, &jqPath{}, func(x any, p *jqPath) error {
			last, empty = p.key, false
			return r.events(x, append(slices.Clip(keys), p.key), out)
		})
	}
	if err != nil {
		return err
	}
	if empty {
		out(newJqArray(newJqArray(keys...), v))
	} else {
		out(newJqArray(newJqArray(append(slices.Clip(keys), last)...)))
	}
	return nil
}
