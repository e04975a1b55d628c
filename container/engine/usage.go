package engine

import (
	"context"
	"net/url"
	"time"
)

// A Usage is what a container uses now, and has used. One that does not run uses
// nothing: everything is zero.
type Usage struct {
	CPU         time.Duration // since the start, over all processors
	Throttled   time.Duration // for how long it was held back by its limit
	Memory      int64         // bytes, without the cache that can be dropped
	MemoryLimit int64
	Pids        int64
	PidsLimit   int64
}

// Usage measures a container once.
func (e *Engine) Usage(ctx context.Context, id string) (Usage, error) {
	const op = "measure container"
	path, err := containerPath(op, id, "/stats")
	if err != nil {
		return Usage{}, err
	}
	var s wireStats
	r := request{op: op, subject: id, path: path, query: url.Values{"stream": {"0"}, "one-shot": {"1"}}}
	if err := e.call(ctx, r, &s); err != nil {
		return Usage{}, err
	}
	return s.usage(), nil
}

type wireStats struct {
	CPU struct {
		Usage struct {
			Total int64 `json:"total_usage"`
		} `json:"cpu_usage"`
		Throttling struct {
			Time int64 `json:"throttled_time"`
		} `json:"throttling_data"`
	} `json:"cpu_stats"`
	Memory struct {
		Usage, Limit int64
		Stats        map[string]int64
	} `json:"memory_stats"`
	Pids struct {
		Current int64
		Limit   float64 // unlimited is more than an int64 holds
	} `json:"pids_stats"`
}

func (s wireStats) usage() Usage {
	u := Usage{
		CPU: time.Duration(s.CPU.Usage.Total), Throttled: time.Duration(s.CPU.Throttling.Time),
		Memory: s.Memory.Usage - s.droppable(), MemoryLimit: s.Memory.Limit, Pids: s.Pids.Current,
	}
	if s.Pids.Limit < 1<<32 {
		u.PidsLimit = int64(s.Pids.Limit)
	}
	return u
}

// droppable is the cache that the kernel gives back when asked, by its names in
// the first and second version of control groups.
func (s wireStats) droppable() int64 {
	for _, name := range []string{"total_inactive_file", "inactive_file"} {
		if n, ok := s.Memory.Stats[name]; ok && n < s.Memory.Usage {
			return n
		}
	}
	return 0
}
