// Hako runs shell commands for language models: confined, judged by a policy, and recorded.
//
// This package is the command line: it parses flags, calls internal/app and prints. Standard output carries results
// only. Messages go to standard error with a "hako:" prefix, in lower case, without a final period.
// internal/app/wire.go puts the parts together.
package main

import (
	"os"
	_ "time/tzdata" // for machines without a time zone database

	"hako/container/guest/server"
	"hako/host/sandbox"
	"hako/internal/app"
	"hako/internal/worker"
)

func main() {
	sandbox.Main(os.Args[0])                    // the sandbox helper that starts programs
	server.Main(os.Args[0], os.Args[1:])        // process 1 of containers
	worker.Main(os.Args[0], app.NewWorkerParts) // the worker that runs scripts for servers
	os.Exit(Main(os.Args, os.Stdin, os.Stdout, os.Stderr))
}
