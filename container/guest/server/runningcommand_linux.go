package server

import (
	"fmt"
	"sync"
	"syscall"

	"hako/container/guest/procgroup"
	"hako/container/guest/usage"
	"hako/container/guest/wire"
)

// A runningCommand is a command that runs, with what is needed to say why it ended.
type runningCommand struct {
	*procgroup.Process
	of     *runningCommands
	kills  int64 // for want of memory, before it began
	serial int64 // which command it is
	alone  bool  // none was running when it began
	sealed bool  // it cannot write: it was started when the disk was full
	full   bool  // it was ended because the disk is full; guarded by wards
}

// runningCommands are the commands that run.
type runningCommands struct {
	groups string      // where the control groups are
	kills  usage.Kills // for want of memory
	disk   *diskWatch  // nil means that nobody has to keep the workspace small

	mu     sync.Mutex // guards what follows, and ward.full
	all    map[*runningCommand]bool
	serial int64
}

func newRunningCommands(groups string) *runningCommands {
	return &runningCommands{groups: groups, kills: usage.OpenKills(groups), all: map[*runningCommand]bool{}}
}

// begin is called before a command is started.
func (w *runningCommands) begin() *runningCommand {
	kills, sealed := w.kills.Count(), w.disk.full()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.serial++
	cmd := &runningCommand{of: w, kills: kills, sealed: sealed, serial: w.serial, alone: len(w.all) == 0}
	w.all[cmd] = true
	return cmd
}

// started has the disk watched while a command runs.
func (cmd *runningCommand) started(p *procgroup.Process) {
	cmd.of.mu.Lock()
	cmd.Process = p
	cmd.of.mu.Unlock()
	if cmd.of.disk != nil {
		cmd.of.disk.keepLooking()
	}
}

// leave takes a command out, and tells whether it was ended for want of room and
// whether it was the only one all the time.
func (cmd *runningCommand) leave() (full, alone bool) {
	w := cmd.of
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.all, cmd)
	return cmd.full, cmd.alone && w.serial == cmd.serial
}

func (w *runningCommands) busy() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.all) > 0
}

// evict ends what may still write to a disk that is full. What is started from now on may not, and is left alone.
func (w *runningCommands) evict() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for cmd := range w.all {
		if cmd.Process != nil && !cmd.full && !cmd.sealed {
			cmd.full = true
			go cmd.End(patience)
		}
	}
}

// overSize is the status of a command that wrote more to a file than it may: 128
// and the number of the signal for that, which not every system has.
const overSize = 128 + 25

// finish waits for the end of the command itself and says what came of it.
func (cmd *runningCommand) finish(timedOut bool) wire.Ending {
	end := cmd.Ending()
	full, alone := cmd.leave()
	e := wire.Ending{Exit: end.Exit, Signal: end.Signal, TimedOut: timedOut, Duration: end.After}
	switch {
	case timedOut:
	case full || cmd.sealed:
		e.DiskFull, e.Note = full || e.Exit == overSize, cmd.of.disk.fullNote()
	case cmd.of.kills.Count() > cmd.kills && (alone || e.Exit == 128+int(syscall.SIGKILL)):
		e.OutOfMemory, e.Note = true, cmd.of.memoryNote(e.Exit)
	case e.Signal != 0:
		e.Note = fmt.Sprintf("killed by signal %d: %v", e.Signal, syscall.Signal(e.Signal))
	}
	return e
}

// memoryNote words the end of a command that the system took the memory from. The
// system may have chosen another process of it than the first.
func (w *runningCommands) memoryNote(exit int) string {
	who := "killed"
	if exit != 128+int(syscall.SIGKILL) {
		who = "a process of the command was killed"
	}
	text := who + ": out of memory"
	if limit := usage.MemoryLimit(w.groups); limit > 0 {
		text += " (limit " + usage.Bytes(limit) + ")"
	}
	return text
}
