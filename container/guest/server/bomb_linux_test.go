package server

import (
	"strings"
	"sync"
	"testing"
	"time"

	"hako/container/guest"
	"hako/run"
	"hako/run/fault"
)

// bombs are scripts that start processes until there is no room. They use nothing
// but the shell and sleep.
var bombs = map[string]string{
	"classic": `bomb() { bomb | bomb & }; (bomb); while :; do :; done`,
	"crowd":   `trap '' TERM; (while :; do sleep 600 & done); while :; do :; done`,
	"chain":   `hop() { (hop &); }; trap '' TERM; (hop); while :; do :; done`, // each starts the next and ends
}

// TestForkBomb fills a container with processes, again and again, and asks much of
// its guest meanwhile, which then needs threads that are not to be had.
func TestForkBomb(t *testing.T) {
	d := newBox(t, guest.Options{}, "-v", "/workspace", "--pids-limit", "64")
	for round := range 3 {
		for name, script := range bombs {
			end := make(chan outcome, 1)
			go func() { end <- d.do(t, guest.Command{Script: script, Timeout: time.Second}) }()
			refused := d.crowd(t, 900*time.Millisecond)
			if got := <-end; !got.TimedOut || got.fault != nil {
				t.Fatalf("%s, round %d: %+v", name, round, got)
			}
			d.empties(t, 2*time.Second)
			t.Logf("%s: %d commands had no room", name, refused)
		}
	}
	if got := d.sh(t, "echo fine"); got != "fine\n" {
		t.Error(got)
	}
}

// TestBombsEnd ends bombs by other ways than their time: all of them have to work
// without room for anything.
func TestBombsEnd(t *testing.T) {
	d := newBox(t, guest.Options{}, "-v", "/workspace", "--pids-limit", "64")
	for name, script := range bombs {
		j, err := d.Start(t.Context(), guest.Command{Script: script})
		if err != nil {
			t.Fatal(name, err)
		}
		d.crowd(t, 500*time.Millisecond)
		if j, err = d.Kill(t.Context(), j.Handle); err != nil || j.State != run.JobKilled {
			t.Errorf("%s: %+v, %v", name, j, err)
		}
		d.empties(t, 2*time.Second)
	}
}

// TestStopper has a command that stops everybody of its own user, also those that
// have just become that user and are not commands yet. Others cannot run then, but
// the guest must go on, and end whom it is told to.
func TestStopper(t *testing.T) {
	d := newBox(t, guest.Options{}, "-v", "/workspace")
	j, err := d.Start(t.Context(), guest.Command{Script: "while :; do kill -STOP -1; done 2>/dev/null"})
	if err != nil {
		t.Fatal(err)
	}
	held := 0
	for range 300 {
		got := d.do(t, guest.Command{Script: execArgs, Args: []string{"busybox", "true"}, Timeout: time.Millisecond})
		if fault.KindOf(got.fault) == fault.Unavailable && strings.Contains(got.fault.Error(), "stops new processes") {
			held++
		} else if got.fault != nil {
			t.Fatalf("%+v", got)
		}
		if held == 3 {
			break
		}
	}
	t.Logf("%d were held before they began", held)
	if j, err = d.Kill(t.Context(), j.Handle); err != nil || j.State != run.JobKilled {
		t.Fatalf("%+v, %v", j, err)
	}
	if got := d.sh(t, "echo fine"); got != "fine\n" {
		t.Error(got)
	}
}

// crowd runs commands, eight at a time, for a while. It returns how many there was
// no room for, who must have been told so.
func (d *den) crowd(t *testing.T, long time.Duration) (refused int) {
	t.Helper()
	over := time.Now().Add(long)
	var mu sync.Mutex
	var busy sync.WaitGroup
	for range 8 {
		busy.Go(func() {
			for time.Now().Before(over) {
				got := d.do(t, guest.Command{Script: execArgs, Args: []string{"busybox", "true"}})
				switch {
				case got.fault == nil:
				case fault.KindOf(got.fault) == fault.Exhausted && fault.Hint(got.fault) != "" &&
					strings.Contains(got.fault.Error(), "no room for another process"):
					mu.Lock()
					refused++
					mu.Unlock()
				default:
					t.Errorf("%+v", got)
				}
				if _, err := d.Stats(t.Context(), false); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	busy.Wait()
	return refused
}

// empties waits until no process is left.
func (d *den) empties(t *testing.T, most time.Duration) {
	t.Helper()
	for end := time.Now().Add(most); ; time.Sleep(5 * time.Millisecond) {
		s, err := d.Stats(t.Context(), false)
		if err != nil {
			t.Fatal(err)
		}
		if s.Processes == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d processes are left", s.Processes)
		}
	}
}

// TestLeftBehindEnds gives what a command leaves behind the rest of its time.
func TestLeftBehindEnds(t *testing.T) {
	d := newDen(t, guest.Options{})
	stays, goes := token(), token()
	d.do(t, guest.Command{Script: "setsid nohup sleep " + stays + " >/dev/null 2>&1 &", Timeout: time.Minute})
	got := d.do(t, guest.Command{Script: "setsid nohup sh -c 'trap \"\" TERM; sleep " + goes + "; sleep " + goes +
		"' >/dev/null 2>&1 & echo ok", Timeout: time.Second})
	if got.out != "ok\n" || got.TimedOut || got.Duration > 900*time.Millisecond {
		t.Errorf("%+v", got)
	}
	eventually(t, "both are there", func() bool { return alive(stays) == 1 && alive(goes) == 2 })
	if s, err := d.Stats(t.Context(), false); err != nil || s.LeftBehind != 3 || s.Processes != 3 {
		t.Errorf("%+v, %v", s, err)
	}
	j, err := d.Start(t.Context(), guest.Command{Script: "(setsid sleep 600 &); sleep 600"})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the job has its processes", func() bool {
		s, err := d.Stats(t.Context(), false)
		return err == nil && s.Processes >= 5 && s.LeftBehind == 3
	})
	eventually(t, "the time of the second is over", func() bool { return alive(goes) == 0 })
	if alive(stays) != 1 {
		t.Error("the first, which has time, is gone too")
	}
	if _, err := d.Kill(t.Context(), j.Handle); err != nil {
		t.Error(err)
	}
}

// TestLeftBehindByJob ends what a job left behind that has ended, and has all the
// time there is, by its handle.
func TestLeftBehindByJob(t *testing.T) {
	d := newDen(t, guest.Options{})
	word := token()
	j, err := d.Start(t.Context(), guest.Command{Script: "setsid sleep " + word + " &"})
	if err == nil {
		j, err = d.Wait(t.Context(), j.Handle)
	}
	if err != nil || j.State != run.JobDone {
		t.Fatalf("%+v, %v", j, err)
	}
	eventually(t, "it has left somebody", func() bool { return alive(word) == 1 })
	if j, err = d.Kill(t.Context(), j.Handle); err != nil || j.State != run.JobDone || alive(word) != 0 {
		t.Errorf("%+v, %v, %d left", j, err, alive(word))
	}
}
