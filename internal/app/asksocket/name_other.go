//go:build !linux

package asksocket

import "path/filepath"

// socketPath returns the name of the socket in dir. A name that is too long fails.
func socketPath(dir string) (name string, done func(), err error) {
	return filepath.Join(dir, socketName), func() {}, nil
}
