package main

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"hako/container/guest/server"
	"hako/host/sandbox"
	"hako/internal/app"
	"hako/internal/worker"
)

// asHako is the variable that makes the test binary be hako.
const asHako = "HAKO_TEST_AS_HAKO"

// raceSetting and raceValue keep every hako that is started under the race
// detector from sleeping a second before it ends.
const raceSetting, raceValue = "GORACE", "atexit_sleep_ms=0"

func TestMain(m *testing.M) {
	sandbox.Main(os.Args[0])
	server.Main(os.Args[0], os.Args[1:])
	worker.Main(os.Args[0], app.NewWorkerParts)
	if os.Getenv(asHako) != "" {
		beHako()
	}
	os.Setenv(raceSetting, raceValue) // for those who inherit it; our own detector has read it already
	testscript.Main(m, map[string]func(){"hako": beHako, "llmsh": beHako, "aicli": beHako, "llmcmd": beHako})
}

func beHako() { os.Exit(Main(os.Args, os.Stdin, os.Stdout, os.Stderr)) }
