package host_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"hako/host"
	"hako/run"
)

// A runner over a directory: programs see it and the system's own directories, and cannot leave anything running. The
// program must call sandbox.Main first thing in main, because the runner starts it again as the sandbox's helper. Put a
// gate before the runner: by itself it asks nobody.
func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "app.log"), []byte("ERROR disk\n"), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	runner, err := host.New(context.Background(), host.Options{Root: dir})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer runner.Close()
	res, err := runner.Run(context.Background(), &run.Request{Script: `grep -c ERROR app.log`, Stdout: os.Stdout})
	fmt.Println("status", res.Exit, err)
	// Output:
	// 1
	// status 0 <nil>
}
