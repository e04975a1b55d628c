// Package sandbox starts programs that can reach no more than they were given: one directory to work in, the system's
// own directories to read, and nothing else of this machine, its network or its other processes.
//
// A cage is a helper process (this same program under another name, see [Guest]) that locks itself in and then starts
// programs on request. Whatever it starts is born locked in, so that a program costs little more than its start, and
// when the helper goes, everything in the cage goes with it.
//
// Inside are namespaces, mounts, Landlock, seccomp and limits. Not inside: what may be run, and what it is called;
// that is for package host and the gate. The one rule to keep: a cage that could not be built as asked is not used.
package sandbox

import (
	"fmt"
	"os"

	"hako/run/fault"
)

// A Level says how much of a cage the system lets us build. Seccomp, limits and
// a clean environment are part of every level but None.
type Level uint8

// The levels, weakest first.
const (
	// None is no cage at all; nothing is started in it.
	None Level = iota
	// LandlockOnly confines files and network by Landlock and seccomp, but programs see the processes and the file
	// names of the machine, and changing modes and times of files by name is refused altogether.
	LandlockOnly
	// NamespacesOnly has own processes, network and a file tree with nothing
	// else in it, on a kernel without Landlock.
	NamespacesOnly
	// Full is both.
	Full
)

var levelNames = [...]string{"none", "landlock-only", "namespaces-only", "full"}

// String returns the level as it is spelled in settings.
func (l Level) String() string { return levelNames[l] }

// MarshalText spells the level in JSON.
func (l Level) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText reads a level.
func (l *Level) UnmarshalText(text []byte) error {
	for i, name := range levelNames {
		if string(text) == name {
			*l = Level(i)
			return nil
		}
	}
	return &fault.Error{Kind: fault.Invalid, Op: "choose sandbox level", Subject: string(text),
		Why: "there is no such level", Hint: "use full, namespaces-only or landlock-only"}
}

// A Plan says what a cage holds. All paths are absolute, exist, and are free of symbolic links.
type Plan struct {
	Root     string   // where programs work; they may change what is in it
	Temp     string   // a private, empty directory; it appears as /tmp where mounts can be made
	Readable []string // more directories and files that may be read
	Protect  []string // names in Root that stay as they are, where mounts can be made
	Hide     []string // what stays hidden though it lies in Root or Readable, where mounts can be made
	Network  bool     // programs may use the network of this machine
	Limits   Limits
}

// Limits bound what programs may use. Zero means no bound.
type Limits struct {
	Memory    int64 // bytes of one program
	Processes int64 // at the same time, of the whole cage
	Files     int64 // open at the same time in one program
	FileSize  int64 // bytes of one file
}

// A Report says what a cage is made of.
type Report struct {
	Level    Level    `json:"level"`
	Landlock int      `json:"landlock_abi"` // zero: the kernel has none
	Seccomp  bool     `json:"seccomp"`
	Spaces   []string `json:"namespaces"`          // which there are
	Missing  []string `json:"missing"`             // what could not be had, and why
	Counting []string `json:"counting,omitempty"`  // how processes and memory of the whole cage are bounded
	TempDir  string   `json:"temporary_directory"` // what programs see as their temporary directory
}

// A Program is what to start. It gets the three files and nothing else of ours.
type Program struct {
	Path   string   // of the executable, absolute
	Argv   []string // with the name
	Env    []string
	Dir    string
	Stdin  *os.File
	Stdout *os.File
	Stderr *os.File
}

// tooWeak refuses a cage that is weaker than asked for.
func tooWeak(r Report, least Level) error {
	return &fault.Error{Kind: fault.Denied, Op: "build sandbox",
		Why:  fmt.Sprintf("this machine gives %s, %s is required%s", r.Level, least, firstMissing(r.Missing)),
		Hint: "hako host status says what is missing; bash_executor.sandbox sets what is required"}
}

func firstMissing(missing []string) string {
	if len(missing) == 0 {
		return ""
	}
	return ": " + missing[0]
}

// name is what the helper process is called.
const name = "hako-cage"
