package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// onTerminal starts hako at a terminal of its own.
func onTerminal(t *testing.T, environ []string, words ...string) *screen {
	t.Helper()
	master, slave := openPty(t)
	home := t.TempDir()
	s := &screen{t: t, keys: master, cmd: exec.Command(os.Args[0], words...)}
	s.cmd.Dir, s.cmd.Env = home, append(os.Environ(), asHako+"=1", "TERM=xterm", "LC_ALL=C.UTF-8", "HOME="+home,
		"XDG_STATE_HOME="+filepath.Join(home, "state"))
	s.cmd.Env = append(s.cmd.Env, environ...)
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

// At a terminal the demo waits for its reader, who may leave.
func TestDemoWaits(t *testing.T) {
	s := onTerminal(t, nil, "demo")
	s.waitFor("\x1b[1m1/8")
	s.waitFor("Enter continues")
	s.press("\n")
	s.waitFor("2/8")
	s.waitFor("q ends")
	s.press("q\n")
	s.leave(0)
	if text := s.text(); strings.Contains(text, "3/8") {
		t.Errorf("it went on: %s", text)
	}
}

func (s *screen) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen.String()
}

// Colours are for terminals, and for those who want them.
func TestDoctorColours(t *testing.T) {
	s := onTerminal(t, nil, "doctor", "policy")
	s.waitFor("\x1b[32mok  \x1b[0m policy")
	s.leave(0)
	s = onTerminal(t, []string{"NO_COLOR=1"}, "doctor", "policy")
	s.waitFor("ok   policy")
	s.leave(0)
	if text := s.text(); strings.Contains(text, "\x1b[3") {
		t.Errorf("it has colours: %q", text)
	}
}
