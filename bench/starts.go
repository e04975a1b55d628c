package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"
)

// startRuns is how often each shell is started; the median counts.
const startRuns = 200

// startFigures measures how long shells take to do nothing, against bash.
func startFigures(hako, dir string) ([]figure, error) {
	llmsh := filepath.Join(dir, "llmsh")
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", llmsh, "./cmd/llmsh")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build llmsh: %s", text)
	}
	record := filepath.Join(dir, "audit-start.jsonl")
	shells := [][]string{
		{"bash", "-c", ":"},
		{llmsh, "--audit", record, "-c", ":"},
		{hako, "sh", "--audit", record, "-c", ":"},
	}
	all := make([][]time.Duration, len(shells))
	for range startRuns { // in turn, so that a slow minute of the machine hits all of them
		for i, words := range shells {
			began := time.Now()
			if err := exec.Command(words[0], words[1:]...).Run(); err != nil {
				return nil, fmt.Errorf("start %s: %w", words[0], err)
			}
			all[i] = append(all[i], time.Since(began))
		}
	}
	ratio := func(i int) float64 { return float64(middleOf(all[i])) / float64(middleOf(all[0])) }
	return []figure{
		{name: "start of llmsh -c :, against bash", count: ratio(1), limit: 3, unit: "×"},
		{name: "start of hako sh -c :, against bash", count: ratio(2), limit: 4.5, unit: "×"},
	}, nil
}

func middleOf(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)/2]
}
