package cage

import (
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// sweep ends every process in the cage and returns when none is left.
func (g *guest) sweep() {
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); {
		if g.childless() {
			return
		}
		if g.order.Apart {
			_ = unix.Kill(-1, unix.SIGKILL) // all there are in this namespace, but the first
		} else {
			killDescendants()
		}
		g.collect()
		if g.childless() {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// childless reports whether there is no process left below this one. As the
// first process, or as the keeper of orphans, it is the parent of all in the end.
func (g *guest) childless() bool {
	var info unix.Siginfo
	return unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil) == unix.ECHILD
}

// killDescendants stops the whole tree below this process before it kills it,
// so that nothing is born in between.
func killDescendants() {
	tree := descendants(os.Getpid())
	for _, sig := range []unix.Signal{unix.SIGSTOP, unix.SIGKILL} {
		for _, pid := range tree {
			_ = unix.Kill(pid, sig)
		}
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

// parentOf reads the parent out of /proc/N/stat, after the name, which may hold
// anything.
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
