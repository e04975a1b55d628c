// Hako runs shell commands on behalf of language models, and refuses the rest.
//
// This package is the command line: it parses flags, calls internal/app and prints.
// Standard output carries results only. Everything else goes to standard error
// with a "hako:" prefix, in lower case, without a final period. Parts are put
// together in internal/app/wire.go and nowhere else.
package main

import (
	"os"
	_ "time/tzdata" // for machines without a database of time zones

	"hako/container/guest/server"
	"hako/host/sandbox"
	"hako/internal/app"
	"hako/internal/worker"
)

func main() {
	sandbox.Main(os.Args[0])                    // the part of us that programs are started from
	server.Main(os.Args[0], os.Args[1:])        // the part of us that is inside of containers
	worker.Main(os.Args[0], app.NewWorkerParts) // the part of us that runs scripts for servers
	os.Exit(Main(os.Args, os.Stdin, os.Stdout, os.Stderr))
}
