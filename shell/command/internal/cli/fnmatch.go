package cli

import "hako/shell/pattern"

// Fnmatch reports whether the whole of s matches a shell pattern. A slash and a
// leading dot are not special.
func Fnmatch(glob, s string, fold bool) bool {
	mode := pattern.Mode(0)
	if fold {
		mode = pattern.Fold
	}
	return pattern.Compile(glob, mode).Match(s)
}
