package shell_test

import (
	"path/filepath"
	"testing"

	"hako/audit"
	"hako/gate"
	"hako/policy"
	"hako/quota"
	"hako/run"
	"hako/run/runtest"
	"hako/shell"
	"hako/shell/command"
)

// TestRunner runs the suite that every runner passes.
func TestRunner(t *testing.T) {
	runtest.Test(t, func(*testing.T) run.Runner { return newSession() })
}

// TestGatedRunner runs it again through the gate, as every door does. A gate
// parses the text itself: it trusts no tree that somebody else brings.
func TestGatedRunner(t *testing.T) {
	judge := policy.Virtual()
	runtest.Test(t, func(t *testing.T) run.Runner {
		log, err := audit.Open(filepath.Join(t.TempDir(), "audit.jsonl"), audit.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { log.Close() })
		return gate.New(newSession(), gate.Options{Policy: judge, Budget: quota.New(quota.Unlimited()), Log: log})
	}, "program before script")
}

func newSession() *shell.Session {
	return shell.New(shell.Options{Commands: command.All()})
}
