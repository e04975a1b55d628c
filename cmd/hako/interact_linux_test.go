package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"hako/internal/testload"
)

// openPty returns the two sides of a new terminal.
func openPty(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no terminals here:", err)
	}
	t.Cleanup(func() { master.Close() })
	fd := int(master.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no terminals here:", err)
	}
	_ = unix.IoctlSetWinsize(int(slave.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80})
	return master, slave
}

// A screen is an interactive hako and what it has shown so far.
type screen struct {
	t    *testing.T
	keys *os.File
	cmd  *exec.Cmd
	mu   sync.Mutex
	seen bytes.Buffer
}

func startScreen(t *testing.T, args ...string) *screen {
	t.Helper()
	master, slave := openPty(t)
	dir := t.TempDir()
	s := &screen{t: t, keys: master}
	s.cmd = exec.Command(os.Args[0], append([]string{"sh", "--no-config", "--audit", dir + "/audit.jsonl"}, args...)...)
	s.cmd.Env = append(os.Environ(), asHako+"=1", "TERM=xterm")
	s.cmd.Dir = dir
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = slave, slave, slave
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	slave.Close()
	t.Cleanup(func() { _ = s.cmd.Process.Kill() })
	go s.watch()
	return s
}

func (s *screen) watch() {
	b := make([]byte, 4096)
	for {
		n, err := s.keys.Read(b)
		s.mu.Lock()
		s.seen.Write(b[:n])
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// waitFor waits until text is shown, and forgets all that came up to it.
func (s *screen) waitFor(text string) {
	s.t.Helper()
	for end := time.Now().Add(testload.Bound(15 * time.Second)); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		s.mu.Lock()
		_, rest, ok := strings.Cut(s.seen.String(), text)
		if ok {
			s.seen.Reset()
			s.seen.WriteString(rest)
		}
		s.mu.Unlock()
		if ok {
			return
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.t.Fatalf("waited for %q, see %q", text, s.seen.String())
}

func (s *screen) press(keys string) {
	s.t.Helper()
	if _, err := s.keys.WriteString(keys); err != nil {
		s.t.Fatal(err)
	}
}

// leave waits for the end and wants a certain status.
func (s *screen) leave(status int) {
	s.t.Helper()
	done := make(chan error, 1)
	go func() { done <- s.cmd.Wait() }()
	select {
	case <-done:
	case <-time.After(testload.Bound(15 * time.Second)):
		s.t.Fatal("it does not end")
	}
	if got := s.cmd.ProcessState.ExitCode(); got != status {
		s.t.Errorf("ended with %d, want %d", got, status)
	}
}

const (
	pressUp = "\x1b[A"
	pressC  = "\x03"
	pressD  = "\x04"
)

// TestInteractive sits down at a terminal.
func TestInteractive(t *testing.T) {
	s := startScreen(t, "--limit", "loops=1000")
	s.waitFor("/box$ ")
	s.press("echo $((6*7)) 箱\r")
	s.waitFor("\n42 箱")
	s.waitFor("/box$ ")

	s.press("x=kept; mkdir -p wonder/land; cd wonder\r") // state stays
	s.waitFor("/box/wonder$ ")
	s.press("echo is $x\r")
	s.waitFor("\nis kept")
	s.waitFor("/box/wonder$ ")

	s.press("cd ..\r")
	s.waitFor("/box$ ")
	s.press("ls won\t\r") // a file by Tab
	s.waitFor("wonder/")
	s.waitFor("\nland")
	s.waitFor("/box$ ")
	s.press("sha256s\t --help\r") // a command by Tab
	s.waitFor("usage: sha256sum")
	s.waitFor("/box$ ")

	s.press("echo once\r")
	s.waitFor("\nonce")
	s.waitFor("/box$ ")
	s.press(pressUp + "\r") // the last line by Up
	s.waitFor("\nonce")
	s.waitFor("/box$ ")

	s.press("for i in 1 2; do\r") // a line that goes on
	s.waitFor("> ")
	s.press("echo turn $i\r")
	s.waitFor("> ")
	s.press("done\r")
	s.waitFor("\nturn 1")
	s.waitFor("\nturn 2")
	s.waitFor("/box$ ")

	s.press("nope\r") // errors do not end it
	s.waitFor("nope: command not found")
	s.waitFor("/box$ ")
	s.press("while :; do :; done\r") // neither do limits
	s.waitFor("limit loops=1000")
	s.waitFor("/box$ ")
	s.press("false\r")
	s.waitFor("/box$ ")
	s.press(pressD)
	s.leave(1)
}

// TestInteractiveLeave ends a session by exit and by Ctrl-D.
func TestInteractiveLeave(t *testing.T) {
	s := startScreen(t)
	s.waitFor("/box$ ")
	s.press("exit 3\r")
	s.leave(3)
	s = startScreen(t)
	s.waitFor("/box$ ")
	s.press(pressD)
	s.leave(0)
}

// TestInteractiveInterrupt stops a command, but not the session, by Ctrl-C.
func TestInteractiveInterrupt(t *testing.T) {
	s := startScreen(t, "--limit", "time=1m")
	s.waitFor("/box$ ")
	s.press("echo begun; sleep 30\r")
	s.waitFor("\nbegun")
	s.press(pressC)
	s.waitFor("/box$ ")
	s.press("echo still here\r")
	s.waitFor("\nstill here")
	s.waitFor("/box$ ")
	s.press("read x; echo got $x\r") // a command that reads the keyboard
	time.Sleep(200 * time.Millisecond)
	s.press("typed\r")
	s.waitFor("got typed")
	s.waitFor("/box$ ")
	s.press(pressD)
	s.leave(0)
}
