package queue

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"hako/run/fault"
)

// fullDisk is a child process that sees a disk of its own and fills it.
func fullDisk(dir string) {
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=4m,mode=700"); err != nil {
		fmt.Println("cannot mount:", err)
		return
	}
	q, err := Open(context.Background(), Options{Dir: dir, RetryFor: time.Second, MaxBytes: 1 << 20})
	if err != nil {
		fmt.Println("open:", err)
		return
	}
	n := 0
	for ; err == nil && n < 1000; n++ {
		err = fillOne(q, fmt.Sprint(n))
	}
	fmt.Printf("%v after %d: %v; %s\n", fault.KindOf(err), n, err, fault.Hint(err))
	q.Close()
}

// fillOne leaves a task with a large step.
func fillOne(q *Queue, id string) error {
	if _, err := q.Put(context.Background(), Item{ID: id}); err != nil {
		return err
	}
	l, err := q.Take(context.Background())
	if err != nil {
		return err
	}
	return l.Save(context.Background(), json.RawMessage(`"`+strings.Repeat("x", 64<<10)+`"`))
}

// A disk that is full ends in an error that says so.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "QUEUE_TEST_CHILD=", "QUEUE_TEST_DISK="+t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		Pdeathsig:   syscall.SIGKILL,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}}
	out, err := cmd.CombinedOutput()
	if err != nil || strings.Contains(string(out), "cannot mount") {
		if os.Getenv("HAKO_REQUIRE_TOOLS") == "1" {
			t.Fatalf("%s%v", out, err)
		}
		t.Skipf("no disk of our own: %s%v", out, err)
	}
	if !strings.HasPrefix(string(out), "exhausted after ") {
		t.Errorf("%s", out)
	}
	t.Logf("%s", out)
}
