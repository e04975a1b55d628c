package command

import (
	"path/filepath"
	"testing"

	"hako/shell/command/internal/commandtest"
)

// sharedTranscripts names the commands that are another by a second name and
// appear in its transcript.
var sharedTranscripts = map[string]string{
	"egrep": "grep", "fgrep": "grep", "gawk": "awk", "mawk": "awk",
	"gunzip": "gzip", "zcat": "gzip", "bunzip2": "bzip2", "bzcat": "bzip2", "unxz": "xz", "xzcat": "xz",
	"uudecode": "uuencode", "sha1sum": "sha256sum", "sha224sum": "sha256sum", "sha384sum": "sha256sum",
	"sha512sum": "sha256sum",
	"base32":    "base64",
}

// TestEveryCommandHasTranscript keeps the list of commands and testdata in step.
func TestEveryCommandHasTranscript(t *testing.T) {
	for name := range All() {
		if transcriptOf(t, name) != "" {
			continue
		}
		other := sharedTranscripts[name]
		if other == "" || !commandtest.Mentions(t, transcriptOf(t, other), name) {
			t.Errorf("%s has no transcript: write FAMILY/testdata/%s.txtar", name, name)
		}
	}
}

// transcriptOf is the transcript of a command in any family, empty without one.
func transcriptOf(t *testing.T, name string) string {
	t.Helper()
	found, err := filepath.Glob("*/testdata/" + name + ".txtar")
	if err != nil || len(found) > 1 {
		t.Fatalf("transcripts of %s: %q, %v", name, found, err)
	}
	if len(found) == 0 {
		return ""
	}
	return found[0]
}
