package clone

import (
	"os"
	"os/exec"
	"syscall"
)

// group starts git in a process group of its own, which is killed as a whole, also when hako dies.
func group(cmd *exec.Cmd, lock *os.File) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	if lock != nil {
		cmd.ExtraFiles = []*os.File{lock}
	}
}

// system returns required variables of this system.
func system() []string { return nil }
