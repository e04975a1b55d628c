package shell_test

import (
	"testing"

	"hako/internal/run"
	"hako/internal/run/runtest"
	"hako/internal/shell"
	"hako/internal/shell/builtin"
)

// TestRunner runs the suite that every runner passes.
func TestRunner(t *testing.T) {
	runtest.Test(t, func(*testing.T) run.Runner {
		return shell.NewSession(shell.Options{Commands: builtin.All()})
	})
}
