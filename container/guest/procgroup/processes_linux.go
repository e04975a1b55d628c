package procgroup

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// A processStat is what /proc tells about a process.
type processStat struct {
	pid, parent, session int
	groups               []int
	dead                 bool
}

// allProcesses lists the processes there are. It is sure if none of them ended
// meanwhile: who did may have had a child that is not in the list.
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

// listProcesses lists the processes there are, for one caller at a time: each reads many files, and whoever waits in
// the system for one needs a thread, of which there may be no more to be had.
func (n *Group) listProcesses() (all []processStat, sure bool) {
	n.listing.Lock()
	defer n.listing.Unlock()
	return allProcesses()
}

// parseStatus reads /proc/N/status. The name of the program, the only part that
// the program can choose, comes with its line ends escaped.
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

// groupsInUse tells which groups of a pool somebody is in.
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

// descendants lists all living processes that came of the program, and tells whether that is sure.
func (p *Process) descendants() (pids []int, sure bool) {
	all, sure := p.n.listProcesses()
	return p.among(all), sure
}

// among lists the living processes that came of the program.
func (p *Process) among(all []processStat) []int {
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

// foreign tells whether a process is not below this one: another nursery on the same machine may use the same marks.
// Where somebody in between has died since we looked, it is not.
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

// killTimeout is after how long a process that does not die is given up: it hangs in the system.
const killTimeout = 5 * time.Second

// End ends the program and all that came of it: they are asked, and killed if they are still there after the time
// given; without any they are killed at once. It returns when nothing is left.
func (p *Process) End(patience time.Duration) {
	p.once.Do(func() {
		endedProgram{Process: p, patience: patience}.end()
	})
}

// end does what End says, and tells whether nothing is left.
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

// emptyWithin waits for the end of the family.
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

// maxLooks is how often nobody must be seen where that is not sure.
const maxLooks = 3

// empty tells whether nobody of the family is left. A chain of processes, each of
// which starts the next and ends, may be overlooked once.
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

// kill kills the family until none is left, which it tells.
func (p *Process) kill() bool {
	for end := time.Now().Add(killTimeout); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if p.empty() {
			return true
		}
		send(p.stopAll(end), unix.SIGKILL)
	}
	return false
}

// stopAll stops the family until there is nobody who was not stopped, so that nobody is born while they are killed:
// who forks faster than we can look would fill every place that becomes free.
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

// EndAll ends every process below this one; as the first process, all there are.
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

// rest lists whom EndAll is about. -1 stands for everybody but ourselves.
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

// childless reports whether there is no process below this one, which keeps the
// orphans and so is the parent of all in the end.
func childless() bool {
	return unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil) == unix.ECHILD
}

// Count tells how many processes there are below this one, and how many of them
// were left behind by programs that have ended.
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

// claimed returns what tells whether a process came of a program that has not ended.
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
