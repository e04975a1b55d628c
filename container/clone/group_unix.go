//go:build unix && !linux

package clone

import (
	"os"
	"os/exec"
	"syscall"
)

// group puts git into a group of its own, so that what it starts is killed with it.
func group(cmd *exec.Cmd, lock *os.File) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	if lock != nil {
		cmd.ExtraFiles = []*os.File{lock}
	}
}

// system returns what programs need of the environment on this system.
func system() []string { return nil }
