package server

import (
	"fmt"
	"sync"
	"syscall"

	"hako/container/guest/procgroup"
	"hako/container/guest/usage"
	"hako/container/guest/wire"
)

// A runningCommand is a command with what is needed to explain its end.
type runningCommand struct {
	*procgroup.Process
	of     *runningCommands
	kills  int64 // out-of-memory kills before it began
	serial int64 // number of the command
	alone  bool  // none was running when it began
	sealed bool  // it cannot write: the disk was full when it started
	full   bool  // it was killed because the disk is full; guarded by runningCommands.mu
}

type runningCommands struct {
	groups string      // path of the control groups
	kills  usage.Kills // out-of-memory kills
	disk   *diskWatch  // nil means that the workspace is not watched

	mu     sync.Mutex // guards what follows, and runningCommand.full
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

// started starts watching the disk.
func (cmd *runningCommand) started(p *procgroup.Process) {
	cmd.of.mu.Lock()
	cmd.Process = p
	cmd.of.mu.Unlock()
	if cmd.of.disk != nil {
		cmd.of.disk.keepLooking()
	}
}

// leave removes a command, and reports whether it was killed because the disk is full, and whether it was the only
// command all the time.
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

// evict kills commands that can still write to a full disk. Later ones are sealed.
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

// overSize is the status of a command that exceeded the file size limit: 128 plus SIGXFSZ, which not every system
// defines.
const overSize = 128 + 25

// finish waits for the command and returns its outcome.
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

// memoryNote explains an out-of-memory kill. The kernel may have killed a descendant instead of the command itself.
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
