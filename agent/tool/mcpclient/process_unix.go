//go:build unix

package mcpclient

import (
	"os/exec"
	"syscall"
)

// newProcessGroup puts a program into its own process group, so that its children are ended with it, and so that Ctrl-C
// in our terminal does not reach it.
func newProcessGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func (p *process) terminate() { _ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGTERM) }

func (p *process) kill() { _ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) }
