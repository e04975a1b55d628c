package main

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"
)

// TestMeanwhile: what is quick is not talked about, what is slow is told once.
func TestMeanwhile(t *testing.T) {
	for took, want := range map[time.Duration]string{0: "", slowAfter - 1: "", slowAfter + 1: "hako: asking\n",
		time.Hour: "hako: asking\n"} {
		synctest.Test(t, func(t *testing.T) {
			var told bytes.Buffer
			over := (streams{err: &told}).waiting("asking")
			time.Sleep(took)
			over()
			time.Sleep(time.Hour)
			if got := told.String(); got != want {
				t.Errorf("after %v: %q", took, got)
			}
		})
	}
}
