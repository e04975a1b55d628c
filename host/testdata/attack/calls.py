# Tries system calls that no program in a sandbox may make. Each line says what
# was tried and what came of it; ESCAPED means that the kernel let it through.
import ctypes, os, signal, socket, sys

libc = ctypes.CDLL(None, use_errno=True)
EPERM, ENOSYS, EAFNOSUPPORT = 1, 38, 97


def call(number, *args):
    words = [a if isinstance(a, (bytes, ctypes.Array)) else ctypes.c_long(a) for a in args]
    ctypes.set_errno(0)
    r = libc.syscall(ctypes.c_long(number), *words)
    return -ctypes.get_errno() if r == -1 else r


def refused(name, r, *errnos):
    good = -r in (errnos or (EPERM,))
    print(("refused" if good else "ESCAPED"), name, r)


parent, buf = os.getppid(), ctypes.create_string_buffer(4096)
NEWUSER, NEWNS = 0x10000000, 0x00020000

refused("ptrace attach", call(101, 16, parent, 0, 0))
refused("ptrace seize", call(101, 0x4206, parent, 0, 0))
refused("process_vm_readv", call(310, parent, buf, 1, buf, 1, 0))
refused("process_vm_writev", call(311, parent, buf, 1, buf, 1, 0))
refused("prlimit of the first process", call(302, 1, 0, 0, buf))
refused("prlimit of the parent", call(302, parent, 0, 0, buf))
refused("pidfd_getfd", call(438, 0, 0, 0))
refused("kcmp", call(312, parent, os.getpid(), 0, 0, 0))
refused("io_uring_setup", call(425, 1, buf))
refused("keyctl", call(250, 0, -3, 1))
refused("add_key", call(248, b"user", b"x", b"x", 1, -3))
refused("unshare user", call(272, NEWUSER))
refused("unshare mount", call(272, NEWNS))
refused("setns", call(308, 0, 0))
refused("clone user", call(56, NEWUSER | signal.SIGCHLD, 0, 0, 0, 0))
refused("clone user, high half set", call(56, NEWUSER | signal.SIGCHLD | 1 << 40, 0, 0, 0, 0))
refused("clone3", call(435, buf, 88), ENOSYS)
refused("mount", call(165, b"x", b"/tmp", b"tmpfs", 0, 0))
refused("umount", call(166, b"/tmp", 2))
refused("pivot_root", call(155, b".", b"."))
refused("chroot", call(161, b"."))
refused("open_tree", call(428, -100, b"/", 1))
refused("open_tree_attr", call(467, -100, b"/", 1, 0, 0), EPERM, ENOSYS)
refused("fsopen", call(430, b"tmpfs", 0))
refused("move_mount", call(429, 0, b"", 0, b"", 0))
refused("mount_setattr", call(442, -100, b"/", 0, buf, 32))
refused("bpf", call(321, 0, buf, 64))
refused("userfaultfd", call(323, 0))
refused("perf_event_open", call(298, buf, 0, -1, -1, 0))
refused("fanotify_init", call(300, 0, 0))
refused("name_to_handle_at", call(303, -100, b"/", buf, buf, 0))
refused("open_by_handle_at", call(304, -100, buf, 0))
refused("init_module", call(175, buf, 0, b""))
refused("finit_module", call(313, 0, b"", 0))
refused("kexec_load", call(246, 0, 0, 0, 0))
refused("modify_ldt", call(154, 0, buf, 1))
refused("iopl", call(172, 3))
refused("adjtimex", call(159, buf))
refused("syslog", call(103, 3, buf, 10))
refused("sethostname", call(170, b"x", 1))
refused("acct", call(163, 0))
refused("swapoff", call(168, b"/nothing"))
refused("quotactl", call(179, 0, 0, 0, 0))
for name, family in ("vsock", 40), ("packet", 17), ("alg", 38), ("bluetooth", 31), ("can", 29), ("xdp", 44), ("tipc", 30):
    refused("socket " + name, call(41, family, 1, 0), EAFNOSUPPORT)
    refused("socket " + name + ", high half set", call(41, family | 1 << 32, 1, 0), EAFNOSUPPORT)
refused("socket netlink audit", call(41, 16, 3, 9), EAFNOSUPPORT)
refused("socket raw", call(41, 2, 3, 1), EPERM, EAFNOSUPPORT)
refused("x32 getpid", call(0x40000000 | 39), ENOSYS)
refused("x32 ptrace", call(0x40000000 | 521, 16, parent, 0, 0), ENOSYS)
for name, request in ("TIOCSTI", 0x5412), ("TIOCLINUX", 0x541C), ("TIOCSCTTY", 0x540E):
    refused(name, call(16, 0, request, buf))
    refused(name + ", high half set", call(16, 0, request | 1 << 32, buf))
refused("mknod character device", call(133, b"null", 0o020666, 0x103), EPERM, 13)
refused("mknod block device", call(133, b"disk", 0o060666, 0xFE00), EPERM, 13)
refused("setuid program's rights", 0 if libc.prctl(39, 0, 0, 0, 0) != 1 else -EPERM)
refused("no filter", 0 if libc.prctl(21, 0, 0, 0, 0) != 2 else -EPERM)
head, caps = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
refused("capabilities", call(125, head, caps) if any(caps) else -EPERM)
libc.capget(head, caps)
refused("capabilities that are left", 0 if any(caps) else -EPERM)
for fd in range(3, 1024):
    try:
        os.fstat(fd)
        print("ESCAPED: descriptor", fd, "is open")
    except OSError:
        pass
print("tried everything")
