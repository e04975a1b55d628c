package command

import (
	"context"
	"fmt"

	"hako/shell"
	"hako/shell/regex"
)

// longestScript is how long a program of sed or awk may be, in bytes, and
// scriptByteCost what one of them takes in memory when it is parsed.
const (
	longestScript  = 1 << 20
	scriptByteCost = 300
)

// A holding is memory that a command charged to the session and gives back when
// it ends.
type holding struct {
	c *shell.Call
	n int64
}

// hold charges n bytes more.
func (h *holding) hold(n int64) error {
	err := h.c.Limiter.Hold(n)
	if err == nil {
		h.n += n
	}
	return err
}

// release gives everything back.
func (h *holding) release() {
	h.c.Limiter.Hold(-h.n)
	h.n = 0
}

// script charges the text of a program, and refuses one that is too long.
func (h *holding) script(size int) error {
	if size > longestScript {
		return fmt.Errorf("the program is longer than %d KB", longestScript>>10)
	}
	return h.hold(scriptByteCost * int64(size))
}

// bound makes a pattern end with the script and its memory count.
func (h *holding) bound(ctx context.Context, how regex.Options) regex.Options {
	how.Done, how.Hold = ctx.Done(), h.hold
	return how
}
