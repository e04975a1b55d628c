package mcpserver

import (
	"context"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"hako/internal/redact"
	"hako/run"
	"hako/run/fault"
)

type jobStartIn struct {
	ID        string `json:"sandbox_id"`
	Command   string `json:"command"`
	Directory string `json:"working_directory,omitempty"`
	Reason    string `json:"reason,omitempty" jsonschema:"why, for a person who may have to approve it"`
}

type jobIn struct {
	ID    string `json:"sandbox_id"`
	Job   string `json:"job_id"`
	Start int64  `json:"start,omitempty" jsonschema:"0, or the next_start of the page before"`
	Size  int64  `json:"size,omitempty" jsonschema:"bytes of the page, up to 65536"`
}

type jobKillIn struct {
	ID  string `json:"sandbox_id"`
	Job string `json:"job_id"`
}

type jobOut struct {
	Job       string `json:"job_id"`
	State     string `json:"state"`
	ExitCode  *int   `json:"exit_code" jsonschema:"null while it runs"`
	Why       string `json:"why,omitempty" jsonschema:"how it ended, if not by itself"`
	Text      string `json:"text"`
	Total     int64  `json:"total_bytes" jsonschema:"printed so far"`
	NextStart int64  `json:"next_start" jsonschema:"where to read on; more may come while it runs"`
	Truncated bool   `json:"truncated" jsonschema:"there is more already"`
	Redacted  int    `json:"redacted" jsonschema:"places of this page where [redacted] stands instead of a secret"`
	Note      string `json:"note,omitempty" jsonschema:"the same in words"`
}

type startedOut struct {
	Job string `json:"job_id"`
}

// jobTools are the tools for background jobs.
func (d *Server) jobTools() []*toolSpec {
	return []*toolSpec{
		newTool[jobStartIn, startedOut]("job_start", "Start a job",
			"Starts a command in the background and returns its job_id. Nobody at this client can be asked about it later: what needs approval is better run with execute.",
			toolHints{destructive: true, open: d.opts.Egress}, d.jobStart),
		newTool[jobIn, jobOut]("job_output", "Read a job's output",
			"Tells how a job is and what it printed, a page at a time.", toolHints{reads: true}, d.jobOutput).restrict("size",
			between(1, maxRead)),
		newTool[jobKillIn, jobOut]("job_kill", "End a job", "Ends a job. One that has ended stays as it is.",
			toolHints{destructive: true, idempotent: true}, d.jobKill),
	}
}

// withJobs carries out a call with the jobs of a sandbox. Commands may run there meanwhile.
func (d *Server) withJobs(ctx context.Context, v *toolCall, id string,
	do func(context.Context, *call, jobs) (any, error)) *sdk.CallToolResult {
	b, err := d.enter(v.caller, id)
	if err != nil {
		return failure(err)
	}
	j, ok := b.Sandbox.(jobs)
	if !ok {
		d.leave(b)
		return failure(&fault.Error{Kind: fault.Invalid, Op: "use jobs", Subject: string(b.kind),
			Why: "this sandbox has no jobs", Hint: "run the command with execute, or make a sandbox of another kind"})
	}
	return d.runCall(ctx, v, b, false, func(ctx context.Context, c *call) *sdk.CallToolResult {
		out, err := do(ctx, c, j)
		if err != nil {
			return c.refuse(err)
		}
		return result(out)
	})
}

func (d *Server) jobStart(ctx context.Context, v *toolCall, in jobStartIn) *sdk.CallToolResult {
	if err := d.checkCommand("start job", in.Command); err != nil {
		return failure(err)
	}
	return d.withJobs(ctx, v, in.ID, func(ctx context.Context, c *call, j jobs) (any, error) {
		id, err := j.StartJob(ctx, &run.Request{ID: c.id, Actor: v.actor, Reason: in.Reason, Script: in.Command,
			Dir: in.Directory})
		return startedOut{id}, err
	})
}

func (d *Server) jobOutput(ctx context.Context, v *toolCall, in jobIn) *sdk.CallToolResult {
	if in.Size == 0 {
		in.Size = maxPage
	}
	if err := checkPage("read output", in.Start, in.Size, maxRead); err != nil {
		return failure(err)
	}
	return d.withJobs(ctx, v, in.ID, func(ctx context.Context, _ *call, j jobs) (any, error) {
		job, p, err := j.JobOutput(ctx, in.Job, in.Start, in.Size)
		return d.jobOut(in.Job, job, p), err
	})
}

func (d *Server) jobKill(ctx context.Context, v *toolCall, in jobKillIn) *sdk.CallToolResult {
	return d.withJobs(ctx, v, in.ID, func(ctx context.Context, _ *call, j jobs) (any, error) {
		job, err := j.KillJob(ctx, in.Job)
		return d.jobOut(in.Job, job, run.JobPage{Next: job.Bytes, Total: job.Bytes}), err
	})
}

func (d *Server) jobOut(id string, j run.Job, p run.JobPage) jobOut {
	shown := d.opts.Secrets.Text(validUTF8(p.Data))
	n := redact.Marks(shown) // most were redacted when it was printed
	return jobOut{Job: id, State: string(j.State), ExitCode: j.ExitCode(), Why: j.Why, Text: shown, Total: p.Total,
		NextStart: p.Next, Truncated: p.More, Redacted: n, Note: redact.ModelNote(n)}
}
