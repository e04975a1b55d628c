package guest

import (
	"context"
	"errors"
	"fmt"
	"net"

	"golang.org/x/sys/unix"
)

// dialSocket connects to a socket without following links. It connects by descriptor to the file that it checked,
// even if that is replaced meanwhile.
func dialSocket(ctx context.Context, socket string) (net.Conn, error) {
	fd, err := unix.Open(socket, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFSOCK {
		return nil, notSocket(socket)
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", fmt.Sprintf("/proc/self/fd/%d", fd))
	var op *net.OpError
	if errors.As(err, &op) {
		op.Addr = &net.UnixAddr{Name: socket, Net: "unix"} // the known path
	}
	return conn, err
}
