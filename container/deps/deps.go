// Package deps installs the dependencies of a project in its container, and keeps what was installed for the next
// container that needs the same.
//
// Which files call for which command is written down in package lang; here is the looking, the running and the
// keeping. Deliberately not here: any knowledge about a package manager, and the way to the registries.
//
// The one rule to keep: what is kept was made by a container that ran strangers' code. It is only ever unpacked
// inside a container, by the user of its commands, for the same image, repository and files.
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

// Options say what to install for.
type Options struct {
	// Salt tells apart what must not share results although its files are the same: the id of the image, the
	// repository, and whoever else is trusted differently. Empty means that all share.
	Salt string

	Env       []string      // NAME=value for the commands, added to what the container has
	Timeout   time.Duration // for each step; zero means what the step says, or else 10 minutes
	Workspace string        // where the workspace is in the container; empty means [lang.Workspace]

	// Progress is told line by line what happens, one call at a time; nil means nobody. Lines are fit for a terminal.
	Progress func(line string)
}

const defaultTimeout = 10 * time.Minute

// A Report says what was done.
type Report struct {
	Steps []StepReport `json:"steps"`
}

// A StepReport says what came of one step. Steps whose files are not in the project have none.
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

// Install installs what the files in the project call for, or puts back what was kept of an earlier time. What does
// not work is a warning in the report; an error means that the guest is lost or ctx has ended.
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

// A choice is a step that is taken, or would be if something were there.
type choice struct {
	lang.Step
	missing string
}

// choose takes of each group the first step that has all it needs. If none has,
// the first whose files are there stands for those that are passed over.
func choose(steps []lang.Step, found probeResult) (out []choice) {
	at := map[string]int{} // where the group is in out
	for _, s := range steps {
		if !found.files.all(s.When) {
			continue
		}
		c := choice{Step: s, missing: found.programs.lacks(s.Needs)}
		group := s.Group
		if group == "" {
			group = "\x00" + s.Name // its own
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

// step does one step: from what was kept, or by its command.
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

// install runs the command of a step, and keeps what came of it.
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
