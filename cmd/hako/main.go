// Hako runs shell commands on behalf of language models, and refuses the rest.
package main

import (
	"os"

	"hako/internal/cli"
)

func main() {
	os.Exit(cli.Main(os.Args, os.Stdin, os.Stdout, os.Stderr))
}
