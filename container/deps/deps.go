// Package deps installs the dependencies of a project in its container, and keeps the result for the next container
// that needs the same.
//
// Package lang describes which files call for which command. Not here: anything about a package manager, and access
// to registries.
//
// The rule to keep: a kept result was made by a container that ran untrusted code. It is only unpacked inside a
// container, by the user of its commands, for the same image, repository and files.
package deps

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"hako/container/guest"
	"hako/container/lang"
	"hako/internal/redact"
	"hako/run/fault"
)

// Options configure an installation.
type Options struct {
	// Salt separates installations that must not share results although their files are the same: by image,
	// repository and branch. Empty means that all share.
	Salt string

	Env       []string      // NAME=value for the commands, added to what the container has
	Timeout   time.Duration // for each step; zero means that of the step, or 10 minutes
	Workspace string        // path of the workspace in the container; empty means [lang.Workspace]

	// Progress receives one line at a time, safe for a terminal; nil means none.
	Progress func(line string)
}

const defaultTimeout = 10 * time.Minute

// A Report is the outcome of an installation.
type Report struct {
	Steps []StepReport `json:"steps"`
}

// A StepReport is the outcome of one step. Steps whose files are not in the project have none.
type StepReport struct {
	Name     string        `json:"name"`
	Command  string        `json:"command"`
	Restored bool          `json:"restored,omitempty"` // a kept result was put back; the command did not run
	Kept     bool          `json:"kept,omitempty"`     // the result was kept
	Unkept   string        `json:"unkept,omitempty"`   // why it was not
	Skipped  string        `json:"skipped,omitempty"`  // why nothing was done at all
	Warning  string        `json:"warning,omitempty"`  // what went wrong, with the end of the output
	Duration time.Duration `json:"duration"`
}

// Install runs the steps that the files of the project call for, or restores kept results. Failures of steps are
// warnings in the report; an error means that the guest is lost or ctx has ended.
func (s *Store) Install(ctx context.Context, g guest.Executor, l lang.Language, o Options) (Report, error) {
	o.Workspace = cmp.Or(o.Workspace, lang.Workspace)
	j := &job{store: s, guest: g, options: o}
	found, err := j.probe(ctx, l.Install)
	if err != nil {
		return Report{}, err
	}
	if found.wrong != "" {
		return Report{Steps: []StepReport{{Name: "look for dependencies", Warning: found.wrong}}}, nil
	}
	var r Report
	for _, c := range choose(l.Install, found) {
		report, err := j.step(ctx, l.Name, c)
		r.Steps = append(r.Steps, report)
		if err != nil {
			return r, err
		}
	}
	return r, nil
}

// A job is one call of Install.
type job struct {
	store   *Store
	guest   guest.Executor
	options Options
}

// A choice is a step to run, or to report as skipped because a program is missing.
type choice struct {
	lang.Step
	missing string
}

// choose selects the first step of each group that has all it needs. If none has, the first whose files exist is
// reported as skipped.
func choose(steps []lang.Step, found probeResult) (out []choice) {
	at := map[string]int{} // index of the group in out
	for _, s := range steps {
		if !found.files.all(s.When) {
			continue
		}
		c := choice{Step: s, missing: found.programs.lacks(s.Needs)}
		group := s.Group
		if group == "" {
			group = "\x00" + s.Name // a group of its own
		}
		i, taken := at[group]
		switch {
		case !taken:
			at[group] = len(out)
			out = append(out, c)
		case out[i].missing != "" && c.missing == "":
			out[i] = c
		}
	}
	return out
}

// step restores the result of a step, or runs its command.
func (j *job) step(ctx context.Context, language string, c choice) (StepReport, error) {
	began := time.Now()
	r := StepReport{Name: c.Name, Command: c.Command}
	if c.missing != "" {
		r.Skipped = "there is no " + c.missing + " in this environment"
		return r, nil
	}
	key, err := j.key(ctx, language, c.Step)
	if err == nil {
		r.Unkept = key.none
		r.Restored, err = j.restore(ctx, key, c.Step)
	}
	if err == nil && !r.Restored {
		err = j.install(ctx, key, c.Step, &r)
	}
	r.Duration = time.Since(began)
	return r, err
}

// install runs the command of a step, and keeps the result.
func (j *job) install(ctx context.Context, key key, s lang.Step, r *StepReport) error {
	j.report(s.Name + ": " + firstLine(s.Command))
	report := each(j.options.Progress)
	out, errs := &lines{report: report}, &lines{report: report}
	limit := j.timeout(s)
	res, err := j.guest.Exec(ctx, guest.Command{Script: s.Command, Dir: j.options.Workspace + "/project",
		Env: j.options.Env, Timeout: limit, Stdout: out, Stderr: errs})
	out.flush()
	errs.flush()
	switch {
	case fault.KindOf(err) == fault.Exhausted && ctx.Err() == nil:
		r.Warning = err.Error()
	case err != nil:
		return err
	case res.TimedOut:
		r.Warning = ending("it took longer than "+limit.String(), out, errs)
	case res.Exit != 0:
		r.Warning = ending(fmt.Sprintf("it ended with status %d", res.Exit), out, errs)
	}
	if r.Warning != "" {
		r.Unkept = ""
		j.report(s.Name + ": " + firstLine(r.Warning))
		return nil
	}
	if key.none != "" {
		return nil
	}
	r.Unkept, err = j.keep(ctx, key, s)
	r.Kept = err == nil && r.Unkept == ""
	return err
}

func (j *job) timeout(s lang.Step) time.Duration {
	return cmp.Or(j.options.Timeout, s.Timeout, defaultTimeout)
}

func (j *job) report(line string) {
	if j.options.Progress != nil {
		j.options.Progress(redact.Text(line))
	}
}

func firstLine(text string) string {
	line, more, cut := strings.Cut(text, "\n")
	if cut && strings.TrimSpace(more) != "" {
		line += " …"
	}
	return line
}
