package guest

import (
	"fmt"
	"io/fs"
	"math"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"hako/internal/container/guest/nursery"
	"hako/internal/fault"
)

// Guest is called first by every program that serves as a guest, with the name
// and the words it was called by. If the name is [Name], it never returns.
func Guest(called string, args []string, edit Edit) {
	if filepath.Base(called) != Name {
		return
	}
	o, err := parseArgs(args)
	if err == nil {
		o.Edit = edit
		err = serve(o)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", Name, err)
		if hint := fault.Hint(err); hint != "" {
			fmt.Fprintln(os.Stderr, hint)
		}
		os.Exit(2)
	}
	os.Exit(0)
}

// serve is a guest's life.
func serve(o Options) error {
	harden()
	ends := make(chan os.Signal, 1)
	signal.Notify(ends, unix.SIGTERM, unix.SIGINT)
	signal.Notify(make(chan os.Signal, 1), unix.SIGHUP, unix.SIGQUIT) // not Ignore: commands would inherit that
	n, err := nursery.Open(nursery.Options{UID: o.UID, GID: o.GID})
	if err != nil {
		return err
	}
	if o.Spool, err = makeSpool(o.Spool); err != nil {
		return err
	}
	defer os.RemoveAll(o.Spool)
	l, err := listen(o.Socket)
	if err != nil {
		return err
	}
	s := newServer(o, n, n)
	s.quiet = shed
	shed()
	go s.accept(l, trusted)
	select {
	case <-ends:
	case <-s.stop:
	}
	l.Close()
	s.close()
	return nil
}

// harden keeps others from looking into the guest, and what it starts from
// getting more rights than it has. Containers are made so that both hold anyway.
func harden() {
	debug.SetGCPercent(50)                                           // little memory rather than few collections
	_ = unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC) // what we were left with is not for commands
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	_, _, _ = syscall.AllThreadsSyscall(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0)
}

// listen makes the socket. It is made by, and belongs to, whoever owns the
// directory: hako outside may be somebody else than root, and root without
// privileges may not be able to write there.
func listen(socket string) (l *net.UnixListener, err error) {
	dir := filepath.Dir(socket)
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		return nil, noSocket(socket, err)
	}
	denied := nursery.As(int(st.Uid), int(st.Gid), func() { l, err = bind(socket) })
	if denied != nil {
		return nil, denied
	}
	if err != nil {
		return nil, noSocket(socket, err)
	}
	return l, nil
}

func bind(socket string) (*net.UnixListener, error) {
	if info, err := os.Lstat(socket); err == nil && info.Mode().Type() == fs.ModeSocket {
		_ = os.Remove(socket) // of a guest that was here before
	}
	defer unix.Umask(unix.Umask(0o177)) // from the first moment on nobody else may connect
	return net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
}

func noSocket(socket string, err error) error {
	return &fault.Error{Kind: fault.Unavailable, Op: "listen on", Subject: socket, Err: err, Hint: "the directory must exist and belong to who starts the guest"}
}

// trusted refuses callers that the guest must not listen to. The first process
// of a container sees those outside without a number; whoever has one is inside,
// and is a command that wants more than it was given.
func trusted(conn net.Conn) error {
	var peer *unix.Ucred
	raw, err := conn.(*net.UnixConn).SyscallConn()
	if err == nil {
		ctl := raw.Control(func(fd uintptr) { peer, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
		if err == nil {
			err = ctl
		}
	}
	if err != nil {
		return stranger("who it is cannot be told")
	}
	if os.Getpid() == 1 && peer.Pid != 0 {
		return stranger("process " + strconv.Itoa(int(peer.Pid)) + " is inside the container")
	}
	if os.Getpid() != 1 && peer.Uid != 0 && int(peer.Uid) != os.Geteuid() {
		return stranger("user " + strconv.Itoa(int(peer.Uid)) + " is somebody else")
	}
	return nil
}

func stranger(why string) error {
	return &fault.Error{Kind: fault.Denied, Op: "connect to guest", Why: why, Hint: "only hako outside the container may connect"}
}

// allocated is what a file takes on the disk.
func allocated(info fs.FileInfo) int64 {
	if st, is := info.Sys().(*syscall.Stat_t); is {
		return st.Blocks * 512
	}
	return info.Size()
}
