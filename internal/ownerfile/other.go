//go:build !unix

package ownerfile

import "io/fs"

// Without permission bits, the directories of the user's profile keep others out.
const noFollowFlag = 0

func hasMode(fs.FileMode, fs.FileMode) bool { return false }
func ownedByUser(fs.FileInfo) bool          { return true }
func ownedByRoot(fs.FileInfo) bool          { return false }
