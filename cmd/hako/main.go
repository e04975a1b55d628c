// Hako runs shell commands on behalf of language models, and refuses the rest.
package main

import (
	"os"

	"hako/internal/cli"
	"hako/internal/host/cage"
)

func main() {
	cage.Guest(os.Args[0]) // the part of us that programs are started from
	os.Exit(cli.Main(os.Args, os.Stdin, os.Stdout, os.Stderr))
}
