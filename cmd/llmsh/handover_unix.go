//go:build unix

package main

import (
	"os"
	"path/filepath"
	"syscall"
)

// handOver replaces this process by the hako in the same directory, with the name llmsh. It returns if there is none.
func handOver(words []string) {
	self, err := os.Executable()
	if err != nil {
		return
	}
	_ = syscall.Exec(filepath.Join(filepath.Dir(self), "hako"), append([]string{"llmsh"}, words...), os.Environ())
}
