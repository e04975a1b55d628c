package speech

import (
	"os"
	"path/filepath"
	"testing"

	"hako/run/fault"
)

// A place is checked before there is anything to write, and left as it was.
func TestCheckFile(t *testing.T) {
	dir := t.TempDir()
	document := filepath.Join(dir, "document.txt")
	if err := os.WriteFile(document, []byte("not a sound"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]fault.Kind{
		filepath.Join(dir, "new.wav"):       fault.Other,
		filepath.Join(dir, "none", "o.wav"): fault.NotFound,
		document:                            fault.Invalid,
		dir:                                 fault.Invalid,
	} {
		err := CheckFile(path)
		if fault.KindOf(err) != want || (err == nil) != (want == fault.Other) || err != nil && fault.Hint(err) == "" {
			t.Errorf("%s: %v, hint %q", path, err, fault.Hint(err))
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestCheckFileWhereNothingCanBeMade(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	probe := filepath.Join(dir, "probe")
	if os.WriteFile(probe, nil, 0o600) == nil {
		t.Skip("modes mean nothing to this user")
	}
	if err := CheckFile(filepath.Join(dir, "o.wav")); fault.KindOf(err) != fault.Invalid || fault.Hint(err) == "" {
		t.Errorf("%v, hint %q", err, fault.Hint(err))
	}
}
