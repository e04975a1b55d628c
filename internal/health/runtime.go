package health

import (
	"bytes"
	"os"
	"runtime"
	"strconv"
	"strings"

	"hako/internal/promtext"
)

// runtimeMetrics are the metrics of the Go runtime and of the process, with the names
// that the official Prometheus client uses, and a summary of the collector's pauses.
type runtimeMetrics struct {
	values []*promtext.Family // in the order of runtimeFigures
	pauses *promtext.Family
}

// A runtimeFigure is one of them with the function that reads it; ok is false where the
// system does not provide the value.
type runtimeFigure struct {
	name, help string
	read       func(s *snapshot) (value float64, ok bool)
}

// runtimeFigures is no variable: that would cost every start of hako.
func runtimeFigures() []runtimeFigure {
	return []runtimeFigure{
		{"go_goroutines", "Goroutines that exist.",
			always(func(*snapshot) float64 { return float64(runtime.NumGoroutine()) })},
		{"go_threads", "Threads of the system that were created.", always(func(*snapshot) float64 {
			n, _ := runtime.ThreadCreateProfile(nil)
			return float64(n)
		})},
		{"go_memstats_alloc_bytes", "Bytes in use on the heap.", memory(func(m *runtime.MemStats) uint64 { return m.Alloc })},
		{"go_memstats_alloc_bytes_total", "Bytes that were ever allocated on the heap.",
			memory(func(m *runtime.MemStats) uint64 { return m.TotalAlloc })},
		{"go_memstats_heap_inuse_bytes", "Bytes of heap spans that are in use.",
			memory(func(m *runtime.MemStats) uint64 { return m.HeapInuse })},
		{"go_memstats_heap_idle_bytes", "Bytes of heap spans that are not in use.",
			memory(func(m *runtime.MemStats) uint64 { return m.HeapIdle })},
		{"go_memstats_heap_objects", "Objects on the heap.",
			memory(func(m *runtime.MemStats) uint64 { return m.HeapObjects })},
		{"go_memstats_sys_bytes", "Bytes obtained from the system.",
			memory(func(m *runtime.MemStats) uint64 { return m.Sys })},
		{"go_memstats_next_gc_bytes", "Bytes on the heap at which the next collection begins.",
			memory(func(m *runtime.MemStats) uint64 { return m.NextGC })},
		{"process_cpu_seconds_total", "Processor time used, in user and system mode.", func(s *snapshot) (float64, bool) {
			return (s.field(14) + s.field(15)) / ticks, s.stat != nil
		}},
		{"process_resident_memory_bytes", "Resident memory.", func(s *snapshot) (float64, bool) {
			return s.field(24) * float64(os.Getpagesize()), s.stat != nil
		}},
		{"process_virtual_memory_bytes", "Virtual memory.", func(s *snapshot) (float64, bool) {
			return s.field(23), s.stat != nil
		}},
		{"process_open_fds", "Open file descriptors.", func(*snapshot) (float64, bool) {
			open, err := os.ReadDir("/proc/self/fd")
			return float64(len(open) - 1), err == nil // one is what they were read by
		}},
		{"process_max_fds", "Maximum number of open file descriptors.", func(*snapshot) (float64, bool) {
			return numberAfter("/proc/self/limits", "\nMax open files")
		}},
		{"process_start_time_seconds", "Start of the process, in seconds since 1970.", func(s *snapshot) (float64, bool) {
			booted, ok := numberAfter("/proc/stat", "\nbtime ")
			return booted + s.field(22)/ticks, ok && s.stat != nil
		}},
	}
}

func always(read func(*snapshot) float64) func(*snapshot) (float64, bool) {
	return func(s *snapshot) (float64, bool) { return read(s), true }
}

func memory(read func(*runtime.MemStats) uint64) func(*snapshot) (float64, bool) {
	return func(s *snapshot) (float64, bool) { return float64(read(&s.MemStats)), true }
}

func newRuntimeMetrics(r *promtext.Registry) (m runtimeMetrics) {
	r.Gauge("go_info", "Information about the Go environment.", "version").Set(1, runtime.Version())
	m.pauses = r.Summary("go_gc_duration_seconds", "Pauses of the program for garbage collection.")
	for _, f := range runtimeFigures() {
		add := r.Gauge
		if strings.HasSuffix(f.name, "_total") {
			add = r.Counter
		}
		m.values = append(m.values, add(f.name, f.help))
	}
	return m
}

func (m runtimeMetrics) update() {
	s := takeSnapshot()
	m.pauses.SetSum(uint64(s.NumGC), float64(s.PauseTotalNs)/1e9)
	for i, f := range runtimeFigures() {
		if value, ok := f.read(s); ok {
			m.values[i].Set(value)
		}
	}
}

// ticks is the unit of the times in /proc/self/stat, on every machine Go runs on.
const ticks = 100

// A snapshot is the state of the process at a moment.
type snapshot struct {
	runtime.MemStats
	stat []string // fields of /proc/self/stat after the name, which is the second; nil outside of Linux
}

func takeSnapshot() *snapshot {
	s := new(snapshot)
	runtime.ReadMemStats(&s.MemStats)
	if text, err := os.ReadFile("/proc/self/stat"); err == nil {
		s.stat = strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	}
	return s
}

// field returns a field by its number in proc_pid_stat(5).
func (s *snapshot) field(n int) float64 {
	if n-3 >= len(s.stat) {
		return 0
	}
	value, _ := strconv.ParseFloat(s.stat[n-3], 64)
	return value
}

// numberAfter returns the number that follows some words in a file.
func numberAfter(path, words string) (float64, bool) {
	text, _ := os.ReadFile(path)
	_, rest, _ := strings.Cut(string(text), words)
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		return 0, false
	}
	value, err := strconv.ParseFloat(fields[0], 64)
	return value, err == nil
}
