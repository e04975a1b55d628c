package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
)

// A machine is where the figures were measured.
type machine struct {
	model, kernel string
	cores         int
	memory        int64
}

func currentMachine() machine {
	kernel, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	info, _ := os.ReadFile("/proc/meminfo")
	return machine{model: processor(), kernel: strings.TrimSpace(string(kernel)), cores: runtime.NumCPU(),
		memory: kilobytes(string(info), "MemTotal:")}
}

func processor() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "not known"
}

// load is the load average of the last minute.
func load() string {
	text, _ := os.ReadFile("/proc/loadavg")
	if f := strings.Fields(string(text)); len(f) > 0 {
		return f[0]
	}
	return "not known"
}

func busy() float64 {
	n, _ := strconv.ParseFloat(load(), 64)
	return n
}

func (m machine) String() string {
	return fmt.Sprintf("%s, %d cores, %.0f GB; Linux %s; %s, nats-server %s.",
		m.model, m.cores, float64(m.memory)/(1<<30), m.kernel, runtime.Version(), module("github.com/nats-io/nats-server/v2"))
}

func module(path string) string {
	info, _ := debug.ReadBuildInfo()
	if info != nil {
		for _, m := range info.Deps {
			if m.Path == path {
				return m.Version
			}
		}
	}
	return "?"
}
