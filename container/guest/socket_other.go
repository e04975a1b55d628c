//go:build !linux

package guest

import (
	"context"
	"io/fs"
	"net"
	"os"
)

// dialSocket connects to a socket without following links. It does not detect a link that replaces the socket after
// the check.
func dialSocket(ctx context.Context, socket string) (net.Conn, error) {
	info, err := os.Lstat(socket)
	if err != nil {
		return nil, err
	}
	if info.Mode().Type() != fs.ModeSocket {
		return nil, notSocket(socket)
	}
	var d net.Dialer
	return d.DialContext(ctx, "unix", socket)
}
