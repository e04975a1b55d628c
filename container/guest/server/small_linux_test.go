package server

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"

	"hako/container/guest"
)

// TestSmall works a guest hard and looks at what it holds on to, with a client
// still connected.
func TestSmall(t *testing.T) {
	if testing.Short() {
		t.Skip("long: the race detector takes more")
	}
	d := newDen(t, guest.Options{})
	var wg sync.WaitGroup
	for range 200 {
		wg.Go(func() {
			do(t.Context(), d.Client, guest.Command{Script: "sleep 0.2; seq 20000", Stdout: io.Discard})
		})
	}
	wg.Wait()
	for range 300 {
		d.do(t, guest.Command{Script: execArgs, Args: []string{"true"}})
	}
	d.do(t, guest.Command{Script: execArgs, Args: []string{"head", "-c", "100000000", "/dev/zero"}, Stdout: io.Discard})
	eventually(t, "the guest is small", func() bool {
		size := resident(t, d.cmd.Process.Pid)
		return size > 0 && size <= 15<<10
	})
	t.Logf("%d kB", resident(t, d.cmd.Process.Pid))
}

// resident is how many kilobytes a process has in memory.
func resident(t *testing.T, pid int) (size int) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "VmRSS:")
	fmt.Sscan(rest, &size)
	return size
}
