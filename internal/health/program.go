package health

import (
	"bytes"
	"os"
	"runtime"
	"strconv"
	"strings"

	"hako/internal/promtext"
)

// program is what the daemon says of itself as a program, under the names that
// every Go program's figures have.
type program struct {
	goroutines, threads, alloc, allocated, heapInUse, heapIdle, heapObjects, system, next *promtext.Family

	pauses *promtext.Family

	cpu, resident, virtual, openFiles, mostFiles, began *promtext.Family
}

func newProgram(b *promtext.Registry) *program {
	b.Gauge("go_info", "Information about the Go environment.", "version").Set(1, runtime.Version())
	return &program{
		goroutines:  b.Gauge("go_goroutines", "Goroutines that exist."),
		threads:     b.Gauge("go_threads", "Threads of the system that were made."),
		alloc:       b.Gauge("go_memstats_alloc_bytes", "Bytes in use on the heap."),
		allocated:   b.Counter("go_memstats_alloc_bytes_total", "Bytes that were ever taken on the heap."),
		heapInUse:   b.Gauge("go_memstats_heap_inuse_bytes", "Bytes of the heap's spans that are in use."),
		heapIdle:    b.Gauge("go_memstats_heap_idle_bytes", "Bytes of the heap's spans that wait to be used."),
		heapObjects: b.Gauge("go_memstats_heap_objects", "Objects on the heap."),
		system:      b.Gauge("go_memstats_sys_bytes", "Bytes had from the system."),
		next:        b.Gauge("go_memstats_next_gc_bytes", "Bytes on the heap at which the next collection begins."),
		pauses:      b.Summary("go_gc_duration_seconds", "How long collections made the program stand still."),
		cpu:         b.Counter("process_cpu_seconds_total", "Time of processors used, for the user and in the system."),
		resident:    b.Gauge("process_resident_memory_bytes", "Memory held."),
		virtual:     b.Gauge("process_virtual_memory_bytes", "Memory laid out."),
		openFiles:   b.Gauge("process_open_fds", "Open file descriptors."),
		mostFiles:   b.Gauge("process_max_fds", "File descriptors that may be open."),
		began:       b.Gauge("process_start_time_seconds", "When the process began, in seconds since 1970."),
	}
}

// look brings the figures up to date.
func (p *program) look() {
	p.lookAtGo()
	p.lookAtProcess()
}

func (p *program) lookAtGo() {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	threads, _ := runtime.ThreadCreateProfile(nil)
	p.goroutines.Set(float64(runtime.NumGoroutine()))
	p.threads.Set(float64(threads))
	p.alloc.Set(float64(m.Alloc))
	p.allocated.Set(float64(m.TotalAlloc))
	p.heapInUse.Set(float64(m.HeapInuse))
	p.heapIdle.Set(float64(m.HeapIdle))
	p.heapObjects.Set(float64(m.HeapObjects))
	p.system.Set(float64(m.Sys))
	p.next.Set(float64(m.NextGC))
	p.pauses.SetSum(uint64(m.NumGC), float64(m.PauseTotalNs)/1e9)
}

// ticks are how many parts the kernel divides a second into where it tells
// times of processes, on every machine Go runs on.
const ticks = 100

// lookAtProcess reads what Linux says. Elsewhere there is nothing to read, and
// no such figures.
func (p *program) lookAtProcess() {
	stat, ok := processStat()
	if !ok {
		return
	}
	p.cpu.Set((stat(14) + stat(15)) / ticks)
	p.virtual.Set(stat(23))
	p.resident.Set(stat(24) * float64(os.Getpagesize()))
	if booted, ok := after("/proc/stat", "\nbtime "); ok {
		p.began.Set(booted + stat(22)/ticks)
	}
	if open, err := os.ReadDir("/proc/self/fd"); err == nil {
		p.openFiles.Set(float64(len(open) - 1)) // one is what they were read by
	}
	if most, ok := after("/proc/self/limits", "\nMax open files"); ok {
		p.mostFiles.Set(most)
	}
}

// processStat returns what proc_pid_stat(5) calls the fields, by their numbers.
func processStat() (field func(int) float64, ok bool) {
	text, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return nil, false
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:])) // the second one is a name in parentheses
	return func(n int) float64 {
		if n-3 >= len(fields) {
			return 0
		}
		value, _ := strconv.ParseFloat(fields[n-3], 64)
		return value
	}, len(fields) > 0
}

// after returns the number that follows the words in a file.
func after(path, words string) (float64, bool) {
	text, err := os.ReadFile(path)
	_, rest, found := strings.Cut(string(text), words)
	if err != nil || !found {
		return 0, false
	}
	number, _, _ := strings.Cut(strings.TrimLeft(rest, " "), "\n")
	number, _, _ = strings.Cut(number, " ")
	value, err := strconv.ParseFloat(number, 64)
	return value, err == nil
}
