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

// measureTime is less than the timeout of clients.
const measureTime = 8 * time.Second

// stats measures the container. With disk the workspace is measured, unless the system reports its size.
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

// workspace returns the directory whose size is limited.
func (s execContext) workspace() string { return cmp.Or(s.within, s.dir) }

// diskUse measures the workspace as the user of the commands, who may have locked root out.
func (s execContext) diskUse(ctx context.Context) (total int64, err error) {
	denied := procgroup.As(s.uid, s.gid, func() { total, err = usage.Tree(ctx, s.workspace()) })
	if denied != nil {
		return 0, denied
	}
	return total, err
}

// watchDisk watches the workspace if the system does not enforce its limit. All leftovers of commands are killed when
// it is full, because it is unknown which of them can write.
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
