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
	return d.closeAndWait(ctx, "close", des)
}

// closeAndWait closes a descriptor and describes the scripts that it was connected to.
func (d *Table) closeAndWait(ctx context.Context, op string, des *descriptor) (string, error) {
	scripts, most := d.dependents(des)
	if err := d.closeDescriptor(des, des.stderrPipe); err != nil {
		return "", fileFault(op, des.name, err)
	}
	answer := fmt.Sprintf("closed fd %d", des.fd)
	if len(scripts) > 0 {
		answer += "; " + d.waitScripts(ctx, scripts, most)
	}
	return answer, nil
}

// dependents returns the scripts whose end may depend on des, and how long to wait for them.
func (d *Table) dependents(des *descriptor) ([]*script, time.Duration) {
	if p := des.out.pipe; p != nil {
		d.mu.Lock()
		s := p.to.script
		d.mu.Unlock()
		return d.chain(s), closeWait
	}
	if des.in != nil {
		if s := d.source(des); s != nil {
			return []*script{s}, time.Second
		}
	}
	return nil, 0
}
