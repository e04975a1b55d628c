package procgroup

import (
	"testing"
	"time"

	"hako/internal/testload"
)

// alone tells whether there is no child.
func alone(n *Group) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.childless
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(testload.Bound(20 * time.Second)); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("not in time: ", what)
		}
	}
}

// TestLeaveNobody keeps nothing of programs that leave nobody.
func TestLeaveNobody(t *testing.T) {
	n := open(t)
	eventually(t, "nobody is there", func() bool { p := start(t, "true"); <-p.Done(); return alone(n) })
	p := start(t, "true")
	<-p.Done()
	p.Leave(time.Now().Add(time.Hour), 0)
	if n.Left() || !n.left.next.IsZero() {
		t.Error("it waits for somebody")
	}
}

// TestLeave ends what is left at its time, and nothing else.
func TestLeave(t *testing.T) {
	n := open(t)
	stays, goes, other := start(t, "setsid sleep 600 &"), start(t, "trap '' TERM; setsid sleep 600 & setsid sleep 600 &"),
		start(t, "sleep 600")
	<-stays.Done()
	<-goes.Done()
	if all, left := n.Count(); all < 4 || left != 3 {
		t.Errorf("%d, %d left behind", all, left)
	}
	stays.Leave(time.Time{}, 0)
	goes.Leave(time.Now().Add(50*time.Millisecond), 20*time.Millisecond)
	if !n.Left() || members(goes) != 2 {
		t.Errorf("%d are there", members(goes))
	}
	eventually(t, "one family is gone", func() bool { return members(goes) == 0 })
	if members(stays) != 1 || other.over() {
		t.Error("others are gone too")
	}
	n.EndLeft(time.Second)
	eventually(t, "the other is gone", func() bool { return members(stays) == 0 })
	if other.over() {
		t.Error("so is who has not ended")
	}
	other.End(0)
	eventually(t, "nobody is remembered", func() bool { return !n.Left() })
}

// TestLeaveMany forgets programs that nothing is left of, while somebody else is
// there all the time.
func TestLeaveMany(t *testing.T) {
	n := open(t)
	other, nobody, somebody := start(t, "sleep 600"), start(t, "true"), start(t, "setsid sleep 600 &")
	<-nobody.Done()
	<-somebody.Done()
	somebody.Leave(time.Now().Add(time.Hour), 0)
	for range minLeft {
		nobody.Leave(time.Now().Add(time.Hour), 0)
	}
	eventually(t, "most are forgotten", func() bool {
		n.mu.Lock()
		defer n.mu.Unlock()
		return len(n.left.list) == 1 && n.left.list[0].Process == somebody && !n.left.next.IsZero()
	})
	somebody.End(0)
	other.End(0)
}

// TestChain ends processes each of which starts the next and ends.
func TestChain(t *testing.T) {
	p := start(t, "hop() { (hop &); }; trap '' TERM; hop; while :; do :; done")
	time.Sleep(20 * time.Millisecond) // some of them have come and gone
	p.End(10 * time.Millisecond)
	<-p.Done()
	p.Leave(time.Now(), 0)
	eventually(t, "the chain is broken", func() bool {
		for range 20 {
			if members(p) > 0 {
				return false
			}
		}
		return true
	})
}
