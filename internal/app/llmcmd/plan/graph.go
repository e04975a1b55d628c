package plan

import (
	"slices"
	"strconv"
	"strings"
)

// descriptors returns the descriptors that a step reads.
func (s *Step) descriptors() (all []int) {
	for _, in := range s.Inputs {
		if n, ok := descriptor(in); ok {
			all = append(all, n)
		}
	}
	return all
}

// descriptor parses "fd 3"; 1 and 2 cannot be read.
func descriptor(input string) (int, bool) {
	word, ok := strings.CutPrefix(input, "fd ")
	n, err := strconv.Atoi(word)
	return n, ok && err == nil && strconv.Itoa(n) == word && (n == 0 || n > 2) && n <= 9999
}

// needs returns the steps whose results a step uses.
func (s *Step) needs() (ids []string) {
	for _, in := range s.Inputs {
		if id, ok := strings.CutPrefix(in, "step "); ok {
			ids = append(ids, id)
		}
	}
	return ids
}

// needed returns the steps whose results are used.
func (p *Plan) needed() map[string]bool {
	all := make(map[string]bool)
	for i := range p.Workflow {
		for _, id := range p.Workflow[i].needs() {
			all[id] = true
		}
	}
	return all
}

// shared returns the descriptors that several steps read.
func (p *Plan) shared() (twice []int) {
	seen := make(map[int]bool)
	for i := range p.Workflow {
		for _, n := range p.Workflow[i].descriptors() {
			if seen[n] && !slices.Contains(twice, n) {
				twice = append(twice, n)
			}
			seen[n] = true
		}
	}
	slices.Sort(twice)
	return twice
}

// order sorts the steps topologically, and otherwise as written. If there is a cycle, it returns its steps, with the
// first one again at the end.
func (p *Plan) order() (order []int, cycle []string) {
	at := make(map[string]int)
	for i, s := range p.Workflow {
		at[s.ID] = i
	}
	const visiting, done = 1, 2
	state := make([]int, len(p.Workflow))
	var path []string
	var visit func(i int) bool
	visit = func(i int) bool {
		id := p.Workflow[i].ID
		switch state[i] {
		case done:
			return true
		case visiting:
			cycle = append(slices.Clone(path[slices.Index(path, id):]), id)
			return false
		}
		state[i] = visiting
		path = append(path, id)
		for _, id := range p.Workflow[i].needs() {
			if !visit(at[id]) {
				return false
			}
		}
		path = path[:len(path)-1]
		state[i] = done
		order = append(order, i)
		return true
	}
	for i := range p.Workflow {
		if !visit(i) {
			return nil, cycle
		}
	}
	return order, nil
}
