package descriptors

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"hako/run/fault"
	"hako/shell/vfs"
)

const (
	firstInput   = 3
	firstDynamic = 10
)

// A descriptor is what a number stands for. Its fields never change; what they
// point to does.
type descriptor struct {
	fd    int
	name  string        // what it is
	facts string        // what else the map says about it
	in    *inlet        // nil: not open for reading
	out   outlet        // empty: not open for writing
	idle  bool          // it carries the messages of a script, which goes on if nobody wants them
	busy  chan struct{} // holds a token while a call uses it
}

// An outlet is the writing side of a descriptor: one of three, or none.
type outlet struct {
	pipe *pipe
	file *vfs.File
	sink *sink
}

// standard reports whether des is an output of the session. Those are shared
// with scripts rather than given up to them: they outlive every script.
func (des *descriptor) standard() bool { return des.out.sink != nil }

func (des *descriptor) direction() string {
	if des.in != nil {
		return "reading"
	}
	return "writing"
}

// place puts a descriptor at a number. The caller holds mu, or is alone.
func (d *Table) place(fd int, des *descriptor) int {
	des.fd, des.busy = fd, make(chan struct{}, 1)
	d.table[fd] = des
	return fd
}

// add gives a descriptor the next number. The caller holds mu, or is alone.
func (d *Table) add(des *descriptor) int {
	d.dynamic++
	return d.place(d.dynamic-1, des)
}

// find returns an open descriptor. The caller holds mu.
func (d *Table) find(op string, fd int) (*descriptor, error) {
	if des, ok := d.table[fd]; ok {
		return des, nil
	}
	if why, ok := d.gone[fd]; ok {
		return nil, fdFault(op, fd, why, d.openNow())
	}
	e := fdFault(op, fd, "invalid file descriptor", d.openNow())
	e.Kind = fault.NotFound
	return nil, e
}

// openNow lists the open descriptors as a hint. The caller holds mu.
func (d *Table) openNow() string {
	lists := map[string][]string{}
	for _, fd := range slices.Sorted(maps.Keys(d.table)) {
		way := d.table[fd].direction()
		if lists[way] = append(lists[way], strconv.Itoa(fd)); len(lists[way]) > 20 {
			lists[way] = append(lists[way][:20], "…")
		}
	}
	return "open for reading are " + listed(lists["reading"]) + "; for writing " + listed(lists["writing"])
}

func listed(numbers []string) string {
	if numbers == nil {
		return "none"
	}
	return strings.Join(numbers, ", ")
}

// forReading finds a descriptor that can be read. The caller holds mu.
func (d *Table) forReading(op string, fd int) (*descriptor, error) {
	des, err := d.find(op, fd)
	if err == nil && des.in == nil {
		return nil, fdFault(op, fd, "it is open for writing only: "+des.name, d.otherWay(des))
	}
	return des, err
}

// forWriting finds a descriptor that can be written. The caller holds mu.
func (d *Table) forWriting(op string, fd int) (*descriptor, error) {
	des, err := d.find(op, fd)
	if err == nil && des.in != nil {
		return nil, fdFault(op, fd, "it is open for reading only: "+des.name, d.otherWay(des))
	}
	return des, err
}

// otherWay hints at the descriptor that was meant. The caller holds mu.
func (d *Table) otherWay(des *descriptor) string {
	var s *script
	want, verb := "stdout", "read"
	if des.out.pipe != nil {
		s = des.out.pipe.to.script
	} else if des.in != nil && des.in.pipe != nil {
		s, want, verb = des.in.pipe.from.script, "stdin", "write to"
	}
	if s == nil {
		return d.openNow()
	}
	for _, fd := range slices.Sorted(maps.Keys(d.table)) {
		if name := d.table[fd].name; name == want+" of "+scriptName(s.pid) {
			return fmt.Sprintf("%s fd %d, the %s", verb, fd, name)
		}
	}
	return d.openNow()
}

// borrow finds a descriptor and keeps other calls from using it until release
// is called.
func (d *Table) borrow(ctx context.Context, op string, fd int, find func(string, int) (*descriptor, error)) (
	des *descriptor, release func(), err error) {
	d.mu.Lock()
	des, err = find(op, fd)
	d.mu.Unlock()
	if err != nil {
		return nil, nil, err
	}
	select {
	case des.busy <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, cutShort(op, fd, ctx)
	}
	release = func() { <-des.busy }
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, err = d.find(op, fd); err != nil { // closed while we waited
		release()
	}
	return des, release, err
}

