package jq

import "reflect"

// What values take in memory, in bytes. Go rounds sizes up; so does this.
const (
	itemSize   = 16  // a place in an array, a key, a value of an object
	arraySize  = 64  // an array without its items
	objectSize = 112 // an object without its keys
	indexSize  = 56  // a key in the index of a large object
	pathSize   = 48  // one level of a path
	longText   = 64  // text from this length on is counted once, however many refer to it
)

// A tracer measures values. Containers and paths carry the number of the last
// trace that saw them, so nothing is counted twice; its own stack keeps deep
// values off Go's.
type tracer struct {
	epoch uint32
	size  int64
	most  int64 // stop when size passes this
	work  []any
	texts map[uintptr]struct{} // where the long ones are
}

// trace sets count to the size of the live values. What running native functions
// counted is live too.
func (u *Usage) trace() {
	u.epoch++
	t := &tracer{epoch: u.epoch, most: u.host.Limiter.Limits().Memory, texts: map[uintptr]struct{}{}}
	t.value(u.extra)
	if u.Waiting != nil {
		t.items(*u.Waiting)
	}
	for _, root := range u.roots {
		t.value(root.v)
		t.path(root.p)
	}
	t.drain()
	live := t.size + u.Fixed
	if u.pins > 0 {
		live, u.pinAt = live+u.count-u.pinAt, live
	}
	u.count = min(live, u.count)
	u.pinAt = min(u.pinAt, u.count)
	u.next = max(2*u.count, u.count+traceInterval)
	if spare := u.held - u.count - slack; spare > 0 {
		u.host.Limiter.Hold(-spare)
		u.held -= spare
	}
	u.check()
}

// value counts a scalar and leaves a container for later.
func (t *tracer) value(v any) {
	switch v := v.(type) {
	case nil, bool:
	case float64:
		t.size += 8
	case string:
		t.size += 16
		t.text(v)
	case Big:
		t.size += 32 + int64(len(v.Text))
	default:
		t.work = append(t.work, v)
	}
}

func (t *tracer) text(s string) {
	if len(s) >= longText {
		data := reflect.ValueOf(s).Pointer()
		if _, seen := t.texts[data]; seen {
			return
		}
		t.texts[data] = struct{}{}
		t.size += 16
	}
	t.size += int64(len(s))
}

func (t *tracer) path(p *valuePath) {
	for ; p != nil && p.mark != t.epoch && p != noPath; p = p.up {
		p.mark = t.epoch
		t.size += pathSize
		t.value(p.key)
	}
}

// drain counts the containers that were left for later.
func (t *tracer) drain() {
	for len(t.work) > 0 && t.size <= t.most {
		last := len(t.work) - 1
		v := t.work[last]
		t.work = t.work[:last]
		switch v := v.(type) {
		case *Array:
			t.array(v)
		case *Object:
			t.object(v)
		case *[]any: // results that are being collected
			t.items(*v)
		case *[]rootEntry:
			for _, root := range *v {
				t.size += 24
				t.value(root.v)
				t.path(root.p)
			}
		case owner:
			for made := range v {
				t.size += 40
				t.value(made)
			}
		}
	}
}

func (t *tracer) items(items []any) {
	t.size += itemSize * int64(cap(items))
	for _, item := range items {
		t.value(item)
	}
}

func (t *tracer) array(a *Array) {
	if a == nil || a.mark == t.epoch {
		return
	}
	a.mark = t.epoch
	t.size += arraySize + itemSize*int64(max(0, a.whole-cap(a.Items)))
	t.items(a.Items)
}

func (t *tracer) object(o *Object) {
	if o == nil || o.mark == t.epoch {
		return
	}
	o.mark = t.epoch
	t.size += objectSize + itemSize*int64(cap(o.Keys))
	if o.index != nil {
		t.size += indexSize * int64(len(o.Keys))
	}
	for _, key := range o.Keys {
		t.text(key)
	}
	t.items(o.Vals)
}
