//go:build !linux

package server

import (
	"fmt"
	"os"
	"path/filepath"

	"hako/container/guest"
)

// Guest refuses to be one: it works inside Linux containers only.
func Guest(called string, _ []string) {
	if filepath.Base(called) != guest.Name {
		return
	}
	fmt.Fprintf(os.Stderr, "%s: this works inside Linux containers only\n", guest.Name)
	os.Exit(2)
}
