package config

import (
	"fmt"
	"os"
	"path/filepath"
)

var auditKeys = []key{AuditPath}

// AuditPath is the audit log. Auditing cannot be switched off, only moved.
var AuditPath = Key[string]{
	Name: "audit.path", Env: "HAKO_AUDIT", Parse: file, Decides: "where the record is",
	Help:    "the audit log, a file that only its owner can read",
	Default: func(c *Config) string { return c.StateFile("audit.jsonl") },
}

// StateFile returns the full name of a file that hako keeps from run to run.
func (c *Config) StateFile(name string) string {
	dir := userDir(c.getenv, "XDG_STATE_HOME", filepath.Join(".local", "state"))
	if dir == "" { // a user without a home, as services have
		dir = filepath.Join(os.TempDir(), fmt.Sprintf("hako-%d", os.Getuid()))
	}
	return filepath.Join(dir, name)
}
