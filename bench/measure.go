package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A peer is a shell to be measured. {S} in its words stands for the script.
type peer struct {
	name  string
	words []string
	env   []string
}

func shellsFor(hako, dir, files string) []peer {
	list := []peer{
		{name: "bash", words: []string{"bash", "-c", "{S}"}, env: []string{"LC_ALL=C"}},
		{name: "hako", words: []string{hako, "sh", "--rw", files, "--limit", "time=120s", "--audit",
			filepath.Join(dir, "audit.jsonl"), "-c", "{S}"}},
	}
	if _, err := exec.LookPath("busybox"); err == nil {
		list = append(list, peer{name: "busybox", words: []string{"busybox", "sh", "-c", "{S}"}, env: []string{"LC_ALL=C"}})
	}
	for spec := range strings.SplitSeq(os.Getenv("PEERS"), ";") {
		if name, cmd, ok := strings.Cut(strings.TrimSpace(spec), "="); ok {
			list = append(list, peer{name: name, words: strings.Fields(cmd)})
		}
	}
	return list
}

// A sample is the measurement of one run.
type sample struct {
	wall, cpu time.Duration
	peak      int64 // bytes
}

type row struct {
	workload
	samples []sample // medians, one for each peer; wall zero means that it failed
}

// measure runs the shells in turn, so that a slow moment of the machine affects all of them.
func measure(w workload, shells []peer, dir, log string, runs int) (row, error) {
	script := strings.ReplaceAll(w.script, "@", filepath.Base(log))
	all := make([][]sample, len(shells))
	var want []byte
	for n := range runs + 1 { // the first warms the page cache
		for i, sh := range shells {
			s, out, err := once(sh, script, dir)
			switch {
			case i == 0 && err != nil:
				return row{}, err
			case i == 0:
				want = out
			case err != nil || !bytes.Equal(out, want):
				if sh.name == "hako" {
					return row{}, fmt.Errorf("hako prints something else than bash: %v\n%.300s\nwant\n%.300s", err, out, want)
				}
				s = sample{}
			}
			if n > 0 {
				all[i] = append(all[i], s)
			}
		}
	}
	r := row{workload: w}
	for _, samples := range all {
		r.samples = append(r.samples, medianSample(samples))
	}
	return r, nil
}

func once(sh peer, script, dir string) (sample, []byte, error) {
	words := slices.Clone(sh.words)
	for i := range words {
		words[i] = strings.ReplaceAll(words[i], "{S}", script)
	}
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), sh.env...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	start := time.Now()
	err := cmd.Run()
	s := sample{wall: time.Since(start)}
	if err != nil {
		return s, nil, fmt.Errorf("%w: %.200s", err, errs.String())
	}
	s.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	s.peak = peakMemory(cmd.ProcessState)
	return s, out.Bytes(), nil
}

// medianSample has the highest peak of all samples.
func medianSample(samples []sample) sample {
	var walls, cpus []time.Duration
	peak := int64(0)
	for _, s := range samples {
		walls, cpus, peak = append(walls, s.wall), append(cpus, s.cpu), max(peak, s.peak)
	}
	return sample{median(walls), median(cpus), peak}
}

// makeLog writes the log unless it exists: random lines of a service log with a fixed seed,
// about 100 bytes each.
func makeLog(dir string, mb int) (string, error) {
	name := filepath.Join(dir, fmt.Sprintf("log-%d.txt", mb))
	if info, err := os.Stat(name); err == nil && info.Size() >= int64(mb)<<20 {
		return name, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	f, err := os.Create(name)
	if err != nil {
		return "", err
	}
	b := bufio.NewWriterSize(f, 1<<20)
	rnd := uint64(88172645463325252)
	next := func(n int) int {
		rnd ^= rnd << 13
		rnd ^= rnd >> 7
		rnd ^= rnd << 17
		return int(rnd % uint64(n))
	}
	levels := []string{"INFO", "INFO", "INFO", "INFO", "INFO", "DEBUG", "DEBUG", "WARN", "ERROR"}
	words := []string{"connection accepted", "cache miss", "request done", "upstream timeout 30", "connection refused",
		"user denied", "retry scheduled", "flush finished"}
	for n := 0; n < mb<<20; {
		m, _ := fmt.Fprintf(b, "2026-03-%02dT%02d:%02d:%02d %s host%02d svc-%s status=%d latency=%d.%03d %s id=%08x %d\n",
			1+next(28), next(24), next(60), next(60), levels[next(len(levels))], next(40),
			[]string{"api", "web", "auth", "db"}[next(4)],
			[]int{200, 200, 200, 204, 301, 404, 500, 503}[next(8)], next(900), next(1000), words[next(len(words))], next(1<<31),
			next(10000))
		n += m
	}
	if err := b.Flush(); err != nil {
		return "", err
	}
	return name, f.Close()
}
