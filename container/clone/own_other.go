//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package clone

import "os"

// ours returns true: the user's profile directory keeps others out.
func ours(os.FileInfo) bool { return true }

// openToOthers returns false, for the same reason.
func openToOthers(os.FileInfo) bool { return false }

// share does nothing: TryLock always fails here, so that no cache is ever removed as unused.
func share(*os.File) error { return nil }
