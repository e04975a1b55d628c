package sandbox

import (
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// sweep ends every process in the cage and returns when none is left, however long that takes: what is still there
// would go on with nobody to see it. It runs on the thread that is locked in.
func (g *helper) sweep() {
	for wait := time.Millisecond; !g.childless(); wait = min(2*wait, slowest) {
		switch {
		case g.order.Namespaces:
			_ = unix.Kill(-1, unix.SIGKILL) // all there are in this namespace, but the first
		case g.scoped:
			_ = unix.Kill(-1, unix.SIGKILL) // all there are in this Landlock domain, but this process
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

// slowest is how long sweep waits at most before it tries again.
const slowest = 20 * time.Millisecond

// signalsAreScoped reports whether the thread that is locked in can send signals to processes of the cage only. To be
// sure it tries, with no signal at all, somebody outside who could be reached before: to be wrong would end all of
// the user's processes.
func signalsAreScoped(before error, parent int) bool {
	return before == nil && os.Getppid() == parent && unix.Kill(parent, 0) == unix.EPERM
}

// childless reports whether there is no process left below this one. As the
// first process, or as the keeper of orphans, it is the parent of all in the end.
func (g *helper) childless() bool {
	var info unix.Siginfo
	return unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil) == unix.ECHILD
}

// killDescendants stops the whole tree below this process before it kills it, so that nothing is born in between.
// What was born while others were being stopped is looked for again.
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

// parentOf reads the parent out of /proc/N/stat, after the name, which may hold anything.
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
