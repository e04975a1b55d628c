package procgroup

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// A processStat is the relevant part of /proc/N/status.
type processStat struct {
	pid, parent, session int
	groups               []int
	dead                 bool
}

// allProcesses lists all processes. It is sure if none ended meanwhile: its child may be missing in the list.
func allProcesses() (all []processStat, sure bool) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, false
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	sure = true
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		text, err := os.ReadFile("/proc/" + name + "/status")
		if err != nil {
			sure = false
			continue
		}
		all = append(all, parseStatus(pid, string(text)))
	}
	return all, sure
}

// listProcesses calls allProcesses for one caller at a time: it blocks in system calls, which takes threads, and
// there may be none left.
func (n *Group) listProcesses() (all []processStat, sure bool) {
	n.listing.Lock()
	defer n.listing.Unlock()
	return allProcesses()
}

// parseStatus parses /proc/N/status. The kernel escapes newlines in the program's name, which the program can choose.
func parseStatus(pid int, text string) processStat {
	m := processStat{pid: pid}
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

// groupsInUse returns the groups of a pool that processes are in.
func groupsInUse(pool groupRange) map[int]bool {
	used := map[int]bool{}
	all, _ := allProcesses()
	for _, m := range all {
		for _, g := range m.groups {
			if g >= pool.first && g < pool.first+pool.count {
				used[g] = true
			}
		}
	}
	return used
}

// descendants lists the living descendants of the program, and whether that is sure.
func (p *Process) descendants() (pids []int, sure bool) {
	all, sure := p.n.listProcesses()
	return p.among(all), sure
}

// among filters the living descendants of the program.
func (p *Process) among(all []processStat) []int {
	var tree map[int]bool
	if p.mark.group == 0 && !p.over() { // after its end its PID may be reused
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

// foreign reports whether a process is not below this one: another guest on the same machine may use the same marks.
// If an ancestor has ended meanwhile, it is not.
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

// marked reports whether a process has the mark of the program. Without a group its session counts too: the ID is not
// reused while a process is in it.
func (p *Process) marked(m processStat) bool {
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
func below(all []processStat, of int) map[int]bool {
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

// killTimeout is how long killing is tried: a process may hang in the kernel.
const killTimeout = 5 * time.Second

// End ends the program and its descendants: with SIGTERM, and with SIGKILL after patience; zero means at once. It
// returns when none is left.
func (p *Process) End(patience time.Duration) {
	p.once.Do(func() {
		endedProgram{Process: p, patience: patience}.end()
	})
}

// end implements End, and reports whether none is left.
func (p *Process) end(patience time.Duration) bool {
	if patience > 0 {
		pids, _ := p.descendants()
		send(pids, unix.SIGTERM)
		if p.emptyWithin(patience) {
			return true
		}
	}
	return p.kill()
}

// emptyWithin waits until no descendant is left.
func (p *Process) emptyWithin(patience time.Duration) bool {
	late := time.After(patience)
	select {
	case <-p.done:
	case <-late:
		return false
	}
	for !p.empty() {
		select {
		case <-time.After(5 * time.Millisecond):
		case <-late:
			return false
		}
	}
	return true
}

// maxLooks is the number of unsure lists without descendants that are taken as proof.
const maxLooks = 3

// empty reports whether no descendant is left. A chain of processes, each of which starts the next and ends, may be
// missed in one list.
func (p *Process) empty() bool {
	for range maxLooks {
		pids, sure := p.descendants()
		if len(pids) > 0 {
			return false
		}
		if sure {
			return true
		}
	}
	return true
}

// kill kills the descendants until none is left, and reports whether it succeeded.
func (p *Process) kill() bool {
	for end := time.Now().Add(killTimeout); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if p.empty() {
			return true
		}
		send(p.stopAll(end), unix.SIGKILL)
	}
	return false
}

// stopAll stops the descendants before they are killed, because one that forks faster than we list would refill every
// slot.
func (p *Process) stopAll(end time.Time) []int {
	known := map[int]bool{}
	for {
		pids, _ := p.descendants()
		fresh := slices.DeleteFunc(slices.Clone(pids), func(pid int) bool { return known[pid] })
		if len(pids) < 2 || len(fresh) == 0 || time.Now().After(end) {
			return pids
		}
		send(fresh, unix.SIGSTOP)
		for _, pid := range fresh {
			known[pid] = true
		}
	}
}

func send(pids []int, sig unix.Signal) {
	for _, pid := range pids {
		_ = unix.Kill(pid, sig)
	}
}

// EndAll ends every process below this one; as process 1, all.
func (n *Group) EndAll(patience time.Duration) {
	send(n.rest(), unix.SIGTERM)
	for end := time.Now().Add(patience); time.Now().Before(end) && !childless(); {
		time.Sleep(5 * time.Millisecond)
	}
	for end := time.Now().Add(killTimeout); time.Now().Before(end) && !childless(); time.Sleep(time.Millisecond) {
		send(n.rest(), unix.SIGSTOP)
		send(n.rest(), unix.SIGKILL)
	}
}

// rest lists the processes for EndAll. -1 means all but this one.
func (n *Group) rest() []int {
	if os.Getpid() == 1 {
		return []int{-1}
	}
	var pids []int
	all, _ := n.listProcesses()
	for pid := range below(all, os.Getpid()) {
		pids = append(pids, pid)
	}
	return pids
}

// childless reports whether there is no process below this one, which adopts all orphans.
func childless() bool {
	return unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil) == unix.ECHILD
}

// Count returns the number of processes below this one, and how many of them are leftovers of ended programs.
func (n *Group) Count() (all, left int) {
	list, _ := n.listProcesses()
	ours := below(list, os.Getpid())
	claimed := n.claimed(list)
	for _, m := range list {
		if ours[m.pid] && !m.dead && !claimed(m) {
			left++
		}
	}
	return len(ours), left
}

// claimed returns a function that reports whether a process descends from a running program.
func (n *Group) claimed(list []processStat) func(processStat) bool {
	groups, parents, running := map[int]bool{}, map[int]int{}, map[int]bool{}
	n.mu.Lock()
	for pid, p := range n.known {
		running[pid] = true
		if p.mark.group != 0 {
			groups[p.mark.group] = true
		}
	}
	n.mu.Unlock()
	for _, m := range list {
		parents[m.pid] = m.parent
	}
	return func(m processStat) bool {
		for pid := m.pid; pid != 0; pid = parents[pid] {
			if running[pid] {
				return true
			}
		}
		return slices.ContainsFunc(m.groups, func(g int) bool { return groups[g] })
	}
}
