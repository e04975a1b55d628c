package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"hako/container/egress"
	"hako/container/guest"
	"hako/container/guest/procgroup"
)

// bridge forwards connections to an address inside to the proxy outside, and returns a function that stops it. If
// that fails, the guest logs it and works without.
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
	dials := make(semaphore, maxConcurrent)
	go egress.Bridge(ctx, l, func() (net.Conn, error) {
		defer dials.take()()
		return who.dial(socket)
	})
	return cancel
}

// listenInside listens on an address of the container, whose loopback interface may be down.
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

// raiseLoopback brings the loopback interface up.
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

// dial connects to the proxy as the owner of its directory.
func (w owner) dial(socket string) (conn net.Conn, err error) {
	denied := procgroup.As(w.uid, w.gid, func() { conn, err = net.Dial("unix", socket) })
	return conn, errors.Join(denied, err)
}
