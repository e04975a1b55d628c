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

// Start starts a command as a background job, which outlives ctx and the client, but not the guest. It has no input;
// see [Client.Output] for its output.
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

// Job returns the status of a job.
func (c *Client) Job(ctx context.Context, h run.JobHandle) (run.Job, error) {
	return c.about(ctx, wire.CallStatus, h)
}

// about makes a call whose answer is the status of a job.
func (c *Client) about(ctx context.Context, verb string, h run.JobHandle) (run.Job, error) {
	var text json.RawMessage
	if _, err := c.question(ctx, verb, wire.Parameters{Handle: string(h)}, &text); err != nil {
		return run.Job{}, err
	}
	return readJob(text)
}

// readJob decodes and validates the status of a job.
func readJob(text []byte) (j run.Job, err error) {
	if json.Unmarshal(text, &j) != nil || !isExit(j.Exit) || !slices.Contains(states, j.State) {
		return run.Job{}, lost(wire.ErrFrame)
	}
	return j, nil
}

// mostJobs is more than a guest keeps. A hostile guest could list jobs that take much more memory than their text.
const mostJobs = 8 << 10

// Jobs lists the jobs in the order of their start, without those that ended long ago.
func (c *Client) Jobs(ctx context.Context) ([]run.Job, error) {
	var text json.RawMessage
	if _, err := c.question(ctx, wire.CallList, wire.Parameters{}, &text); err != nil {
		return nil, err
	}
	return readJobs(text)
}

// readJobs decodes a list one by one, to limit memory.
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

// Kill ends a job and its descendants, and waits for that.
func (c *Client) Kill(ctx context.Context, h run.JobHandle) (run.Job, error) {
	return c.about(ctx, wire.CallKill, h)
}

// Wait waits for the end of a job.
func (c *Client) Wait(ctx context.Context, h run.JobHandle) (run.Job, error) {
	return c.about(ctx, wire.CallWait, h)
}

// Output returns a page of a job's output: at most limit bytes from offset on, without splitting a UTF-8 character. A
// limit of zero means 4096; the maximum is 1 MB. A page beyond the output is empty.
func (c *Client) Output(ctx context.Context, h run.JobHandle, offset int64, limit int) (p run.JobPage, err error) {
	words, err := c.question(ctx, wire.CallOutput, wire.Parameters{Handle: string(h), Offset: offset, Limit: limit}, &p)
	if err == nil && len(words) == 2 {
		p.Data = words[1]
	}
	return p, err
}

// Ping checks that the guest answers.
func (c *Client) Ping(ctx context.Context) error {
	_, err := c.question(ctx, wire.CallPing, wire.Parameters{}, nil)
	return err
}

// Stats measures the container. With disk it measures the workspace too, which takes long if that is not a file
// system of its own.
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

// Shutdown ends all processes and the guest. It returns when the guest has accepted; see [Client.Gone].
func (c *Client) Shutdown(ctx context.Context) error {
	_, err := c.question(ctx, wire.CallShutdown, wire.Parameters{}, nil)
	return err
}
