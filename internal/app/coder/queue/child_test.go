package queue

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"hako/internal/testload"
)

// An errand is what a child process does.
type errand struct {
	Options Options
	Diary   string // the world: a line for each side effect
	Frail   bool   // dies of its first side effect
}

// child works until it is killed, or until its parent is gone.
func child(work string) {
	var e errand
	if err := json.Unmarshal([]byte(work), &e); err != nil {
		panic(err)
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	for {
		q, err := Open(context.Background(), e.Options)
		if err != nil {
			fmt.Fprintln(os.Stderr, "open:", err)
			continue
		}
		for err == nil {
			err = e.one(q)
		}
		fmt.Fprintln(os.Stderr, "work:", err)
		q.Close()
	}
}

// one does one task: a side effect in two steps.
func (e errand) one(q *Queue) error {
	l, err := q.Take(context.Background())
	if err != nil {
		return err
	}
	if l.Step != nil && len(l.Step) != 2*maxInlineStep {
		_ = note(e.Diary, "a damaged step of "+l.Item.ID+"\n")
	}
	ctx := l.KeepAlive(context.Background())
	for _, step := range []string{"comment", "push"} {
		line := step + " " + l.Item.ID + "\n"
		_, err = l.Once(ctx, step, func(ctx context.Context, again bool) (string, error) {
			if all, err := os.ReadFile(e.Diary); again && (err != nil || bytes.Contains(all, []byte(line))) {
				return line, err
			}
			time.Sleep(rand.N(15 * time.Millisecond)) // time to be killed in
			if ctx.Err() != nil {
				return "", Undone(ctx.Err())
			}
			err := note(e.Diary, line)
			if e.Frail {
				os.Exit(1)
			}
			time.Sleep(rand.N(15 * time.Millisecond))
			return line, err
		})
		if err == nil {
			err = l.Save(ctx, text(step, 2*maxInlineStep)) // in a blob
		}
		if err != nil {
			return nil // somebody else's now; or it comes again
		}
	}
	_ = l.Done(ctx, nil)
	return nil
}

func note(file, line string) error {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString(line)
	return err
}

// A crew is some child processes that are killed now and then.
type crew struct {
	t      *testing.T
	errand errand
	hands  []*hand
}

type hand struct {
	cmd   *exec.Cmd
	stdin io.Closer
}

// hired hires some, after one who left a task in the middle of a side effect:
// on a slow machine no other might be killed with a task in its hands.
func hired(t *testing.T, n int, e errand) *crew {
	c := &crew{t: t, errand: e}
	c.errand.Frail = true
	_ = c.hire().cmd.Wait()
	c.errand.Frail = false
	for range n {
		c.hands = append(c.hands, c.hire())
	}
	t.Cleanup(func() {
		for i := range c.hands {
			c.kill(i)
		}
	})
	return c
}

func (c *crew) hire() *hand {
	work, err := json.Marshal(c.errand)
	ok(c.t, err)
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), "QUEUE_TEST_CHILD="+string(work))
	cmd.Stderr = c.t.Output()
	stdin, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		c.t.Fatal(err)
	}
	return &hand{cmd, stdin}
}

// kill kills one without a warning.
func (c *crew) kill(i int) {
	_ = c.hands[i].cmd.Process.Kill()
	_ = c.hands[i].cmd.Wait()
	c.hands[i].stdin.Close()
}

// replace kills one and hires another.
func (c *crew) replace(i int) {
	c.kill(i)
	c.hands[i] = c.hire()
}

// struggle waits until all tasks are done while trouble goes on.
func struggle(t *testing.T, q *Queue, n int, trouble func(round int)) {
	t.Helper()
	deadline := time.Now().Add(testload.Bound(90 * time.Second))
	for round := 0; ; round++ {
		if s, err := q.Stats(t.Context()); err == nil && s.Queued+s.Held == 0 {
			break
		}
		if time.Now().After(deadline) {
			break
		}
		time.Sleep(400 * time.Millisecond) // work has to happen between two disasters
		if round < 15 {
			trouble(round)
		}
	}
	var done, again int
	eventually(t, func() bool {
		tasks, err := q.List(t.Context())
		ok(t, err)
		done, again = count(tasks)
		return done == n && len(tasks) == n
	})
	if again == 0 {
		t.Error("nothing was taken over")
	}
	t.Logf("%d of %d were taken over", again, n)
	swept(t, q, n)
}

// swept checks that the last step of each task is there, and nothing else once
// what the killed left behind is swept away.
func swept(t *testing.T, q *Queue, n int) {
	t.Helper()
	t.Logf("%d blobs were left behind", blobs(t, q)-n)
	eventually(t, func() bool { // once what is left is old enough
		ok(t, q.sweep(t.Context(), 3*time.Second))
		return blobs(t, q) == n
	})
	if s := state(t, q, "owner/project#000"); string(s.Step) != string(text("push", 2*maxInlineStep)) {
		t.Errorf("%d bytes: %.20s", len(s.Step), s.Step)
	}
}

func count(tasks []Entry) (done, again int) {
	for _, s := range tasks {
		if s.State == Done {
			done++
		}
		if s.Token > 1 {
			again++
		}
	}
	return done, again
}

// diary checks that everything happened, and once.
func diary(t *testing.T, file string, n int) {
	t.Helper()
	all, err := os.ReadFile(file)
	ok(t, err)
	lines := strings.Split(strings.TrimSpace(string(all)), "\n")
	slices.Sort(lines)
	if len(lines) != 2*n || len(slices.Compact(lines)) != 2*n {
		t.Errorf("%d side effects for %d tasks, %d different", len(lines), n, len(slices.Compact(slices.Clone(lines))))
	}
}

func fill(t *testing.T, q *Queue, n int) {
	t.Helper()
	for i := range n {
		put(t, q, fmt.Sprintf("owner/project#%03d", i))
	}
}
