package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"

	"hako/internal/audit"
	"hako/internal/gate"
	"hako/internal/policy"
	"hako/internal/quota"
	"hako/internal/run"
	"hako/internal/shell"
	"hako/internal/shell/builtin"
)

// A figure is something measured inside one process.
type figure struct {
	name        string
	got, target time.Duration
}

func (f figure) String() string {
	return fmt.Sprintf("%-28s %s (target %s)", f.name, f.got, f.target)
}

// inProcess measures what a model waits for once hako is running.
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
		{"policy decision, five-stage pipeline", judge, 50 * time.Microsecond},
		{"echo hi in an open session, through gate and audit", echo, 60 * time.Microsecond},
	}, nil
}

func policyTime(dir string) (time.Duration, error) {
	p := policy.Default("host", policy.Options{Root: dir, Dir: dir})
	const script = `cat a.log | grep -v DEBUG | cut -d' ' -f3 | sort -u | head -n 5`
	return median(func() error {
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
	g := &gate.Gate{
		Policy: policy.Default("virtual", policy.Options{}), Meter: quota.NewMeter(quota.Unlimited()), Log: log,
		Next: shell.NewSession(shell.Options{Commands: builtin.All(), Parse: policy.ParseScript}),
	}
	return median(func() error {
		_, err := g.Run(context.Background(), &run.Request{Actor: "bench", Script: "echo hi", Stdout: io.Discard})
		return err
	})
}

// median runs f in batches and returns the median time of one call.
func median(f func() error) (time.Duration, error) {
	const batches, calls = 21, 200
	var all []time.Duration
	for range batches {
		start := time.Now()
		for range calls {
			if err := f(); err != nil {
				return 0, err
			}
		}
		all = append(all, time.Since(start)/calls)
	}
	slices.Sort(all)
	return all[batches/2], nil
}
