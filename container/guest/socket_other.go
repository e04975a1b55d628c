//go:build !linux

package guest

import (
	"context"
	"io/fs"
	"net"
	"os"
)

// dialSocket connects to a socket and not to what a link leads to. Containers run in a virtual machine here, whose
// files come late: a link that takes the place of the socket in between is not seen.
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
