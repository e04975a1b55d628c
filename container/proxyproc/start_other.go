//go:build !unix

package proxyproc

import (
	"os"

	"hako/run/fault"
)

// Start fails: containers cannot reach sockets of this system.
func Start(string, []string, Settings, *os.File) error {
	return &fault.Error{Kind: fault.Unavailable, Op: "start egress proxy",
		Why: "this system has no sockets that containers reach", Hint: "set external_access to false"}
}
