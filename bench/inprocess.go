package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"

	"hako/audit"
	"hako/gate"
	"hako/policy"
	"hako/quota"
	"hako/run"
	"hako/shell"
	"hako/shell/command"
)

// A figure is a measured time, or with a limit a count.
type figure struct {
	name        string
	got, target time.Duration
	count       float64 // if limit is set
	limit       float64
	unit        string
}

// values returns the measured value and the target as text.
func (f figure) values() (got, target string, ok bool) {
	if f.limit > 0 {
		return fmt.Sprintf("%.1f%s", f.count, f.unit), fmt.Sprintf("%g%s", f.limit, f.unit), f.count <= f.limit
	}
	return f.got.String(), f.target.String(), f.got <= f.target
}

func (f figure) String() string {
	got, target, _ := f.values()
	return fmt.Sprintf("%-60s %s (target %s)", f.name, got, target)
}

// figuresWithoutPeer measures what cannot be compared with another shell.
func figuresWithoutPeer(hako, dir string) ([]figure, error) {
	inside, err := inProcess(dir)
	if err != nil {
		return nil, err
	}
	loop, err := loopFigures(dir)
	if err != nil {
		return nil, err
	}
	starts, err := startFigures(hako, dir)
	if err != nil {
		return nil, err
	}
	wire, err := wireFigures(hako, dir)
	return slices.Concat(inside, starts, loop, wire), err
}

func inProcess(dir string) ([]figure, error) {
	judge, err := policyTime(dir)
	if err != nil {
		return nil, err
	}
	echo, err := echoTime(dir)
	if err != nil {
		return nil, err
	}
	return []figure{
		{name: "policy decision, five-stage pipeline", got: judge, target: 50 * time.Microsecond},
		{name: "echo hi in an open session, through gate and audit", got: echo, target: 60 * time.Microsecond},
	}, nil
}

func policyTime(dir string) (time.Duration, error) {
	p := policy.Host(policy.Options{Root: dir, Dir: dir})
	const script = `cat a.log | grep -v DEBUG | cut -d' ' -f3 | sort -u | head -n 5`
	return callTime(func() error {
		vs, err := p.Script(script)
		if err == nil && policy.Strictest(vs) != policy.Allow {
			return fmt.Errorf("the policy refuses %s", script)
		}
		return err
	})
}

func echoTime(dir string) (time.Duration, error) {
	log, err := audit.Open(filepath.Join(dir, "audit-echo.jsonl"), audit.Options{})
	if err != nil {
		return 0, err
	}
	defer log.Close()
	g := gate.New(shell.New(shell.Options{Commands: command.All(), Parse: policy.ParseScript}), gate.Options{
		Policy: policy.Virtual(), Budget: quota.New(quota.Unlimited()), Log: log,
	})
	return callTime(func() error {
		_, err := g.Run(context.Background(), &run.Request{Actor: "bench", Script: "echo hi", Stdout: io.Discard})
		return err
	})
}

// callTime returns the median time of a call, measured in batches.
func callTime(f func() error) (time.Duration, error) {
	const batches, calls = 21, 200
	times, err := interleave(batches, func() error {
		for range calls {
			if err := f(); err != nil {
				return err
			}
		}
		return nil
	})
	return times[0] / calls, err
}

// interleave calls functions in turn, so that a slow moment of the machine affects all of
// them, and returns the median time of each.
func interleave(rounds int, functions ...func() error) ([]time.Duration, error) {
	all, medians := make([][]time.Duration, len(functions)), make([]time.Duration, len(functions))
	for range rounds {
		for i, f := range functions {
			began := time.Now()
			if err := f(); err != nil {
				return medians, err
			}
			all[i] = append(all[i], time.Since(began))
		}
	}
	for i, times := range all {
		medians[i] = median(times)
	}
	return medians, nil
}

func median(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)/2]
}
