package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set by the release build: -ldflags "-X main.version=v1.2.3".
var version = "devel"

func newVersion(s streams) *cobra.Command {
	var o common
	cmd := command("version", cobra.NoArgs, func(*cobra.Command, []string) error {
		platform := runtime.GOOS + "/" + runtime.GOARCH
		return o.output(s.out, map[string]string{"version": version, "commit": revision(), "go": runtime.Version(),
			"platform": platform}, func() error {
			fmt.Fprintf(s.out, "hako %s %s %s\n", version, runtime.Version(), platform)
			return nil
		})
	})
	o.registerJSON(cmd.Flags(), "")
	return cmd
}

func revision() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return ""
}
