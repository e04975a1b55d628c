//go:build unix

package mcpclient

import (
	"os/exec"
	"syscall"
)

// apart puts a program into a group of its own, so that what it starts can be ended with it, and so that a key pressed
// for us does not reach it.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func (p *process) terminate() { _ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGTERM) }

func (p *process) kill() { _ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) }
