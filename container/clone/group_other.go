//go:build !unix

package clone

import (
	"os"
	"os/exec"
)

// group does nothing: there are no groups here, and git alone is killed.
func group(*exec.Cmd, *os.File) {}

// system returns what programs need of the environment on this system.
func system() []string {
	var all []string
	for _, name := range []string{"SystemRoot", "TEMP", "TMP"} {
		if value := os.Getenv(name); value != "" {
			all = append(all, name+"="+value)
		}
	}
	return all
}
