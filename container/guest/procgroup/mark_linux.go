package procgroup

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// A mark is what all descendants of a program have in common. One of its fields is set.
type mark struct {
	group    int    // a group that nobody else is in; only root can leave it
	variable string // NAME=value in the environment, for want of something better
}

// A groupRange is a row of group numbers.
type groupRange struct{ first, count int }

// Groups that nothing else uses: far above what a system gives out, or, where
// only 65536 are to be had, those that systemd keeps for passing users.
var (
	farGroups  = groupRange{1_750_000_000, 1_000_000}
	nearGroups = groupRange{61_184, 4_336}
)

// groupPool chooses groups for marks from those that the text of a gid_map says we can give. There may be none.
func groupPool(gidMap string) groupRange {
	for _, want := range []groupRange{farGroups, nearGroups} {
		for line := range strings.Lines(gidMap) {
			var inside, outside, count int
			if _, err := fmt.Sscan(line, &inside, &outside, &count); err != nil {
				continue
			}
			if inside <= want.first && want.first+want.count <= inside+count {
				return want
			}
		}
	}
	return groupRange{}
}

// marks gives out marks.
type marks struct {
	pool groupRange
	next int
	busy map[int]bool // still carried by somebody when the pool was used up last
}

// newMarks begins anywhere in the pool, so that two guests that see each other seldom give out the same ones.
func newMarks(pool groupRange) marks {
	if pool.count == 0 {
		return marks{}
	}
	return marks{pool: pool, next: rand.IntN(pool.count)}
}

// take returns a mark that nobody carries.
func (m *marks) take() mark {
	for range m.pool.count {
		if m.next == m.pool.count {
			m.next, m.busy = 0, groupsInUse(m.pool)
		}
		group := m.pool.first + m.next
		m.next++
		if !m.busy[group] {
			return mark{group: group}
		}
	}
	return mark{variable: fmt.Sprintf("HAKO_COMMAND=%016x", rand.Uint64())}
}
