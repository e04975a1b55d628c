package engine

import (
	"context"
	"net/url"
	"time"
)

// A Usage is what a container uses now, and has used. It is zero for one that does not run.
type Usage struct {
	CPU         time.Duration // since the start, over all processors
	Memory      int64         // bytes, without the cache that can be dropped
	MemoryLimit int64
	Pids        int64
}

// Usage measures a container once.
func (e *Engine) Usage(ctx context.Context, id string) (Usage, error) {
	const op = "measure container"
	path, err := containerPath(op, id, "/stats")
	if err != nil {
		return Usage{}, err
	}
	var s struct {
		CPU struct {
			Usage struct {
				Total int64 `json:"total_usage"`
			} `json:"cpu_usage"`
		} `json:"cpu_stats"`
		Memory struct {
			Usage, Limit int64
			Stats        map[string]int64
		} `json:"memory_stats"`
		Pids struct{ Current int64 } `json:"pids_stats"`
	}
	r := request{op: op, subject: id, path: path, query: url.Values{"stream": {"0"}, "one-shot": {"1"}}}
	if err := e.call(ctx, r, &s); err != nil {
		return Usage{}, err
	}
	u := Usage{CPU: time.Duration(s.CPU.Usage.Total), Memory: s.Memory.Usage, MemoryLimit: s.Memory.Limit,
		Pids: s.Pids.Current}
	for _, cache := range []string{"total_inactive_file", "inactive_file"} { // cgroup version 1 and 2
		if n, ok := s.Memory.Stats[cache]; ok && n < u.Memory {
			u.Memory -= n
			break
		}
	}
	return u, nil
}
