package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"hako/internal/app/coder"
	"hako/internal/app/coder/queue"
	"hako/internal/app/coder/store"
)

// queueSettings configure the measurement of a queue.
type queueSettings struct {
	Dir      string
	URL      string // empty means the embedded one
	Replicas int
	Tasks    int
	Rounds   int
}

// A queueReport is its result.
type queueReport struct {
	Rates    []float64                // tasks per second, for each round
	Accounts map[string]time.Duration // time of one charge, by the size of the account and where it is
	Saves    map[string]time.Duration // time to save one step, by its size
}

// runQueue measures the queue and the accounts beside it.
func runQueue(words string) error {
	var s queueSettings
	ended, err := serve(words, &s)
	if err != nil {
		return err
	}
	q, err := queue.Open(context.Background(), queue.Options{URL: s.URL, Replicas: s.Replicas,
		Dir: filepath.Join(s.Dir, "q")})
	if err != nil {
		return err
	}
	defer q.Close()
	if err := writeReport(struct{}{}); err != nil {
		return err
	}
	report := queueReport{Accounts: map[string]time.Duration{}}
	for round := range s.Rounds {
		rate, e := throughput(q, round, s.Tasks)
		report.Rates, err = append(report.Rates, rate), errors.Join(err, e)
	}
	for name, st := range map[string]*store.Store{"shelf": {Dir: s.Dir, KeyValue: q.KeyValue("store")},
		"file": {Dir: s.Dir}} {
		for _, size := range []int{100, 1000} {
			took, e := chargeTime(st, size)
			report.Accounts[fmt.Sprintf("%s %d", name, size)], err = took, errors.Join(err, e)
		}
	}
	saves, serr := saveTimes(q)
	if report.Saves = saves; errors.Join(err, serr) != nil {
		return errors.Join(err, serr)
	}
	<-ended
	return writeReport(report)
}

// throughput has producers put tasks while workers take and end them.
func throughput(q *queue.Queue, round, tasks int) (rate float64, err error) {
	const producers, workers = 8, 16
	payload := json.RawMessage(`{"repository":"owner/project","issue":12,"title":"a title as they are"}`)
	var made, done atomic.Int64
	var all sync.WaitGroup
	ctx, stop := context.WithCancelCause(context.Background())
	defer stop(nil)
	began := time.Now()
	for range producers {
		all.Go(func() {
			for n := made.Add(1); n <= int64(tasks) && ctx.Err() == nil; n = made.Add(1) {
				if _, err := q.Put(ctx, queue.Item{ID: fmt.Sprintf("github/owner/project-%d/issue/%d", round, n),
					Payload: payload}); err != nil {
					stop(err)
				}
			}
		})
	}
	for range workers {
		all.Go(func() {
			for ctx.Err() == nil {
				l, err := q.Take(ctx)
				if err == nil {
					err = l.Done(ctx, nil)
				}
				if err != nil || done.Add(1) == int64(tasks) {
					stop(err)
				}
			}
		})
	}
	all.Wait()
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return 0, err
	}
	return float64(tasks) / time.Since(began).Seconds(), nil
}

// chargeTime measures a charge to a user with a number of tasks.
func chargeTime(st *store.Store, size int) (time.Duration, error) {
	const times = 100
	user, spent := fmt.Sprint("somebody with ", size), coder.Spent{Cost: 1}
	for n := range size {
		if _, err := st.Charge(context.Background(), user, fmt.Sprintf("issue-%d-k3j9x2abcd", n), spent); err != nil {
			return 0, err
		}
	}
	var list []time.Duration
	for range times {
		began := time.Now()
		if _, err := st.Charge(context.Background(), user, "issue-1-k3j9x2abcd", spent); err != nil {
			return 0, err
		}
		list = append(list, time.Since(began))
	}
	return at(sorted(list), 50), nil
}

// saveTimes measures saving a step: one that fits into the record of its task, and one
// that does not.
func saveTimes(q *queue.Queue) (map[string]time.Duration, error) {
	ctx := context.Background()
	if _, err := q.Put(ctx, queue.Item{ID: "github/owner/project/issue/1"}); err != nil {
		return nil, err
	}
	l, err := q.Take(ctx)
	if err != nil {
		return nil, err
	}
	all := map[string]time.Duration{}
	for name, size := range map[string]int{"4 KB": 4 << 10, "40 KB": 40 << 10} {
		step, _ := json.Marshal(strings.Repeat("x", size))
		var list []time.Duration
		for range 200 {
			began := time.Now()
			if err := l.Save(ctx, step); err != nil {
				return nil, err
			}
			list = append(list, time.Since(began))
		}
		all[name] = at(sorted(list), 50)
	}
	return all, l.Done(ctx, nil)
}
