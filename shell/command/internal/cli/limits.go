package cli

import (
	"context"
	"fmt"
	"io"

	"hako/shell"
	"hako/shell/regex"
)

// Stopped returns the error that ends a long loop: the script was cancelled or exceeded a
// limit. Errors of single files do not count.
func Stopped(ctx context.Context, c *shell.Call) error {
	if err := c.Limiter.Err(); err != nil {
		return err
	}
	return context.Cause(ctx)
}

// LongestScript is the maximum length of a program of sed or awk, in bytes, and
// scriptByteCost the memory that one byte takes once it is parsed.
const (
	LongestScript  = 1 << 20
	scriptByteCost = 300
)

// A Memory is memory that a command charges to the session and releases when it ends.
type Memory struct {
	C *shell.Call
	n int64
}

// Hold charges n bytes more.
func (h *Memory) Hold(n int64) error {
	err := h.C.Limiter.Hold(n)
	if err == nil {
		h.n += n
	}
	return err
}

// Release releases everything.
func (h *Memory) Release() {
	h.C.Limiter.Hold(-h.n)
	h.n = 0
}

// ReadAll reads everything and charges it.
func (h *Memory) ReadAll(in io.Reader) ([]byte, error) {
	data, err := ReadAll(h.C, in)
	h.n += int64(cap(data))
	return data, err
}

// Script charges a program of so many bytes, and refuses one that is too long.
func (h *Memory) Script(size int) error {
	if size > LongestScript {
		return fmt.Errorf("the program is longer than %d KB", LongestScript>>10)
	}
	return h.Hold(scriptByteCost * int64(size))
}

// Bound returns options for a pattern whose matching ends with the script and whose
// memory is charged.
func (h *Memory) Bound(ctx context.Context, how regex.Options) regex.Options {
	how.Done, how.Hold = ctx.Done(), h.Hold
	return how
}

// A Poll checks the context at intervals, for loops without input or output.
type Poll struct {
	Ctx context.Context
	n   uint
}

// Err returns the error of the context on every 4096th call, and nil otherwise.
func (e *Poll) Err() error {
	if e.n++; e.n&4095 != 0 {
		return nil
	}
	return e.Ctx.Err()
}
