//go:build !unix

package mcpclient

import "os/exec"

// newProcessGroup does nothing: without process groups only the program itself is ended.
func newProcessGroup(*exec.Cmd) {}

// terminate does nothing: a program can only be killed.
func (p *process) terminate() {}

func (p *process) kill() { _ = p.cmd.Process.Kill() }
