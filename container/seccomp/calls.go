package seccomp

// What is allowed whatever the arguments. A name that a machine or an engine
// does not know is skipped there.
//
// What one may look for and not find, with the reason:
//
//   - io_uring_*: its operations are not seen by any filter.
//   - io_setup and its kin: the kernel has one number of events for all tasks
//     together. They are missing rather than refused: data bases do without.
//   - keyctl, add_key, request_key: the kernel has one set of keys for all.
//   - bpf, perf_event_open, userfaultfd, fanotify_*, kexec_*, *_module: doors
//     into the kernel, or what holes in it are levered open with.
//   - mount, umount2, pivot_root, chroot, fsopen and its kin, unshare, setns:
//     walls are put up before a command starts and stay where they are.
//   - open_by_handle_at, name_to_handle_at: files by number, past every path.
//   - process_vm_*, pidfd_getfd, kcmp, process_madvise: reaching into others.
//   - mbind, set_mempolicy, move_pages, migrate_pages: where memory lies is the
//     machine's business.
//   - settimeofday, clock_settime, adjtimex, sethostname, reboot, swapon, acct,
//     quotactl, syslog, vhangup, iopl, ioperm: they are about the machine.
//   - modify_ldt, uselib, ustat, sysfs, lookup_dcookie, nfsservctl, vm86: of old
//     programs that are not here.
var (
	files = []string{
		"access", "faccessat", "faccessat2", "chdir", "fchdir", "getcwd",
		"chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "fchown", "fchownat", "lchown", "umask",
		"creat", "open", "openat", "openat2", "close", "close_range", "dup", "dup2", "dup3", "fcntl", "flock", "ioctl",
		"read", "readv", "pread64", "preadv", "preadv2", "readahead",
		"write", "writev", "pwrite64", "pwritev", "pwritev2",
		"lseek", "truncate", "ftruncate", "fallocate", "fadvise64", "copy_file_range", "sendfile", "splice", "tee",
		"vmsplice",
		"fsync", "fdatasync", "sync", "syncfs", "sync_file_range", "cachestat",
		"stat", "fstat", "lstat", "newfstatat", "statx", "statfs", "fstatfs",
		"getdents", "getdents64", "mkdir", "mkdirat", "rmdir", "rename", "renameat", "renameat2",
		"link", "linkat", "symlink", "symlinkat", "unlink", "unlinkat", "readlink", "readlinkat",
		"utime", "utimes", "utimensat", "futimesat",
		"getxattr", "lgetxattr", "fgetxattr", "getxattrat", "listxattr", "llistxattr", "flistxattr", "listxattrat",
		"setxattr", "lsetxattr", "fsetxattr", "setxattrat", "removexattr", "lremovexattr", "fremovexattr", "removexattrat",
		"inotify_init", "inotify_init1", "inotify_add_watch", "inotify_rm_watch",
	}
	memory = []string{
		"brk", "mmap", "munmap", "mremap", "mprotect", "madvise", "mincore", "msync", "remap_file_pages",
		"mlock", "mlock2", "munlock", "mlockall", "munlockall", "mseal", "map_shadow_stack",
		"pkey_alloc", "pkey_free", "pkey_mprotect", // compilers that run what they make
		"memfd_create", "membarrier",
		"shmget", "shmat", "shmdt", "shmctl", "semget", "semop", "semtimedop", "semctl", "msgget", "msgsnd", "msgrcv",
		"msgctl",
		"mq_open", "mq_unlink", "mq_timedsend", "mq_timedreceive", "mq_notify", "mq_getsetattr",
	}
	// Tracing is allowed: debuggers are what one works with, and a process can
	// trace only what belongs to its user and has no more rights than itself. The
	// guest is root's and not to be looked into, so nobody can.
	processes = []string{
		"fork", "vfork", "execve", "execveat", "exit", "exit_group", "wait4", "waitid",
		"getpid", "getppid", "gettid", "getpgid", "getpgrp", "setpgid", "getsid", "setsid",
		"set_tid_address", "set_robust_list", "get_robust_list", "rseq", "restart_syscall", "arch_prctl", "prctl", "ptrace",
		"seccomp",
		"landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self",
		"futex", "futex_waitv", "futex_wake", "futex_wait", "futex_requeue",
		"getrlimit", "setrlimit", "prlimit64", "getrusage", "getpriority", "setpriority", "ioprio_get", "ioprio_set",
		"sched_yield", "sched_getaffinity", "sched_setaffinity", "sched_getattr", "sched_setattr", "sched_getparam",
		"sched_setparam",
		"sched_getscheduler", "sched_setscheduler", "sched_get_priority_max", "sched_get_priority_min",
		"sched_rr_get_interval",
		"getcpu", "getrandom", "sysinfo", "uname", "times", "capget", "capset", "pidfd_open",
	}
	signals = []string{
		"kill", "tkill", "tgkill", "pidfd_send_signal", "pause",
		"rt_sigaction", "rt_sigprocmask", "rt_sigpending", "rt_sigsuspend", "rt_sigtimedwait", "rt_sigreturn",
		"rt_sigqueueinfo", "rt_tgsigqueueinfo", "sigaltstack", "signalfd", "signalfd4",
	}
	clocks = []string{
		"time", "gettimeofday", "clock_gettime", "clock_getres", "clock_nanosleep", "nanosleep",
		"alarm", "getitimer", "setitimer", "timer_create", "timer_delete", "timer_settime", "timer_gettime",
		"timer_getoverrun",
		"timerfd_create", "timerfd_settime", "timerfd_gettime",
	}
	talk = []string{
		"pipe", "pipe2", "eventfd", "eventfd2", "poll", "ppoll", "select", "pselect6",
		"epoll_create", "epoll_create1", "epoll_ctl", "epoll_wait", "epoll_pwait", "epoll_pwait2",
		"bind", "listen", "accept", "accept4", "connect", "shutdown", "getsockname", "getpeername", "getsockopt",
		"setsockopt",
		"sendto", "sendmsg", "sendmmsg", "recvfrom", "recvmsg", "recvmmsg",
	}
	// Changing users takes capabilities that only the guest has.
	users = []string{
		"getuid", "geteuid", "getgid", "getegid", "getresuid", "getresgid", "getgroups",
		"setuid", "setgid", "setreuid", "setregid", "setresuid", "setresgid", "setgroups", "setfsuid", "setfsgid",
	}
	// What is missing: whoever takes all events leaves none to other tasks.
	asynchronous = []string{"io_setup", "io_destroy", "io_submit", "io_cancel", "io_getevents", "io_pgetevents"}
)
