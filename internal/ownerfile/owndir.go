package ownerfile

import (
	"fmt"
	"os"
	"path/filepath"
)

// OwnDir makes a directory that only its owner can enter. One that others can enter or replace is refused.
func OwnDir(path string) error {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return refuse(path, "it cannot be made", "", err)
	}
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return refuse(path, "", "", err)
	case !info.IsDir():
		return refuse(path, "it is not a directory", "move it away", nil)
	case !ownedByUser(info):
		return refuse(path, "it belongs to somebody else", "move it away", nil)
	case hasMode(info.Mode(), 0o077):
		return refuse(path, fmt.Sprintf("others may enter it (mode %04o)", info.Mode().Perm()), "chmod 700 "+shellWord(path),
			nil)
	}
	above, err := os.Stat(filepath.Dir(path))
	if err != nil {
		return refuse(path, "", "", err)
	}
	return trustedDir(filepath.Dir(path), path, above)
}
