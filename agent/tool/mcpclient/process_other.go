//go:build !unix

package mcpclient

import "os/exec"

// apart does nothing: there are no groups here, and the program alone is ended.
func newProcessGroup(*exec.Cmd) {}

// terminate does nothing: a program can only be killed.
func (p *process) terminate() {}

func (p *process) kill() { _ = p.cmd.Process.Kill() }
