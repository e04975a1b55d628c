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
	if err := d.countBytes("write", in.FD, &d.stats.Written, len(in.Data)); err != nil {
		d.fail(err)
		return "", err
	}
	if in.Data != "" {
		if err := d.writeTo(ctx, des, in.Data); err != nil {
			return "", err
		}
	}
	if des.out.sink == d.sinks[0] {
		d.mu.Lock()
		d.outputSeen, d.refused = true, nil
		d.mu.Unlock()
	}
	answer := fmt.Sprintf("wrote %s to fd %d", size(int64(len(in.Data))), in.FD)
	if !in.EOF {
		return answer, nil
	}
	state, err := d.closeAndWait(ctx, "write", des)
	if in.Data == "" {
		return state, err
	}
	return answer + ", " + state, err
}

func (d *Table) writeTo(ctx context.Context, des *descriptor, data string) (err error) {
	switch {
	case des.out.pipe != nil:
		err = d.send(ctx, des, data)
	case des.out.sink != nil:
		err = d.writeSink(ctx, des, data)
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
	ctx, cancel := context.WithTimeout(ctx, closeWait)
	defer cancel()
	why, over, err := d.watch(s).poll(ctx, func() bool { return false }, try)
	switch {
	case errors.Is(err, stream.ErrPipe):
		return d.brokenPipeError(ctx, des, s)
	case over:
		return notWrittenError(des.fd, why, waitHint(why, "write"))
	case err != nil:
		why := fmt.Sprintf("%s has not read for %v what was written before", scriptName(s.pid), closeWait)
		return notWrittenError(des.fd, why, "wait, or close the descriptor")
	}
	return nil
}

// notWrittenError is the error of a write that is not possible now.
func notWrittenError(fd int, why, hint string) error {
	e := fdFault("write", fd, "nothing was written: "+why, hint)
	e.Kind = fault.Unavailable
	return e
}

// brokenPipeError is the error of a write to a script that no longer reads.
func (d *Table) brokenPipeError(ctx context.Context, des *descriptor, s *script) error {
	state := d.waitScripts(ctx, []*script{s}, time.Second)
	return fdFault("write", des.fd, "broken pipe, nothing was written: "+state, "close it; to go on, spawn another script")
}

// writeSink writes to an output of the session, after the scripts that do.
func (d *Table) writeSink(ctx context.Context, des *descriptor, data string) error {
	k := des.out.sink
	v := &waitMonitor{d: d, needs: func() string {
		if first := k.first(); first != nil {
			return d.needs(first, nil)
		}
		return ""
	}}
	why, over, err := v.poll(ctx, func() bool { return false },
		func(ctx context.Context) error { return k.waitTurn(ctx, nil, nil) })
	switch {
	case over:
		return notWrittenError(des.fd, "a script still writes there, and "+why, waitHint(why, "write"))
	case err != nil:
		return interruptedError("write", des.fd, ctx)
	}
	if _, err := k.write(ctx, nil, []byte(data), nil); err != nil {
		e := fdFault("write", des.fd, "", "the output is lost; exit with a status other than 0")
		e.Kind, e.Err = fault.KindOf(err), err
		d.fail(e)
		return e
	}
	return nil
}
