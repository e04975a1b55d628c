package descriptors

import (
	"context"
	_ "embed"
	"fmt"
	"time"
)

//go:embed close.md
var closeText string

type closeInput struct {
	FD int `json:"fd"`
}

// close implements the tool close.
func (d *Table) close(ctx context.Context, in closeInput) (string, error) {
	d.mu.Lock()
	des, err := d.find("close", in.FD)
	d.mu.Unlock()
	if err != nil {
		return "", err
	}
	return d.finishWith(ctx, "close", des)
}

// finishWith closes a descriptor and describes the scripts that it was connected to.
func (d *Table) finishWith(ctx context.Context, op string, des *descriptor) (string, error) {
	scripts, most := d.behind(des)
	if err := d.drop(des, des.idle); err != nil {
		return "", fileFault(op, des.name, err)
	}
	answer := fmt.Sprintf("closed fd %d", des.fd)
	if len(scripts) > 0 {
		answer += "; " + d.collect(ctx, scripts, most)
	}
	return answer, nil
}

// behind returns the scripts whose end may depend on des, and how long to wait for them.
func (d *Table) behind(des *descriptor) ([]*script, time.Duration) {
	if p := des.out.pipe; p != nil {
		d.mu.Lock()
		s := p.to.script
		d.mu.Unlock()
		return d.chain(s), gather
	}
	if des.in != nil {
		if s := d.source(des); s != nil {
			return []*script{s}, time.Second
		}
	}
	return nil, 0
}
