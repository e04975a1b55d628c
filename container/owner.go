package container

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
)

// An owner is a process that owns containers.
type owner struct {
	Host  string `json:"host"` // the machine, a point, and which of its starts
	PID   int    `json:"pid"`
	Start string `json:"start"` // when the process began, in the kernel's words: pids are used again
}

var self = sync.OnceValue(func() owner {
	return owner{Host: host(), PID: os.Getpid(), Start: startOf(os.Getpid())}
})

// host identifies this machine and its boot. A machine without an ID is not recognized after a reboot, so its
// containers are kept rather than removed.
func host() string {
	name, _ := os.Hostname()
	machine, _ := os.ReadFile("/etc/machine-id")
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if len(machine) == 0 {
		machine = boot
	}
	return digest(name+"\n"+string(machine)) + "." + digest(string(boot))
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// before reports whether an owner was a process of an earlier boot of the same machine: then it has certainly ended.
func (o owner) before(other owner) bool {
	machine, boot, ok := strings.Cut(o.Host, ".")
	same, now, _ := strings.Cut(other.Host, ".")
	return ok && machine == same && boot != now && boot != digest("") && now != digest("")
}

// startOf returns the start time of a process; empty means that it does not exist, or the system does not tell.
func startOf(pid int) string {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return ""
	}
	_, rest, _ := strings.Cut(string(data), ") ") // the name before it may contain anything
	if fields := strings.Fields(rest); len(fields) > 19 {
		return fields[19]
	}
	return ""
}

// String returns the owner as a label.
func (o owner) String() string { return fmt.Sprintf("%s/%d/%s", o.Host, o.PID, o.Start) }

func parseOwner(label string) (o owner, ok bool) {
	parts := strings.Split(label, "/")
	if len(parts) != 3 {
		return o, false
	}
	pid, err := strconv.Atoi(parts[1])
	return owner{parts[0], pid, parts[2]}, err == nil
}

// gone reports whether a process of this machine has certainly ended.
func (o owner) gone() bool {
	return o.before(self()) || o.Host == self().Host && o.Start != "" && self().Start != "" && startOf(o.PID) != o.Start
}
