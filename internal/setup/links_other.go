//go:build !unix

package setup

import "io/fs"

// linkCount tells how many names a file has, as far as it can be told here.
func linkCount(fs.FileInfo) int { return 1 }
