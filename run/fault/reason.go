package fault

import (
	"errors"
	"io/fs"
)

// Reason strips the operation and path from an error of package os, for an [Error] that names them itself.
func Reason(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
