package nursery

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// A member is what /proc tells about a process.
type member struct {
	pid, parent, session int
	groups               []int
	dead                 bool
}

// everybody lists the processes there are.
func everybody() []member {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	var all []member
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			if text, err := os.ReadFile("/proc/" + name + "/status"); err == nil {
				all = append(all, parseStatus(pid, string(text)))
			}
		}
	}
	return all
}

// parseStatus reads /proc/N/status. The name of the program, the only part that
// the program can choose, comes with its line ends escaped.
func parseStatus(pid int, text string) member {
	m := member{pid: pid}
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch key {
		case "State":
			m.dead = strings.HasPrefix(value, "Z") || strings.HasPrefix(value, "X")
		case "PPid":
			m.parent, _ = strconv.Atoi(value)
		case "NSsid":
			first, _, _ := strings.Cut(value, "\t")
			m.session, _ = strconv.Atoi(first)
		case "Groups":
			for word := range strings.FieldsSeq(value) {
				if g, err := strconv.Atoi(word); err == nil {
					m.groups = append(m.groups, g)
				}
			}
		}
	}
	return m
}

// groupsInUse tells which groups of a pool somebody is in.
func groupsInUse(pool span) map[int]bool {
	used := map[int]bool{}
	for _, m := range everybody() {
		for _, g := range m.groups {
			if g >= pool.first && g < pool.first+pool.count {
				used[g] = true
			}
		}
	}
	return used
}

// family lists all living processes that came of the program.
func (p *Process) family() []int {
	all := everybody()
	var tree map[int]bool
	if p.mark.group == 0 && !p.over() { // afterwards its number may be somebody else's
		tree = below(all, p.Pid)
		tree[p.Pid] = true
	}
	parents := map[int]int{}
	for _, m := range all {
		parents[m.pid] = m.parent
	}
	var pids []int
	for _, m := range all {
		if !m.dead && (tree[m.pid] || p.marked(m) && !foreign(parents, m.pid)) {
			pids = append(pids, m.pid)
		}
	}
	return pids
}

// foreign tells whether a process is not below this one: another nursery on the
// same machine may use the same marks. Where somebody in between has died since
// we looked, it is not.
func foreign(parents map[int]int, pid int) bool {
	for pid != os.Getpid() {
		if pid == 0 {
			return true
		}
		above, known := parents[pid]
		if !known {
			return false
		}
		pid = above
	}
	return false
}

func (p *Process) over() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// marked tells whether a process has the mark of the program. Without a group
// its session counts too: the number stays taken while anybody is in it.
func (p *Process) marked(m member) bool {
	if p.mark.group != 0 {
		return slices.Contains(m.groups, p.mark.group)
	}
	if m.session == p.Pid {
		return true
	}
	text, err := os.ReadFile("/proc/" + strconv.Itoa(m.pid) + "/environ")
	return err == nil && slices.Contains(strings.Split(string(text), "\x00"), p.mark.variable)
}

// below returns all descendants of a process.
func below(all []member, of int) map[int]bool {
	children := map[int][]int{}
	for _, m := range all {
		children[m.parent] = append(children[m.parent], m.pid)
	}
	found := map[int]bool{}
	for list := children[of]; len(list) > 0; list = list[1:] {
		found[list[0]] = true
		list = append(list, children[list[0]]...)
	}
	return found
}

// unkillable is after how long a process that does not die is given up: it hangs
// in the system.
const unkillable = 5 * time.Second

// End ends the program and all that came of it: they are asked, and killed if
// they are still there after the time given; without any they are killed at once.
// It returns when nothing is left.
func (p *Process) End(patience time.Duration) {
	p.once.Do(func() {
		if patience > 0 {
			send(p.family(), unix.SIGTERM)
		}
		if patience == 0 || !p.emptyWithin(patience) {
			p.kill()
		}
	})
}

// emptyWithin waits for the end of the family.
func (p *Process) emptyWithin(patience time.Duration) bool {
	late := time.After(patience)
	select {
	case <-p.done:
	case <-late:
		return false
	}
	for len(p.family()) > 0 {
		select {
		case <-time.After(5 * time.Millisecond):
		case <-late:
			return false
		}
	}
	return true
}

// kill kills the family until none is left. They are stopped first, so that
// nothing is born in between.
func (p *Process) kill() {
	for end := time.Now().Add(unkillable); time.Now().Before(end); time.Sleep(time.Millisecond) {
		pids := p.family()
		if len(pids) == 0 {
			return
		}
		if len(pids) > 1 {
			send(pids, unix.SIGSTOP)
			pids = p.family()
		}
		send(pids, unix.SIGKILL)
	}
}

func send(pids []int, sig unix.Signal) {
	for _, pid := range pids {
		_ = unix.Kill(pid, sig)
	}
}

// EndAll ends every process below this one; as the first process, all there are.
func (n *Nursery) EndAll(patience time.Duration) {
	send(n.rest(), unix.SIGTERM)
	for end := time.Now().Add(patience); time.Now().Before(end) && !childless(); {
		time.Sleep(5 * time.Millisecond)
	}
	for end := time.Now().Add(unkillable); time.Now().Before(end) && !childless(); time.Sleep(time.Millisecond) {
		send(n.rest(), unix.SIGSTOP)
		send(n.rest(), unix.SIGKILL)
	}
}

// rest lists whom EndAll is about. -1 stands for everybody but ourselves.
func (n *Nursery) rest() []int {
	if os.Getpid() == 1 {
		return []int{-1}
	}
	var pids []int
	for pid := range below(everybody(), os.Getpid()) {
		pids = append(pids, pid)
	}
	return pids
}

// childless reports whether there is no process below this one, which keeps the
// orphans and so is the parent of all in the end.
func childless() bool {
	return unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil) == unix.ECHILD
}

// Count tells how many processes there are below this one.
func (n *Nursery) Count() int { return len(below(everybody(), os.Getpid())) }
