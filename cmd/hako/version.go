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
	var asJSON bool
	cmd := command("version", cobra.NoArgs, func(*cobra.Command, []string) error {
		commit := revision()
		if asJSON {
			return encode(s.out, map[string]string{"version": version, "commit": commit, "go": runtime.Version(),
				"platform": runtime.GOOS + "/" + runtime.GOARCH})
		}
		fmt.Fprintf(s.out, "hako %s %s %s/%s\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
		return nil
	})
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
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
