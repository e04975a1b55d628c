//go:build unix

package player

import (
	"os/exec"
	"syscall"
)

// group puts a program into a group of its own, so that what it starts can be
// killed with it.
func group(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
