package main

import (
	"context"
	"sync"
	"time"

	"hako/internal/app/coder/forge"
)

// A gap is the time between the answer of a model and the next call.
type gap struct {
	At         time.Time
	Own        time.Duration // without what follows
	Workspaces time.Duration // in the container
	Forge      time.Duration // until the forge had answered
	First      bool          // the first of its task, in which the plan is published and the container created
}

// An outsideTime is where a task is when it is not in hako's own code.
type outsideTime int

const (
	inContainer outsideTime = iota
	atForge
)

// A clock measures the gaps of one task.
type clock struct {
	mu         sync.Mutex
	answeredAt time.Time // zero before the first answer
	outside    [2]time.Duration
	gaps       []gap
}

// asked is called when the model is called.
func (c *clock) asked() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.answeredAt.IsZero() {
		return
	}
	now := time.Now()
	container, forge := c.outside[inContainer], c.outside[atForge]
	c.gaps = append(c.gaps, gap{now, now.Sub(c.answeredAt) - container - forge, container, forge, len(c.gaps) == 0})
}

// answered is called when it has answered.
func (c *clock) answered() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answeredAt, c.outside = time.Now(), [2]time.Duration{}
}

// addOutside adds time that was spent outside since a moment.
func (c *clock) addOutside(since time.Time, where outsideTime) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.outside[where] += time.Since(since)
}

// clocks are those of all tasks, by issue number.
type clocks struct {
	mu sync.Mutex
	by map[int]*clock
}

func newClocks() *clocks { return &clocks{by: map[int]*clock{}} }

func (c *clocks) of(number int) *clock {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.by[number] == nil {
		c.by[number] = new(clock)
	}
	return c.by[number]
}

func (c *clocks) all() (gaps []gap) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, one := range c.by {
		one.mu.Lock()
		gaps = append(gaps, one.gaps...)
		one.mu.Unlock()
	}
	return gaps
}

// A timedForge counts the time that coordinators wait for the forge. Get runs in
// parallel to the work and is not counted.
type timedForge struct {
	forge.Forge
	clocks *clocks
}

// Comments implements [forge.Forge].
func (f *timedForge) Comments(ctx context.Context, ref forge.Ref, since time.Time) ([]forge.Comment, error) {
	defer f.clocks.of(ref.Number).addOutside(time.Now(), atForge)
	return f.Forge.Comments(ctx, ref, since)
}

// AddComment implements [forge.Forge].
func (f *timedForge) AddComment(ctx context.Context, ref forge.Ref, mark forge.Mark, text string) (forge.Comment,
	error) {
	defer f.clocks.of(ref.Number).addOutside(time.Now(), atForge)
	return f.Forge.AddComment(ctx, ref, mark, text)
}

// EditComment implements [forge.Forge].
func (f *timedForge) EditComment(ctx context.Context, ref forge.Ref, id string, mark forge.Mark, text string) (
	forge.Comment, error) {
	defer f.clocks.of(ref.Number).addOutside(time.Now(), atForge)
	return f.Forge.EditComment(ctx, ref, id, mark, text)
}
