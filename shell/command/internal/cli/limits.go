package cli

import (
	"context"
	"fmt"

	"hako/shell"
	"hako/shell/regex"
)

// Stopped returns why a long walk has to end: the script was cancelled or a
// limit was passed. Errors of single files are not reasons.
func Stopped(ctx context.Context, c *shell.Call) error {
	if err := c.Limiter.Err(); err != nil {
		return err
	}
	return context.Cause(ctx)
}

// longestScript is how long a program of sed or awk may be, in bytes, and
// scriptByteCost what one of them takes in memory when it is parsed.
const (
	LongestScript  = 1 << 20
	scriptByteCost = 300
)

// A Memory is memory that a command charged to the session and gives back when
// it ends.
type Memory struct {
	C *shell.Call
	n int64
}

// hold charges n bytes more.
func (h *Memory) hold(n int64) error {
	err := h.C.Limiter.Hold(n)
	if err == nil {
		h.n += n
	}
	return err
}

// Release gives everything back.
func (h *Memory) Release() {
	h.C.Limiter.Hold(-h.n)
	h.n = 0
}

// Script charges the text of a program, and refuses one that is too long.
func (h *Memory) Script(size int) error {
	if size > LongestScript {
		return fmt.Errorf("the program is longer than %d KB", LongestScript>>10)
	}
	return h.hold(scriptByteCost * int64(size))
}

// Bound makes a pattern end with the script and its memory count.
func (h *Memory) Bound(ctx context.Context, how regex.Options) regex.Options {
	how.Done, how.Hold = ctx.Done(), h.hold
	return how
}

// Poll calls ctx.Err now and then in a loop that does no input or output.
type Poll struct {
	Ctx context.Context
	n   uint
}

func (e *Poll) Err() error {
	if e.n++; e.n&4095 != 0 {
		return nil
	}
	return e.Ctx.Err()
}