// cutShort is the error of a call whose context ended.
func cutShort(op string, fd int, ctx context.Context) error {
	kind := fault.Timeout
	if ctx.Err() == context.Canceled {
		kind = fault.Other
	}
	e := fdFault(op, fd, "it was interrupted while it waited", "nothing was lost; call again")
	e.Kind, e.Err = kind, context.Cause(ctx)
	return e
}

// remove takes a descriptor out of the table; its number is never used again.
// The caller holds mu.
func (d *Table) remove(fd int, why string) {
	delete(d.table, fd)
	d.gone[fd] = why
}

// openOnes returns the open descriptors in the order of their numbers.
// Readable returns the numbers of the descriptors that can be read, in order.
func (d *Table) Readable() (numbers []int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, fd := range slices.Sorted(maps.Keys(d.table)) {
		if d.table[fd].in != nil {
			numbers = append(numbers, fd)
		}
	}
	return numbers
}

func (d *Table) openOnes() []*descriptor {
	d.mu.Lock()
	defer d.mu.Unlock()
	var all []*descriptor
	for _, fd := range slices.Sorted(maps.Keys(d.table)) {
		all = append(all, d.table[fd])
	}
	return all
}

// drop closes a descriptor whatever it is. A script that writes to it notices,
// unless drain is set: then what it writes is dropped.
func (d *Table) drop(des *descriptor, drain bool) error {
	d.mu.Lock()
	if d.table[des.fd] != des {
		d.mu.Unlock()
		return nil
	}
	d.remove(des.fd, "already closed")
	for _, p := range []*pipe{des.pipeIn(), des.out.pipe} {
		if p != nil && p.to.fd == des.fd {
			p.to = end{}
		}
		if p != nil && p.from.fd == des.fd {
			p.from = end{}
		}
	}
	d.mu.Unlock()
	if des.idle {
		des.in.pipe.abandon(des.in.buf)
		return nil
	}
	return des.close(drain)
}

func (des *descriptor) pipeIn() *pipe {
	if des.in == nil {
		return nil
	}
	return des.in.pipe
}

// close ends the use of what is behind the number.
func (des *descriptor) close(drain bool) error {
	switch {
	case des.in != nil:
		return des.in.close(drain)
	case des.out.pipe != nil:
		des.out.pipe.endWriting()
	case des.out.file != nil:
		return des.out.file.Close()
	}
	return nil
}

// Map lists the open descriptors for the model, one a line.
func (d *Table) Map() string {
	var b strings.Builder
	for _, des := range d.openOnes() {
		fmt.Fprintf(&b, "fd=%d: %s", des.fd, des.name)
		if des.facts != "" {
			b.WriteString(" " + des.facts)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// facts says what is known of an input before it is read.
func facts(in Input) string {
	kind := in.Kind
	if kind == "" {
		kind = "text"
	}
	switch {
	case in.Reader == nil:
		return "(empty)"
	case in.Size < 0:
		return "[unknown size, " + kind + ", stream]"
	}
	return "[" + size(in.Size) + ", " + kind + ", " + magnitude(in.Size) + "]"
}

// magnitude tells a model how to go about it: a small input is one read, a very
// large one is for scripts alone.
func magnitude(n int64) string {
	switch {
	case n <= maxCount:
		return "small"
	case n <= 64<<10:
		return "medium"
	case n <= 1<<20:
		return "large"
	}
	return "very_large"
}

// size writes a number of bytes as people do.
func size(n int64) string {
	switch {
	case n == 1:
		return "1 byte"
	case n < 1<<10:
		return fmt.Sprintf("%d bytes", n)
	}
	value, unit := float64(n)/(1<<10), "KB"
	for _, next := range []string{"MB", "GB", "TB"} {
		if value < 1024 {
			break
		}
		value, unit = value/1024, next
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", value), ".0") + " " + unit
}

// target says where an output goes.
func target(out Output) string {
	if out.Name == "" {
		return ""
	}
	return "-> " + shown(out.Name)
}

// shown quotes a name that would not stay on its line.
func shown(name string) string {
	if strings.ContainsFunc(name, unicode.IsControl) {
		return strconv.Quote(name)
	}
	return name
}
