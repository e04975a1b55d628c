package guest

import (
	"time"

	"hako/container/guest/wire"
)

// A deadlineWatch watches the end of a command with a timeout, in case the guest does not enforce it. Only the time
// in which the guest should send something and does not counts: a slow reader of the output, or of the input, loses
// nothing.
type deadlineWatch struct {
	end   time.Time     // deadline of the command
	left  time.Duration // how long the guest may still be silent after that
	late  int           // bytes that arrived after everything must have ended
	timer *time.Timer   // fires when the guest was silent too long
}

// maxLateBytes is more than all buffers of an ended command hold: pipes, both sides, and the connection.
const maxLateBytes = 4 << 20

// longest bounds timeouts, so that they can be added to a time.
const longest = 100 * 365 * 24 * time.Hour

// newDeadlineWatch starts with the command. It calls alarm when the guest was silent for too long.
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

// flooded counts n bytes and reports whether the guest ignores the timeout.
func (v *deadlineWatch) flooded(n int) bool {
	if time.Since(v.end) > grace {
		v.late += n
	}
	return v.late > maxLateBytes+2*wire.OutputWindow
}
