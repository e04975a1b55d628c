//go:build unix

package player

import (
	"os/exec"
	"syscall"
)

// group starts a program in its own process group, so that its children are killed with it.
func group(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
