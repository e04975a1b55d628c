//go:build !unix

package ownerfile

import "io/fs"

// Where permissions are not nine bits the directories of the user's profile
// keep others out, and there is nothing to check here.
const noFollow = 0

func shared(fs.FileMode, fs.FileMode) bool { return false }
func ours(fs.FileInfo) bool                { return true }
func root(fs.FileInfo) bool                { return false }
