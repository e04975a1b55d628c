package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// A child is another process of this program. It gets its settings as an argument,
// writes one line of JSON when it is ready, ends when its input does, and writes its
// report.
type child struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *json.Decoder
}

// start starts a child and waits until it is ready.
func start(part string, settings, ready any) (*child, error) {
	words, err := json.Marshal(settings)
	if err != nil {
		return nil, err
	}
	c := &child{cmd: exec.Command(os.Args[0], part, string(words))}
	c.cmd.Stderr = os.Stderr
	out, err := c.cmd.StdoutPipe()
	if err == nil {
		c.in, err = c.cmd.StdinPipe()
	}
	if err == nil {
		err = c.cmd.Start()
	}
	if err != nil {
		return nil, err
	}
	c.out = json.NewDecoder(out)
	if err := c.out.Decode(ready); err != nil {
		c.kill()
		return nil, fmt.Errorf("%s did not start: %w", part, err)
	}
	return c, nil
}

// end ends the child and reads its report.
func (c *child) end(report any) error {
	err := c.in.Close()
	if err == nil {
		err = c.out.Decode(report)
	}
	if werr := c.cmd.Wait(); err == nil {
		err = werr
	}
	return err
}

func (c *child) kill() {
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait()
}

// used is its processor time, after it has ended.
func (c *child) used() time.Duration {
	return c.cmd.ProcessState.UserTime() + c.cmd.ProcessState.SystemTime()
}

// processStats are those of a running process.
type processStats struct {
	cpu      time.Duration
	resident int64 // bytes
	largest  int64 // maximum of resident
}

// tick is the unit of the kernel's accounting, on every Linux.
const tick = time.Second / 100

// stats reads the statistics of the process. What cannot be read is zero.
func (c *child) stats() (v processStats) {
	dir := "/proc/" + strconv.Itoa(c.cmd.Process.Pid)
	stat, _ := os.ReadFile(dir + "/stat")
	if _, rest, ok := strings.Cut(string(stat), ") "); ok {
		if f := strings.Fields(rest); len(f) > 12 {
			user, _ := strconv.Atoi(f[11])
			system, _ := strconv.Atoi(f[12])
			v.cpu = time.Duration(user+system) * tick
		}
	}
	status, _ := os.ReadFile(dir + "/status")
	v.resident, v.largest = kilobytes(string(status), "VmRSS:"), kilobytes(string(status), "VmHWM:")
	return v
}

func kilobytes(status, name string) (n int64) {
	_, rest, _ := strings.Cut(status, name)
	_, _ = fmt.Sscan(rest, &n)
	return n << 10
}

// serve is a child's side: it parses its settings, and returns a channel that is closed
// when the parent ends it, or is gone.
func serve(words string, settings any) (ended <-chan struct{}, err error) {
	if err := json.Unmarshal([]byte(words), settings); err != nil {
		return nil, err
	}
	done := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(done)
	}()
	return done, nil
}

func writeReport(v any) error { return json.NewEncoder(os.Stdout).Encode(v) }
