package guest

import (
	"time"

	"hako/container/guest/wire"
)

// A deadlineWatch watches over the end of a command that has a limit. The guest keeps the limit; the vigil is for one
// that does not. What counts is the time in which the guest has something to say and does not: whoever takes long
// over the output of a command, or over its input, loses nothing.
type deadlineWatch struct {
	end   time.Time     // when the command must be over
	left  time.Duration // how long the guest may still be silent after that
	late  int           // bytes that came when nothing could run any more
	timer *time.Timer   // rings when the guest was silent too long
}

// maxLateBytes is more than lies in all buffers of a command when it is over: its
// pipes, those of both sides, and what is on the way.
const maxLateBytes = 4 << 20

// longest is a limit that nobody waits for; more could not be added to.
const longest = 100 * 365 * 24 * time.Hour

// newDeadlineWatch begins with the command. Alarm is called when nobody need wait longer.
func newDeadlineWatch(limit time.Duration, alarm func()) *deadlineWatch {
	v := &deadlineWatch{end: time.Now().Add(min(limit, longest)), left: grace, timer: time.AfterFunc(longest, alarm)}
	v.timer.Stop()
	return v
}

// wait calls f, which waits for the guest.
func (v *deadlineWatch) wait(f func()) {
	from := time.Now()
	if from.Before(v.end) {
		from = v.end
	}
	v.timer.Reset(time.Until(from) + v.left)
	f()
	v.timer.Stop()
	v.left -= max(time.Since(from), 0)
}

// flooded takes note of n bytes and tells whether the guest goes on as if there were no limit.
func (v *deadlineWatch) flooded(n int) bool {
	if time.Since(v.end) > grace {
		v.late += n
	}
	return v.late > maxLateBytes+2*wire.OutputWindow
}
