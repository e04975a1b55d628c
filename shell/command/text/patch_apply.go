package text

import (
	"bytes"
	"context"
	"fmt"

	"hako/shell/command/internal/cli"
)

// A patching applies one filePatch to the lines of one file.
type patching struct {
	p       *patcher
	lines   [][]byte     // the original file
	out     [][]byte     // the patched file, up to done
	done    int          // lines of the original that were handled
	offset  int          // distance of the last hunk from its expected place
	grown   int          // lines added so far
	failed  []*patchHunk // hunks that did not match
	inexact bool
	skipped bool // the whole file was skipped
}

// apply applies all hunks in turn.
func (a *patching) apply(ctx context.Context, hunks []*patchHunk) {
	for i := range hunks {
		cli.Check(context.Cause(ctx))
		h := hunks[i]
		at, fuzz, reversed := a.locate(ctx, h, i == 0)
		if reversed {
			if !a.p.reversedFound() {
				a.skipped = true
				return
			}
			hunks = reversedAll(hunks)
			h = hunks[0]
			at, fuzz, _ = a.locate(ctx, h, false)
		}
		if at < 0 {
			a.failed = append(a.failed, h)
			a.p.say("Hunk #%d FAILED at %d.\n", i+1, h.oldStart+a.grown)
			continue
		}
		a.report(i+1, h, at, fuzz)
		a.put(h, at, fuzz)
	}
	a.out = append(a.out, a.lines[a.done:]...)
}

// expected returns where a hunk should start, from 0.
func (h *patchHunk) expected() int {
	if h.oldCount == 0 {
		return h.oldStart
	}
	return h.oldStart - 1
}

func (a *patching) report(n int, h *patchHunk, at, fuzz int) {
	a.offset = at - h.expected()
	a.inexact = a.inexact || fuzz > 0 || a.offset != 0
	if fuzz == 0 && a.offset == 0 {
		return
	}
	text := fmt.Sprintf("Hunk #%d succeeded at %d", n, at+1+a.grown)
	if fuzz > 0 {
		text += fmt.Sprintf(" with fuzz %d", fuzz)
	}
	if a.offset != 0 {
		text += fmt.Sprintf(" (offset %d line%s)", a.offset, cli.Plural(a.offset))
	}
	a.p.say("%s.\n", text)
}

// locate finds the place of a hunk, first exactly, then ignoring more and more of its
// context. For the first hunk it also checks whether the patch was applied already.
func (a *patching) locate(ctx context.Context, h *patchHunk, first bool) (at, fuzz int, reversed bool) {
	limit := min(a.p.maxFuzz, max(h.context()))
	for fuzz = 0; fuzz <= limit; fuzz++ {
		if at := a.search(ctx, h, fuzz); at >= 0 {
			return at, fuzz, false
		}
		if first && !a.p.force && a.search(ctx, h.reversed(), fuzz) >= 0 {
			return -1, fuzz, true
		}
	}
	return -1, 0, false
}

// context returns how many unchanged lines a hunk begins and ends with.
func (h *patchHunk) context() (before, after int) {
	for before < len(h.lines) && h.lines[before].op == ' ' {
		before++
	}
	for after < len(h.lines)-before && h.lines[len(h.lines)-1-after].op == ' ' {
		after++
	}
	return before, after
}

// trims returns how many lines to ignore at both ends. Negative numbers mean that there
// is less context on that side because the file begins or ends there.
func (h *patchHunk) trims(fuzz int) (head, tail int) {
	before, after := h.context()
	most := max(before, after)
	return fuzz + before - most, fuzz + after - most
}

// search returns where the hunk matches, nearest to the expected place; -1 if nowhere.
func (a *patching) search(ctx context.Context, h *patchHunk, fuzz int) int {
	old := h.side('-')
	head, tail := h.trims(fuzz)
	guess := h.expected() + a.offset
	lowest, highest := a.done-max(head, 0), len(a.lines)-len(old)+max(tail, 0)
	switch {
	case len(old) == 0:
		if guess = h.expected(); guess < a.done || guess > len(a.lines) {
			return -1
		}
		return guess
	case head < 0 && h.oldStart <= 1:
		highest = min(highest, 0)
	case tail < 0:
		lowest = max(lowest, highest)
	}
	for d := 0; guess+d <= highest || guess-d >= lowest; d++ {
		if d&1023 == 1023 && ctx.Err() != nil {
			return -1
		}
		for _, at := range [2]int{guess + d, guess - d} {
			if at >= lowest && at <= highest && a.matches(old, at, max(head, 0), max(tail, 0)) {
				return at
			}
		}
	}
	return -1
}

func (a *patching) matches(old [][]byte, at, head, tail int) bool {
	for i := head; i < len(old)-tail; i++ {
		if at+i < 0 || at+i >= len(a.lines) || !a.p.sameLine(a.lines[at+i], old[i]) {
			return false
		}
	}
	return true
}

// sameLine compares two lines; -l makes all blanks alike.
func (p *patcher) sameLine(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	return p.looseSpace && bytes.Equal(squeezeSpace(a), squeezeSpace(b))
}

// put copies the file up to the hunk and then the lines of the hunk. Context comes from
// the file, because with fuzz it may differ from the patch.
func (a *patching) put(h *patchHunk, at, fuzz int) {
	head, tail := h.trims(fuzz)
	head, tail = max(head, 0), max(tail, 0)
	at += head
	a.out = append(a.out, a.lines[a.done:at]...)
	for _, l := range h.lines[head : len(h.lines)-tail] {
		switch l.op {
		case ' ':
			a.out = append(a.out, a.lines[at])
			at++
		case '-':
			at++
		case '+':
			a.out = append(a.out, l.text)
		}
	}
	a.done = at
	a.grown += len(h.side('+')) - len(h.side('-'))
}
