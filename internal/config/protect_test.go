package config

import (
	"slices"
	"testing"

	"hako/internal/protect"
)

// TestSettingsAreProtected checks that the files settings are read from are among
// the names that nobody in a sandbox can write.
func TestSettingsAreProtected(t *testing.T) {
	for _, name := range []string{fileName, compatName} {
		if !slices.Contains(protect.Default(), name) {
			t.Errorf("%s is not protected", name)
		}
	}
}
