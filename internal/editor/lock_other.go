//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package editor

import (
	"context"
	"os"
)

// lock keeps nobody away here: two editors in one directory notice each other's
// changes except in the moment between the last look and the exchange.
func lock(_ context.Context, f *os.File) (unlock func(), err error) {
	return func() { f.Close() }, nil
}
