package server

import (
	"cmp"
	"context"
	"runtime"
	"time"

	"hako/container/guest"
	"hako/container/guest/procgroup"
	"hako/container/guest/usage"
	"hako/run/fault"
)

// measureTime is less than clients wait for an answer.
const measureTime = 8 * time.Second

// stats tells what the container uses. With disk the workspace is measured, unless the system knows.
func (s *server) stats(ctx context.Context, disk bool) (guest.Stats, error) {
	u := usage.Group(usage.Groups)
	all, left := s.procs.Count()
	got := guest.Stats{Memory: u.Memory, MemoryLimit: u.MemoryLimit, CPU: u.CPU,
		Processes: all, LeftBehind: left, Running: int(s.running.Load()),
		Guest: guest.GuestStats{Memory: usage.OwnMemory(), Files: usage.OwnFiles(), Goroutines: runtime.NumGoroutine()}}
	s.mu.Lock()
	got.Guest.Links = len(s.conns)
	s.mu.Unlock()
	dir, watched := s.exec.workspace(), s.exec.running.disk
	switch {
	case usage.OwnFileSystem(dir, s.opts.Disk):
		room := usage.Room(dir)
		got.Disk, got.DiskLimit, got.DiskOwn = room.Used, room.Size, true
		return got, nil
	case watched != nil:
		got.Disk, got.DiskLimit = watched.last(), watched.limit
	}
	if !disk {
		return got, nil
	}
	ctx, cancel := context.WithTimeout(ctx, measureTime)
	defer cancel()
	used, err := s.exec.diskUse(ctx)
	if err != nil {
		return got, &fault.Error{Kind: fault.Timeout, Op: "measure", Subject: dir, Err: err,
			Hint: "remove what is not needed"}
	}
	got.Disk = used
	return got, nil
}

// workspace is the directory whose size matters.
func (s execContext) workspace() string { return cmp.Or(s.within, s.dir) }

// diskUse adds up what lies in the workspace. It looks in the place of the user
// of the commands, who may have locked root out.
func (s execContext) diskUse(ctx context.Context) (total int64, err error) {
	denied := procgroup.As(s.uid, s.gid, func() { total, err = usage.Tree(ctx, s.workspace()) })
	if denied != nil {
		return 0, denied
	}
	return total, err
}

// watchDisk has the workspace watched if it has a limit that the system does not keep. What commands left behind
// counts as they do; of what is left behind nobody knows whether it could write, so that all is ended.
func (s execContext) watchDisk(limit int64, left *procgroup.Group) *diskWatch {
	dir := s.workspace()
	if limit == 0 || usage.OwnFileSystem(dir, limit) {
		return nil
	}
	return &diskWatch{dir: dir, limit: limit, measure: s.diskUse,
		busy: func() bool { return s.running.busy() || left.Left() },
		over: func() { s.running.evict(); left.EndLeft(patience) },
		free: func() int64 { return usage.Room(dir).Free }}
}
