//go:build !unix

package clone

import (
	"os"
	"os/exec"
)

// group does nothing: there are no process groups, so only git itself is killed.
func group(*exec.Cmd, *os.File) {}

// system returns required variables of this system.
func system() []string {
	var all []string
	for _, name := range []string{"SystemRoot", "TEMP", "TMP"} {
		if value := os.Getenv(name); value != "" {
			all = append(all, name+"="+value)
		}
	}
	return all
}
