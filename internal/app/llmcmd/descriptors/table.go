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

// A descriptor is immutable; what its fields point to is not.
type descriptor struct {
	fd         int
	name       string        // what it is
	details    string        // details for the map
	in         *readSide     // nil means not open for reading
	out        writeSide     // empty means not open for writing
	stderrPipe bool          // standard error of a script, which continues if nobody reads it
	busy       chan struct{} // holds a token while a call uses it
}

// An writeSide is the writing side of a descriptor: one of the three, or none.
type writeSide struct {
	pipe *pipe
	file *vfs.File
	sink *sink
}

// standard reports whether des is an output of the session, which scripts share.
func (des *descriptor) standard() bool { return des.out.sink != nil }

func (des *descriptor) direction() string {
	if des.in != nil {
		return "reading"
	}
	return "writing"
}

// put adds a descriptor. The caller holds mu, or is alone.
func (d *Table) put(fd int, des *descriptor) int {
	des.fd, des.busy = fd, make(chan struct{}, 1)
	d.table[fd] = des
	return fd
}

// add adds a descriptor with the next number. The caller holds mu, or is alone.
func (d *Table) add(des *descriptor) int {
	d.dynamic++
	return d.put(d.dynamic-1, des)
}

// find returns an open descriptor. The caller holds mu.
func (d *Table) find(op string, fd int) (*descriptor, error) {
	if des, ok := d.table[fd]; ok {
		return des, nil
	}
	if why, ok := d.closedWhy[fd]; ok {
		return nil, fdFault(op, fd, why, d.openHint())
	}
	e := fdFault(op, fd, "invalid file descriptor", d.openHint())
	e.Kind = fault.NotFound
	return nil, e
}

// openHint lists the open descriptors, as a hint. The caller holds mu.
func (d *Table) openHint() string {
	lists := map[string][]string{}
	for _, fd := range slices.Sorted(maps.Keys(d.table)) {
		way := d.table[fd].direction()
		if lists[way] = append(lists[way], strconv.Itoa(fd)); len(lists[way]) > 20 {
			lists[way] = append(lists[way][:20], "…")
		}
	}
	return "open for reading are " + listOrNone(lists["reading"]) + "; for writing " + listOrNone(lists["writing"])
}

func listOrNone(numbers []string) string {
	if numbers == nil {
		return "none"
	}
	return strings.Join(numbers, ", ")
}

// forReading finds a readable descriptor. The caller holds mu.
func (d *Table) forReading(op string, fd int) (*descriptor, error) {
	des, err := d.find(op, fd)
	if err == nil && des.in == nil {
		return nil, fdFault(op, fd, "it is open for writing only: "+des.name, d.otherEndHint(des))
	}
	return des, err
}

// forWriting finds a writable descriptor. The caller holds mu.
func (d *Table) forWriting(op string, fd int) (*descriptor, error) {
	des, err := d.find(op, fd)
	if err == nil && des.in != nil {
		return nil, fdFault(op, fd, "it is open for reading only: "+des.name, d.otherEndHint(des))
	}
	return des, err
}

// otherEndHint suggests the descriptor that was meant. The caller holds mu.
func (d *Table) otherEndHint(des *descriptor) string {
	var s *script
	want, verb := "stdout", "read"
	if des.out.pipe != nil {
		s = des.out.pipe.to.script
	} else if des.in != nil && des.in.pipe != nil {
		s, want, verb = des.in.pipe.from.script, "stdin", "write to"
	}
	if s == nil {
		return d.openHint()
	}
	for _, fd := range slices.Sorted(maps.Keys(d.table)) {
		if name := d.table[fd].name; name == want+" of "+scriptName(s.pid) {
			return fmt.Sprintf("%s fd %d, the %s", verb, fd, name)
		}
	}
	return d.openHint()
}

// borrow finds a descriptor and keeps other calls from using it until release is called.
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
		return nil, nil, interruptedError(op, fd, ctx)
	}
	release = func() { <-des.busy }
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, err = d.find(op, fd); err != nil { // closed meanwhile
		release()
	}
	return des, release, err
}

// interruptedError is the error of a call whose context ended.
func interruptedError(op string, fd int, ctx context.Context) error {
	kind := fault.Timeout
	if ctx.Err() == context.Canceled {
		kind = fault.Other
	}
	e := fdFault(op, fd, "it was interrupted while it waited", "nothing was lost; call again")
	e.Kind, e.Err = kind, context.Cause(ctx)
	return e
}

// remove removes a descriptor; its number is never reused. The caller holds mu.
func (d *Table) remove(fd int, why string) {
	delete(d.table, fd)
	d.closedWhy[fd] = why
}

// Readable returns the numbers of the readable descriptors, in order.
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

func (d *Table) openDescriptors() []*descriptor {
	d.mu.Lock()
	defer d.mu.Unlock()
	var all []*descriptor
	for _, fd := range slices.Sorted(maps.Keys(d.table)) {
		all = append(all, d.table[fd])
	}
	return all
}

// closeDescriptor closes a descriptor. A script that writes to it gets an error, unless drain is set: then its output
// is discarded.
func (d *Table) closeDescriptor(des *descriptor, drain bool) error {
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
	if des.stderrPipe {
		des.in.pipe.keepUnread(des.in.buf)
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

// Map lists the open descriptors, one a line.
func (d *Table) Map() string {
	var b strings.Builder
	for _, des := range d.openDescriptors() {
		fmt.Fprintf(&b, "fd=%d: %s", des.fd, des.name)
		if des.details != "" {
			b.WriteString(" " + des.details)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// inputDetails describes an input.
func inputDetails(in Input) string {
	switch {
	case in.Reader == nil:
		return "(empty)"
	case in.Size < 0:
		return "[unknown size, text, stream]"
	}
	return "[" + size(in.Size) + ", text, " + sizeClass(in.Size) + "]"
}

// sizeClass tells the model how to read an input: a small one at once, a very large one with scripts only.
func sizeClass(n int64) string {
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

// size formats a number of bytes.
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

// outputDetails says where an output goes.
func outputDetails(out Output) string {
	if out.Name == "" {
		return ""
	}
	return "-> " + quoteControl(out.Name)
}

// quoteControl quotes a name with control characters.
func quoteControl(name string) string {
	if strings.ContainsFunc(name, unicode.IsControl) {
		return strconv.Quote(name)
	}
	return name
}
