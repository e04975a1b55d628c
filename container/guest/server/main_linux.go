package server

import (
	"cmp"
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

	"hako/container/guest"
	"hako/container/guest/procgroup"
	"hako/run/fault"
)

// Main must be called first by every program that serves as a guest, with its name and arguments. If the name is
// [guest.Name], it never returns.
func Main(called string, args []string) {
	if filepath.Base(called) != guest.Name {
		return
	}
	o, err := guest.Parse(args)
	if err == nil {
		err = serve(o)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", guest.Name, err)
		if hint := fault.Hint(err); hint != "" {
			fmt.Fprintln(os.Stderr, hint)
		}
		os.Exit(2)
	}
	os.Exit(0)
}

func serve(o guest.Options) error {
	reserveThreads(spareThreads)
	harden()
	ends := make(chan os.Signal, 1)
	signal.Notify(ends, unix.SIGTERM, unix.SIGINT)
	signal.Notify(make(chan os.Signal, 1), unix.SIGHUP, unix.SIGQUIT) // not Ignore: commands would inherit that
	n, err := procgroup.Open(procgroup.Options{UID: o.UID, GID: o.GID})
	if err != nil {
		return err
	}
	if o.Spool, err = makeSpoolDir(o.Spool); err != nil {
		return err
	}
	defer os.RemoveAll(o.Spool)
	if err := prepare(o.UID, cmp.Or(o.GID, o.UID), o.Make); err != nil {
		return err
	}
	who, err := ownerOf(o)
	if err != nil {
		return err
	}
	l, err := who.listen(o.Socket)
	if err != nil {
		return err
	}
	s := newServer(o, n, n)
	s.quiet = releaseMemory
	releaseMemory()
	stop := s.bridge(o.Bridge, who)
	defer stop()
	go s.accept(l, trusted)
	select {
	case <-ends:
	case <-s.stop:
	}
	l.Close()
	s.close()
	return nil
}

// memoryAim is above what a guest needs and below its limit.
const memoryAim = 12 << 20

// harden prevents others from inspecting the guest, and its children from gaining rights. Containers already enforce
// both.
func harden() {
	debug.SetGCPercent(50) // less memory rather than fewer collections
	debug.SetMemoryLimit(memoryAim)
	_ = unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC) // inherited files are not for commands
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	_, _, _ = syscall.AllThreadsSyscall(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0)
}

// An owner is the owner of the sockets' directory: hako outside may not be root, and root without privileges cannot
// enter its directory.
type owner struct{ uid, gid int }

// ownerOf returns the owner, by default that of the socket's directory.
func ownerOf(o guest.Options) (owner, error) {
	if o.Owner != 0 {
		return owner{o.Owner, cmp.Or(o.OwnerGroup, o.Owner)}, nil
	}
	var st unix.Stat_t
	if err := unix.Stat(filepath.Dir(o.Socket), &st); err != nil {
		return owner{}, noSocket(o.Socket, err)
	}
	if o.UID != 0 && int(st.Uid) == o.UID { // they could replace the socket by their own
		return owner{}, &fault.Error{Kind: fault.Denied, Op: "listen on", Subject: o.Socket,
			Why:  "commands would run as the owner of its directory, user " + strconv.Itoa(o.UID),
			Hint: "run them as another user"}
	}
	return owner{int(st.Uid), int(st.Gid)}, nil
}

// listen creates the socket as the owner.
func (w owner) listen(socket string) (l *net.UnixListener, err error) {
	denied := procgroup.As(w.uid, w.gid, func() { l, err = bind(socket) })
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
		_ = os.Remove(socket) // of an earlier guest
	}
	defer unix.Umask(unix.Umask(0o177)) // nobody else may connect, from the first moment
	return net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
}

func noSocket(socket string, err error) error {
	return &fault.Error{Kind: fault.Unavailable, Op: "listen on", Subject: socket, Err: err,
		Hint: "the directory must exist and belong to who starts the guest"}
}

// trusted refuses untrusted peers. For process 1 of a container, peers outside have no PID; a peer with a PID is a
// command inside that wants more rights.
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
		return untrustedPeer("the peer cannot be identified")
	}
	if os.Getpid() == 1 && peer.Pid != 0 {
		return untrustedPeer("process " + strconv.Itoa(int(peer.Pid)) + " is inside the container")
	}
	if os.Getpid() != 1 && peer.Uid != 0 && int(peer.Uid) != os.Geteuid() {
		return untrustedPeer("user " + strconv.Itoa(int(peer.Uid)) + " is somebody else")
	}
	return nil
}

func untrustedPeer(why string) error {
	return &fault.Error{Kind: fault.Denied, Op: "connect to guest", Why: why,
		Hint: "only hako outside the container may connect"}
}
