# Tries to leave files that lend the rights of their owner, and to look at files
# outside without opening them. ESCAPED means that the kernel let it through.
import ctypes, os, struct, subprocess, sys, tarfile

libc = ctypes.CDLL(None, use_errno=True)
outside, level = sys.argv[1], sys.argv[2]


def call(number, *args):
    words = [a if isinstance(a, (bytes, ctypes.Array)) else ctypes.c_long(a) for a in args]
    ctypes.set_errno(0)
    r = libc.syscall(ctypes.c_long(number), *words)
    return -ctypes.get_errno() if r == -1 else r


def refused(name, r):
    print("refused" if r < 0 else "ESCAPED", name, r)


def python(name, f):
    try:
        f()
        print("ESCAPED", name)
    except (OSError, subprocess.CalledProcessError) as e:
        print("refused", name, e)


CREAT, WRONLY, TMPFILE, AT = 0o100, 1, 0o20200000, -100
open("f", "w").close()
f = os.open("f", os.O_RDWR)
for bits in 0o4000, 0o2000, 0o6000, 0o5000:
    b = oct(bits) + " "
    refused(b + "chmod", call(90, b"f", bits | 0o755))
    refused(b + "fchmod", call(91, f, bits | 0o755))
    refused(b + "fchmodat", call(268, AT, b"f", bits | 0o755))
    refused(b + "fchmodat2", call(452, AT, b"f", bits | 0o755, 0))
    refused(b + "fchmodat2 of a descriptor", call(452, f, b"", bits | 0o755, 0x1000))
    refused(b + "chmod, high half set", call(90, b"f", bits | 0o755 | 1 << 40))
    refused(b + "open", call(2, b"g1", CREAT | WRONLY, bits | 0o755))
    refused(b + "openat", call(257, AT, b"g2", CREAT | WRONLY, bits | 0o755))
    refused(b + "creat", call(85, b"g3", bits | 0o755))
    refused(b + "open without a name", call(2, b".", TMPFILE | WRONLY, bits | 0o755))
    refused(b + "mknod", call(133, b"g4", 0o100000 | bits | 0o755, 0))
    refused(b + "mknodat", call(259, AT, b"g5", 0o100000 | bits | 0o755, 0))
    how = ctypes.create_string_buffer(struct.pack("QQQ", CREAT | WRONLY, bits | 0o755, 0))
    refused(b + "openat2", call(437, AT, b"g6", how, 24))
python("chmod of the library", lambda: os.chmod("f", 0o4755))
python("install", lambda: subprocess.run(["install", "-m", "4755", "f", "i"], check=True))
python("chmod", lambda: subprocess.run(["chmod", "u+s", "f"], check=True))
with tarfile.open("t.tar", "w") as t:
    info = tarfile.TarInfo("from-tar")
    info.mode, info.size = 0o6755, 0
    t.addfile(info)
subprocess.run(["tar", "-xpf", "t.tar"])
subprocess.run(["cp", "-p", "/usr/bin/su", "su"])
subprocess.run(["cp", "-a", "/usr/bin/passwd", "passwd"])
python("capabilities of a file", lambda: os.setxattr("f", "security.capability", struct.pack("<IIIII", 0x02000001, 1 << 10, 1 << 10, 0, 0)))
python("capabilities of a user", lambda: os.setxattr("f", "security.capability", struct.pack("<IIIIII", 0x03000001, 1 << 10, 1 << 10, 0, 0, 0)))
# Ordinary modes still work where they did.
call(2, b"plain", CREAT | WRONLY, 0o644)
if level == "full":
    os.chmod("f", 0o755)
    os.mkdir("sticky")
    os.chmod("sticky", 0o1777)
# Without O_CREAT the mode is anything.
refused("nothing", -1 if call(2, b"f", WRONLY, 0o7777) >= 0 else 0)

for name in "secret.txt", "d", ".":
    path = os.fsencode(os.path.join(outside, name))
    python("getxattr " + name, lambda: os.getxattr(path, "user.secret"))
    python("lgetxattr " + name, lambda: os.getxattr(path, "user.secret", follow_symlinks=False))
    python("listxattr " + name, lambda: os.listxattr(path))
    python("llistxattr " + name, lambda: os.listxattr(path, follow_symlinks=False))
    buf = ctypes.create_string_buffer(4096)
    args = ctypes.create_string_buffer(struct.pack("QII", ctypes.addressof(buf), 4096, 0))
    refused("getxattrat " + name, call(464, AT, path, 0, b"user.secret", args, 16))
    refused("listxattrat " + name, call(465, AT, path, 0, buf, 4096))
    refused("file_getattr " + name, call(468, AT, path, buf, 24, 0))
    fd = call(253) if level != "full" else libc.inotify_init1(0)
    refused("inotify_add_watch " + name, call(254, max(fd, 0), path, 0xFFF) if fd >= 0 else fd)
    fd = libc.inotify_init1(0)
    refused("inotify_init1 " + name, libc.inotify_add_watch(fd, path, 0xFFF) if fd >= 0 else -1)
print("tried everything")
