package descriptors

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"hako/run/fault"
	"hako/shell/stream"
)

//go:embed write.md
var writeText string

// maxWrite is the maximum size of one call.
const maxWrite = 1 << 20

type writeInput struct {
	FD      int    `json:"fd"`
	Data    string `json:"data,omitempty"`
	Newline bool   `json:"newline,omitempty" jsonschema:"add one"`
	EOF     bool   `json:"eof,omitempty" jsonschema:"then close"`
}

// write writes all of the data or nothing.
func (d *Table) write(ctx context.Context, in writeInput) (string, error) {
	if in.Newline {
		in.Data += "\n"
	}
	if len(in.Data) > maxWrite {
		e := fdFault("write", in.FD, fmt.Sprintf("data has %s, at most %s go at once", size(int64(len(in.Data))),
			size(maxWrite)), "write it in pieces")
		e.Kind = fault.TooLarge
		return "", e
	}
	des, release, err := d.borrow(ctx, "write", in.FD, d.forWriting)
	if err != nil {
		return "", err
	}
	defer release()
	if err := d.allowed("write", in.FD, &d.stats.Written, len(in.Data)); err != nil {
		d.fail(err)
		return "", err
	}
	if in.Data != "" {
		if err := d.put(ctx, des, in.Data); err != nil {
			return "", err
		}
	}
	if des.out.sink == d.sinks[0] {
		d.mu.Lock()
		d.delivered, d.refused = true, nil
		d.mu.Unlock()
	}
	answer := fmt.Sprintf("wrote %s to fd %d", size(int64(len(in.Data))), in.FD)
	if !in.EOF {
		return answer, nil
	}
	state, err := d.finishWith(ctx, "write", des)
	if in.Data == "" {
		return state, err
	}
	return answer + ", " + state, err
}

func (d *Table) put(ctx context.Context, des *descriptor, data string) (err error) {
	switch {
	case des.out.pipe != nil:
		err = d.send(ctx, des, data)
	case des.out.sink != nil:
		err = d.show(ctx, des, data)
	default:
		_, err = des.out.file.Write([]byte(data))
		err = fileFault("write", des.name, err)
	}
	if err != nil {
		d.mu.Lock()
		d.stats.Written -= int64(len(data))
		d.mu.Unlock()
	}
	return err
}

// send writes to a script.
func (d *Table) send(ctx context.Context, des *descriptor, data string) error {
	p := des.out.pipe
	d.mu.Lock()
	s := p.to.script
	d.mu.Unlock()
	try := func(ctx context.Context) error { return p.send(ctx, data) }
	ctx, cancel := context.WithTimeout(ctx, gather)
	defer cancel()
	why, over, err := d.watch(s).tick(ctx, func() bool { return false }, try)
	switch {
	case errors.Is(err, stream.ErrPipe):
		return d.deaf(ctx, des, s)
	case over:
		return unwritten(des.fd, why, remedy(why, "write"))
	case err != nil:
		return unwritten(des.fd, fmt.Sprintf("%s has not read for %v what was written before", scriptName(s.pid), gather),
			"wait, or close the descriptor")
	}
	return nil
}

// unwritten is the error of a write that is not possible now.
func unwritten(fd int, why, hint string) error {
	e := fdFault("write", fd, "nothing was written: "+why, hint)
	e.Kind = fault.Unavailable
	return e
}

// deaf is the error of a write to a script that no longer reads.
func (d *Table) deaf(ctx context.Context, des *descriptor, s *script) error {
	state := d.collect(ctx, []*script{s}, time.Second)
	return fdFault("write", des.fd, "broken pipe, nothing was written: "+state, "close it; to go on, spawn another script")
}

// show writes to an output of the session, after the scripts that do.
func (d *Table) show(ctx context.Context, des *descriptor, data string) error {
	k := des.out.sink
	v := &vigil{d: d, needs: func() string {
		if first := k.first(); first != nil {
			return d.needs(first, nil)
		}
		return ""
	}}
	why, over, err := v.tick(ctx, func() bool { return false },
		func(ctx context.Context) error { return k.turn(ctx, nil, nil) })
	switch {
	case over:
		return unwritten(des.fd, "a script still writes there, and "+why, remedy(why, "write"))
	case err != nil:
		return cutShort("write", des.fd, ctx)
	}
	if _, err := k.write(ctx, nil, []byte(data), nil); err != nil {
		e := fdFault("write", des.fd, "", "the output is lost; exit with a status other than 0")
		e.Kind, e.Err = fault.KindOf(err), err
		d.fail(e)
		return e
	}
	return nil
}
