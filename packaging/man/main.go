// Man writes a manual page for every command of hako, from the same words that
// its help prints:
//
//	go run ./packaging/man DIRECTORY
//
// It is a program of its own so that hako does not carry it. Nothing in the pages
// depends on the time or the machine.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"hako/internal/cli"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: man DIRECTORY")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "man:", err)
		os.Exit(1)
	}
}

// write makes the directory and the pages in it.
func write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, p := range pages(cli.Tree()) {
		if err := os.WriteFile(filepath.Join(dir, p.file()), []byte(p.roff()), 0o644); err != nil {
			return err
		}
	}
	for name, command := range otherNames {
		link := fmt.Sprintf(".so man1/%s.1\n", strings.ReplaceAll(command, " ", "-"))
		if err := os.WriteFile(filepath.Join(dir, name+".1"), []byte(link), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// otherNames are the names hako answers to, and what they stand for.
var otherNames = map[string]string{"llmsh": "hako sh", "llmcmd": "hako cmd", "aicli": "hako"}
