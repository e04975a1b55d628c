package guest

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"

	"hako/container/guest/wire"
	"hako/run"
	"hako/run/fault"
)

// Start runs a command in the background. The job outlives ctx and the client,
// but not the guest. It has no input; what it prints is kept, see [Client.Output].
func (c *Client) Start(ctx context.Context, cmd Command) (run.Job, error) {
	var j run.Job
	if cmd.Stdin != nil || cmd.Stdout != nil || cmd.Stderr != nil {
		return j, &fault.Error{Kind: fault.Invalid, Op: "start job", Why: "a job has no streams of its own",
			Hint: "leave them empty and read the output by handle"}
	}
	o := cmd.Request()
	if err := o.Check(); err != nil {
		return j, err
	}
	words, err := c.ask(ctx, wire.CallStart,
		func(id uint64) wire.Frame { return o.Frame(wire.OpCall, id, wire.CallStart) })
	if err != nil {
		return j, err
	}
	if len(words) == 0 {
		return j, lost(wire.ErrFrame)
	}
	return readJob(words[0])
}

// Job tells how a job is.
func (c *Client) Job(ctx context.Context, h run.JobHandle) (run.Job, error) {
	return c.about(ctx, wire.CallStatus, h)
}

// about asks something whose answer is how a job is.
func (c *Client) about(ctx context.Context, verb string, h run.JobHandle) (run.Job, error) {
	var text json.RawMessage
	if _, err := c.question(ctx, verb, wire.Parameters{Handle: string(h)}, &text); err != nil {
		return run.Job{}, err
	}
	return readJob(text)
}

// readJob reads how a job is, and refuses what cannot be.
func readJob(text []byte) (j run.Job, err error) {
	if json.Unmarshal(text, &j) != nil || !isExit(j.Exit) || !slices.Contains(states, j.State) {
		return run.Job{}, lost(wire.ErrFrame)
	}
	return j, nil
}

// mostJobs is more than a guest keeps. Each costs much more memory than a guest that means ill needs to tell of it.
const mostJobs = 8 << 10

// Jobs lists the jobs as they were started, those that ended long ago left out.
func (c *Client) Jobs(ctx context.Context) ([]run.Job, error) {
	var text json.RawMessage
	if _, err := c.question(ctx, wire.CallList, wire.Parameters{}, &text); err != nil {
		return nil, err
	}
	return readJobs(text)
}

// readJobs reads a list one by one, so that it takes no more memory than jobs do.
func readJobs(text []byte) (list []run.Job, err error) {
	in := json.NewDecoder(bytes.NewReader(text))
	if begin, err := in.Token(); err != nil || begin != json.Delim('[') {
		return nil, lost(wire.ErrFrame)
	}
	for in.More() {
		var one json.RawMessage
		if len(list) == mostJobs || in.Decode(&one) != nil {
			return nil, lost(wire.ErrFrame)
		}
		j, err := readJob(one)
		if err != nil {
			return nil, err
		}
		list = append(list, j)
	}
	return list, nil
}

// Kill ends a job and all that came of it, and waits for that.
func (c *Client) Kill(ctx context.Context, h run.JobHandle) (run.Job, error) {
	return c.about(ctx, wire.CallKill, h)
}

// Wait waits for the end of a job.
func (c *Client) Wait(ctx context.Context, h run.JobHandle) (run.Job, error) {
	return c.about(ctx, wire.CallWait, h)
}

// Output returns a page of what a job printed: at most limit bytes from offset on, without cutting a character of
// UTF-8. A limit of zero means 4096; it is at most 1 MB. Beyond what was printed so far there is an empty page.
func (c *Client) Output(ctx context.Context, h run.JobHandle, offset int64, limit int) (p run.JobPage, err error) {
	words, err := c.question(ctx, wire.CallOutput, wire.Parameters{Handle: string(h), Offset: offset, Limit: limit}, &p)
	if err == nil && len(words) == 2 {
		p.Data = words[1]
	}
	return p, err
}

// Ping asks the guest for a sign of life.
func (c *Client) Ping(ctx context.Context) error {
	_, err := c.question(ctx, wire.CallPing, wire.Parameters{}, nil)
	return err
}

// Stats tells what the container uses. With disk it adds up the files of the
// workspace, where that is not a file system of its own; this takes its time.
func (c *Client) Stats(ctx context.Context, disk bool) (s Stats, err error) {
	_, err = c.question(ctx, wire.CallStats, wire.Parameters{Disk: disk}, &s)
	return s, err
}

// Edit makes one call of the text editor.
func (c *Client) Edit(ctx context.Context, call json.RawMessage) (json.RawMessage, error) {
	words, err := c.ask(ctx, wire.CallEdit, func(id uint64) wire.Frame {
		return wire.Frame{Op: wire.OpCall, ID: id, Words: [][]byte{[]byte(wire.CallEdit), call}}
	})
	if err != nil {
		return nil, err
	}
	if len(words) == 0 {
		return nil, lost(wire.ErrFrame)
	}
	return words[0], nil
}

// Shutdown has the guest end all processes and itself. It returns when the guest has agreed; see [Client.Gone].
func (c *Client) Shutdown(ctx context.Context) error {
	_, err := c.question(ctx, wire.CallShutdown, wire.Parameters{}, nil)
	return err
}
