//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package editor

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"
)

// patience is how long to wait for the lock, which an attacker could hold forever.
const patience = 2 * time.Second

// lock keeps other editors out until unlock is called, which closes f. Without lock support it does nothing: changes
// are still detected.
func lock(ctx context.Context, f *os.File) (unlock func(), err error) {
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	pause := time.NewTicker(time.Millisecond)
	defer pause.Stop()
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return func() { f.Close() }, nil
		}
		select {
		case <-pause.C:
		case <-ctx.Done():
			f.Close()
			return func() {}, errBusy
		}
	}
}
