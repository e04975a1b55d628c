//go:build !unix

package ownerfile

import "io/fs"

// Without permission bits, the directories of the user's profile keep others out.
const noFollow = 0

func shared(fs.FileMode, fs.FileMode) bool { return false }
func ours(fs.FileInfo) bool                { return true }
func root(fs.FileInfo) bool                { return false }
