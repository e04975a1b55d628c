package procgroup

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// A mark identifies all descendants of a program. One of its fields is set.
type mark struct {
	group    int    // a supplementary group of this program alone; only root can leave it
	variable string // NAME=value in the environment, if there are no groups
}

// A groupRange is a range of group IDs.
type groupRange struct{ first, count int }

// Unused groups: far above those of a system, or, if only 65536 are available, those that systemd reserves for
// dynamic users.
var (
	farGroups  = groupRange{1_750_000_000, 1_000_000}
	nearGroups = groupRange{61_184, 4_336}
)

// groupPool selects groups for marks from the ranges of a gid_map. It may be empty.
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

// marks allocates marks.
type marks struct {
	pool groupRange
	next int
	busy map[int]bool // in use when the pool was last exhausted
}

// newMarks starts at a random group, so that two guests that see each other seldom use the same.
func newMarks(pool groupRange) marks {
	if pool.count == 0 {
		return marks{}
	}
	return marks{pool: pool, next: rand.IntN(pool.count)}
}

// take returns an unused mark.
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
