//go:build !linux

package server

import (
	"fmt"
	"os"
	"path/filepath"

	"hako/container/guest"
)

// Main refuses to be a guest, which works inside Linux containers only.
func Main(called string, _ []string) {
	if filepath.Base(called) != guest.Name {
		return
	}
	fmt.Fprintf(os.Stderr, "%s: this works inside Linux containers only\n", guest.Name)
	os.Exit(2)
}
