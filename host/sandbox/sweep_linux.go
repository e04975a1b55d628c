package sandbox

import (
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// sweep kills every process in the sandbox and returns when none is left, however long that takes. It runs on the
// restricted thread.
func (g *helper) sweep() {
	for wait := time.Millisecond; !g.childless(); wait = min(2*wait, slowest) {
		switch {
		case g.order.Namespaces:
			_ = unix.Kill(-1, unix.SIGKILL) // everything in this namespace but process 1
		case g.scoped:
			_ = unix.Kill(-1, unix.SIGKILL) // everything in this Landlock domain but this process
		default:
			g.onUnrestrictedThread(killDescendants)
		}
		g.collect()
		if g.childless() {
			return
		}
		time.Sleep(wait)
	}
}

// slowest is the maximum delay between attempts.
const slowest = 20 * time.Millisecond

// signalsAreScoped reports whether the restricted thread can signal only processes of the sandbox. It tests that with
// signal 0 to a process outside that could be signalled before: a mistake would kill all of the user's processes.
func signalsAreScoped(before error, parent int) bool {
	return before == nil && os.Getppid() == parent && unix.Kill(parent, 0) == unix.EPERM
}

// childless reports whether there is no process below this one, which adopts all orphans.
func (g *helper) childless() bool {
	var info unix.Siginfo
	return unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil) == unix.ECHILD
}

// killDescendants stops all processes below this one before it kills them, so that none can fork meanwhile.
func killDescendants() {
	stopped := map[int]bool{}
	for range 100 {
		fresh := false
		for _, pid := range descendants(os.Getpid()) {
			if !stopped[pid] {
				stopped[pid], fresh = true, true
				_ = unix.Kill(pid, unix.SIGSTOP)
			}
		}
		if !fresh {
			break
		}
	}
	for pid := range stopped {
		_ = unix.Kill(pid, unix.SIGKILL)
	}
}

func descendants(of int) []int {
	children := map[int][]int{}
	names, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	for _, e := range names {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			parent := parentOf(pid)
			children[parent] = append(children[parent], pid)
		}
	}
	tree := children[of]
	for i := 0; i < len(tree); i++ {
		tree = append(tree, children[tree[i]]...)
	}
	return tree
}

// parentOf reads the parent from /proc/N/stat, after the name, which may contain anything.
func parentOf(pid int) int {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return -1
	}
	_, rest, _ := strings.Cut(string(text[strings.LastIndexByte(string(text), ')')+1:]), " ")
	fields := strings.Fields(rest)
	if len(fields) < 2 {
		return -1
	}
	parent, err := strconv.Atoi(fields[1])
	if err != nil {
		return -1
	}
	return parent
}
