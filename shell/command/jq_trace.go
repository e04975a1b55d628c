package command

import "reflect"

// What values take in memory, in bytes. Go rounds sizes up; so does this.
const (
	jqItemSize   = 16  // a place in an array, a key, a value of an object
	jqArraySize  = 64  // an array without its items
	jqObjectSize = 112 // an object without its keys
	jqIndexSize  = 56  // a key in the index of a large object
	jqPathSize   = 48  // one level of a path
	jqLongText   = 64  // text from this length on is counted once, however many refer to it
)

// A jqTracer measures values. Containers and paths carry the number of the last
// trace that saw them, so nothing is counted twice; its own stack keeps deep
// values off Go's.
type jqTracer struct {
	epoch uint32
	size  int64
	most  int64 // stop when size passes this
	work  []any
	texts map[uintptr]struct{} // where the long ones are
}

// trace sets count to what lives. What was counted by native functions that
// are still at work lives too.
func (m *jqMeter) trace() error {
	m.epoch++
	t := &jqTracer{epoch: m.epoch, most: m.call.Limiter.Limits().Memory, texts: map[uintptr]struct{}{}}
	t.value(m.extra)
	if m.waiting != nil {
		t.items(*m.waiting)
	}
	for _, root := range m.roots {
		t.value(root.v)
		t.path(root.p)
	}
	t.drain()
	live := t.size + m.fixed
	if m.pins > 0 {
		live, m.pinAt = live+m.count-m.pinAt, live
	}
	m.count = min(live, m.count)
	m.pinAt = min(m.pinAt, m.count)
	m.next = max(2*m.count, m.count+jqSlice)
	if spare := m.held - m.count - jqSlack; spare > 0 {
		m.call.Limiter.Hold(-spare)
		m.held -= spare
	}
	return m.check()
}

// value counts a scalar and leaves a container for later.
func (t *jqTracer) value(v any) {
	switch v := v.(type) {
	case nil, bool:
	case float64:
		t.size += 8
	case string:
		t.size += 16
		t.text(v)
	case jqBig:
		t.size += 32 + int64(len(v.text))
	default:
		t.work = append(t.work, v)
	}
}

func (t *jqTracer) text(s string) {
	if len(s) >= jqLongText {
		data := reflect.ValueOf(s).Pointer()
		if _, seen := t.texts[data]; seen {
			return
		}
		t.texts[data] = struct{}{}
		t.size += 16
	}
	t.size += int64(len(s))
}

func (t *jqTracer) path(p *jqPath) {
	for ; p != nil && p.mark != t.epoch && p != jqBadPath; p = p.up {
		p.mark = t.epoch
		t.size += jqPathSize
		t.value(p.key)
	}
}

// drain counts the containers that were left for later.
func (t *jqTracer) drain() {
	for len(t.work) > 0 && t.size <= t.most {
		last := len(t.work) - 1
		v := t.work[last]
		t.work = t.work[:last]
		switch v := v.(type) {
		case *jqArray:
			t.array(v)
		case *jqObject:
			t.object(v)
		case *[]any: // results that are being collected
			t.items(*v)
		case *[]jqRoot:
			for _, root := range *v {
				t.size += 24
				t.value(root.v)
				t.path(root.p)
			}
		case jqOwner:
			for made := range v {
				t.size += 40
				t.value(made)
			}
		}
	}
}

func (t *jqTracer) items(items []any) {
	t.size += jqItemSize * int64(cap(items))
	for _, item := range items {
		t.value(item)
	}
}

func (t *jqTracer) array(a *jqArray) {
	if a == nil || a.mark == t.epoch {
		return
	}
	a.mark = t.epoch
	t.size += jqArraySize + jqItemSize*int64(max(0, a.whole-cap(a.items)))
	t.items(a.items)
}

func (t *jqTracer) object(o *jqObject) {
	if o == nil || o.mark == t.epoch {
		return
	}
	o.mark = t.epoch
	t.size += jqObjectSize + jqItemSize*int64(cap(o.keys))
	if o.index != nil {
		t.size += jqIndexSize * int64(len(o.keys))
	}
	for _, key := range o.keys {
		t.text(key)
	}
	t.items(o.vals)
}
