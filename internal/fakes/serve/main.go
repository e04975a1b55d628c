// Command serve serves a scenario for a program started by hand:
//
//	go run ./internal/fakes/serve internal/fakes/testdata/count-responses.yaml
//
// It prints the shell commands that set the environment, serves until Ctrl-C, then
// prints the violations. It exits with 1 if there were any. Standard output is for the
// shell, everything else goes to standard error.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"

	"hako/internal/fakes"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, out, messages io.Writer) int {
	if len(args) != 1 {
		fmt.Fprintln(messages, "usage: serve SCENARIO.yaml")
		return 2
	}
	sc, err := load(args[0])
	if err != nil {
		fmt.Fprintln(messages, "serve:", err)
		return 2
	}
	server := fakes.Start(sc)
	defer server.Close()
	export(out, server.Env())
	fmt.Fprintf(messages, "serving %d steps at %s until Ctrl-C\n", len(sc.Steps), server.URL())
	<-ctx.Done()
	violations := server.Finish()
	for _, v := range violations {
		fmt.Fprintln(messages, v)
	}
	fmt.Fprintf(messages, "%d requests, %d violations\n", len(server.Requests()), len(violations))
	return min(len(violations), 1)
}

func load(name string) (*fakes.Scenario, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return fakes.Parse(string(text))
}

// export writes shell commands. Variables of other services are unset, so that no real
// service is used by mistake.
func export(out io.Writer, env []string) {
	for _, name := range fakes.Names() {
		i := slices.IndexFunc(env, func(kv string) bool { return strings.HasPrefix(kv, name+"=") })
		if i < 0 {
			fmt.Fprintf(out, "unset %s\n", name)
			continue
		}
		v := strings.TrimPrefix(env[i], name+"=")
		fmt.Fprintf(out, "export %s='%s'\n", name, strings.ReplaceAll(v, "'", `'\''`))
	}
}
