package container_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"hako/container"
	"hako/container/engine"
	"hako/run"
)

// A manager gives a task a container and a runner for it. It needs a Docker engine, so it is only compiled here.
func Example() {
	ctx := context.Background()
	docker, err := engine.Open("")
	if err != nil {
		log.Fatal(err)
	}
	manager, err := container.New(container.Options{
		State:  "/var/lib/example",
		Engine: docker,
		Gate:   func(task string, r run.Runner) run.Runner { return nil }, // put gate.New before r; nil runs nothing
		Record: func(task, what string) (func(error), error) { return func(error) {}, nil },
	})
	if err != nil {
		log.Fatal(err)
	}
	defer manager.Close()
	if _, err := manager.Prepare(ctx, container.Task{ID: "fix-42"}, "python"); err != nil {
		log.Fatal(err)
	}
	defer manager.Cleanup(ctx, "fix-42")
	res, err := manager.Runner("fix-42").Run(ctx, &run.Request{Script: "python3 -V", Stdout: os.Stdout})
	fmt.Println(res.Exit, err)
}

func ExampleNetwork_Covers() {
	fmt.Println(container.AllowList.Covers(container.None), container.AllowList.Covers(container.Open))
	// Output: true false
}

func ExampleCheckTask() {
	fmt.Println(container.CheckTask("fix-42"))
	fmt.Println(container.CheckTask("../etc"))
	// Output:
	// <nil>
	// read task ../etc: it has other characters than letters, digits, '.', '-' and '_'
}
