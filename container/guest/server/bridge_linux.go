package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"hako/container/egress"
	"hako/container/guest"
	"hako/container/guest/procgroup"
)

// bridge lets commands reach the proxy outside by an address inside, and returns
// what ends that. A guest that cannot do so works on without: it says so where
// the container's log is, and clients can see it from the greeting.
func (s *server) bridge(what string, who owner) (stop func()) {
	if what == "" {
		return func() {}
	}
	address, socket, _ := strings.Cut(what, "=")
	l, err := listenInside(address)
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: listen on %s: %v\ncommands have no network\n", guest.Name, address, err)
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	dials := make(semaphore, atOnce)
	go egress.Bridge(ctx, l, func() (net.Conn, error) {
		defer dials.take()()
		return who.dial(socket)
	})
	return cancel
}

// listenInside listens on an address of the container. One without any network
// may not even have the way to itself.
func listenInside(address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if err == nil {
		return l, nil
	}
	if up := raiseLoopback(); up != nil {
		return nil, fmt.Errorf("%w (the loopback interface cannot be switched on: %v)", err, up)
	}
	return net.Listen("tcp", address)
}

// raiseLoopback switches the loopback interface on.
func raiseLoopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	lo, err := unix.NewIfreq("lo")
	if err == nil {
		err = unix.IoctlIfreq(fd, unix.SIOCGIFFLAGS, lo)
	}
	if err != nil || lo.Uint16()&unix.IFF_UP != 0 {
		return err
	}
	lo.SetUint16(lo.Uint16() | unix.IFF_UP)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo)
}

// dial connects to the proxy in the place of who owns its directory. The proxy
// may come later than the guest, or never: then whoever asks is told.
func (w owner) dial(socket string) (conn net.Conn, err error) {
	denied := procgroup.As(w.uid, w.gid, func() { conn, err = net.Dial("unix", socket) })
	if denied == nil && err == nil {
		return conn, nil
	}
	here, there, err := connected()
	if err != nil {
		return nil, err
	}
	go apologise(there)
	return here, nil
}

// connected returns two ends of a connection, each of which can say that it has
// said all, which those of [net.Pipe] cannot.
func connected() (a, b net.Conn, err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	var ends [2]net.Conn
	for i, fd := range pair {
		f := os.NewFile(uintptr(fd), "pair")
		conn, wrong := net.FileConn(f)
		f.Close()
		ends[i], err = conn, errors.Join(err, wrong)
	}
	return ends[0], ends[1], err
}

// noNetwork is what commands hear that try to use one.
const noNetwork = "this environment has no network\n"

// apologise answers a request, once it has come: clients are surprised by answers
// to what they did not ask.
func apologise(conn net.Conn) {
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(5 * time.Second))
	in := bufio.NewReader(io.LimitReader(conn, 64<<10))
	for {
		line, err := in.ReadString('\n')
		if err != nil || strings.TrimSpace(line) == "" {
			break
		}
	}
	fmt.Fprintf(conn, "HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", len(noNetwork), noNetwork)
	conn.SetDeadline(time.Now().Add(time.Second))
	_, _ = io.Copy(io.Discard, conn) // what is still sent must not undo the answer
}
