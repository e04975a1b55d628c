package server

import (
	"context"
	"io"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"hako/container/guest"
)

// BenchmarkExec measures a command that does nothing, and the median.
func BenchmarkExec(b *testing.B) { newDen(b, guest.Options{}).measure(b) }

// BenchmarkExecInside does the same where commands really run.
func BenchmarkExecInside(b *testing.B) {
	newBoxOf(b, "coding-agent-executor-python:latest", guest.Options{}, "-v", "/workspace").measure(b)
}

func (d *den) measure(b *testing.B) {
	times := make([]time.Duration, 0, b.N)
	for b.Loop() {
		began := time.Now()
		if res, err := d.Exec(context.Background(), guest.Command{Script: execArgs, Args: []string{"true"}}); err != nil || res.Exit != 0 {
			b.Fatal(res, err)
		}
		times = append(times, time.Since(began))
	}
	report(b, times)
}

// BenchmarkScriptInside has the shell in between, as most commands do.
func BenchmarkScriptInside(b *testing.B) {
	d := newBoxOf(b, "coding-agent-executor-python:latest", guest.Options{}, "-v", "/workspace")
	times := make([]time.Duration, 0, b.N)
	for b.Loop() {
		began := time.Now()
		if res, err := (guest.Runner{Client: d.Client}).Run(b.Context(), scriptRequest("true")); err != nil || res.Exit != 0 {
			b.Fatal(res, err)
		}
		times = append(times, time.Since(began))
	}
	report(b, times)
}

// BenchmarkPing is the way to the guest and back.
func BenchmarkPing(b *testing.B) {
	d := newDen(b, guest.Options{})
	for b.Loop() {
		if err := d.Ping(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkForkExec is what the system takes for the same.
func BenchmarkForkExec(b *testing.B) {
	times := make([]time.Duration, 0, b.N)
	for b.Loop() {
		began := time.Now()
		pid, err := syscall.ForkExec("/bin/true", []string{"true"}, &syscall.ProcAttr{Files: []uintptr{0, 1, 2}})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := syscall.Wait4(pid, nil, 0, nil); err != nil {
			b.Fatal(err)
		}
		times = append(times, time.Since(began))
	}
	report(b, times)
}

func report(b *testing.B, times []time.Duration) {
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2].Microseconds()), "µs-p50")
	b.ReportMetric(float64(times[len(times)*99/100].Microseconds()), "µs-p99")
}

// BenchmarkExecEight has eight at a time.
func BenchmarkExecEight(b *testing.B) {
	d := newDen(b, guest.Options{})
	var left atomic.Int64
	left.Store(int64(b.N))
	done := make(chan error)
	b.ResetTimer()
	for range 8 {
		go func() {
			var err error
			for left.Add(-1) >= 0 && err == nil {
				_, err = d.Exec(context.Background(), guest.Command{Script: execArgs, Args: []string{"true"}})
			}
			done <- err
		}()
	}
	for range 8 {
		if err := <-done; err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "execs/s")
}

// BenchmarkDialExec is what a fresh process has to do.
func BenchmarkDialExec(b *testing.B) {
	d := newDen(b, guest.Options{})
	for b.Loop() {
		c, err := guest.Dial(context.Background(), d.opts.Socket)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := c.Exec(context.Background(), guest.Command{Script: execArgs, Args: []string{"true"}}); err != nil {
			b.Fatal(err)
		}
		c.Close()
	}
}

// BenchmarkOutput is how fast output comes through.
func BenchmarkOutput(b *testing.B) {
	d := newDen(b, guest.Options{})
	b.SetBytes(10_000_000)
	for b.Loop() {
		if _, err := d.Exec(context.Background(), guest.Command{Script: execArgs, Args: []string{"head", "-c", "10000000", "/dev/zero"},
			Stdout: io.Discard}); err != nil {
			b.Fatal(err)
		}
	}
}
