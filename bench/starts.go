package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
)

// startRuns is how often each shell is started.
const startRuns = 200

// startFigures measures how long shells take to run an empty script, against bash.
func startFigures(hako, dir string) ([]figure, error) {
	llmsh, err := build(dir, "llmsh")
	if err != nil {
		return nil, err
	}
	record := filepath.Join(dir, "audit-start.jsonl")
	run := func(name string, args ...string) func() error {
		return func() error {
			if err := exec.Command(name, args...).Run(); err != nil {
				return fmt.Errorf("start %s: %w", name, err)
			}
			return nil
		}
	}
	times, err := interleave(startRuns, run("bash", "-c", ":"), run(llmsh, "--audit", record, "-c", ":"),
		run(hako, "sh", "--audit", record, "-c", ":"))
	return []figure{
		{name: "start of llmsh -c :, against bash", count: ratio(times[1], times[0]), limit: 3, unit: "×"},
		{name: "start of hako sh -c :, against bash", count: ratio(times[2], times[0]), limit: 4.5, unit: "×"},
	}, err
}
