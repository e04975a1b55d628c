# Tries to reach other processes and services of the machine: neighbours.py PID
# PORT KEY ABSTRACT, where PID is a process outside, PORT one it listens on, KEY
# its shared memory and ABSTRACT its local socket.
import ctypes, os, socket, sys

libc = ctypes.CDLL(None, use_errno=True)
pid, port, key, name = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
network = sys.argv[5] == "network"


def attempt(what, f):
    try:
        r = f()
    except OSError as e:
        print("refused", what, e.errno)
    else:
        print("ESCAPED", what, r)


def call(number, *args):
    ctypes.set_errno(0)
    r = libc.syscall(ctypes.c_long(number), *[a if isinstance(a, bytes) else ctypes.c_long(a) for a in args])
    if r == -1:
        raise OSError(ctypes.get_errno(), "")
    return r


def connect(kind, address):
    s = socket.socket(kind, socket.SOCK_STREAM)
    s.settimeout(2)
    s.connect(address)
    return "connected"


for who in (pid, os.getppid()) if pid else ():
    attempt("signal %d" % who, lambda: os.kill(who, 0))
    attempt("limits of %d" % who, lambda: call(302, who, 7, 0, 0))
    attempt("scheduling of %d" % who, lambda: call(203, who, 8, b"\x03" + b"\0" * 7))
    attempt("priority of %d" % who, lambda: call(141, 0, who, 0))
    attempt("memory of %d" % who, lambda: open("/proc/%d/mem" % who, "rb"))
    attempt("environment of %d" % who, lambda: open("/proc/%d/environ" % who, "rb").read())
    attempt("root of %d" % who, lambda: os.listdir("/proc/%d/root" % who))
    attempt("descriptors of %d" % who, lambda: os.readlink("/proc/%d/fd/0" % who))
if pid:
    attempt("priority of everything of the user", lambda: call(141, 2, 0, os.getpriority(os.PRIO_PROCESS, 0)))
    attempt("disk priority of everything of the user", lambda: call(251, 3, os.getuid(), 0))
attempt("memory of the helper", lambda: open("/proc/1/mem", "rb"))
attempt("program of the helper", lambda: open("/proc/1/exe", "rb"))
attempt("root of the helper", lambda: os.listdir("/proc/1/root"))
attempt("directory of the helper", lambda: os.listdir("/proc/1/cwd"))
attempt("environment of the helper", lambda: open("/proc/1/environ", "rb").read())
attempt("map of the helper", lambda: open("/proc/1/maps", "rb").read(1))
attempt("a signal for the helper", lambda: os.kill(1, 0))
for fd in range(300):
    try:
        print("ESCAPED descriptor", fd, "of the helper", os.readlink("/proc/1/fd/%d" % fd))
        os.open("/proc/1/fd/%d" % fd, os.O_RDONLY)
    except OSError:
        pass
attempt("shared memory", lambda: call(29, key, 0, 0))
attempt("message queue", lambda: call(240, name.encode() + b"\0", 0, 0, 0))
attempt("abstract socket", lambda: connect(socket.AF_UNIX, "\0" + name))
if not network:
    attempt("TCP", lambda: connect(socket.AF_INET, ("127.0.0.1", port)))
    attempt("TCP of the machine", lambda: connect(socket.AF_INET6, ("::1", port)))
elif connect(socket.AF_INET, ("127.0.0.1", port)) == "connected":
    print("network works")
print("tried everything")
