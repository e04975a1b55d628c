// Package sandbox starts programs that can access only what they were granted: one directory to work in, the system's
// directories to read, and nothing else of this machine, its network or its processes.
//
// A sandbox is a helper process (this same program under another name, see [Main]) that restricts itself and then
// starts programs on request. They inherit the restrictions, so that starting one costs little, and when the helper
// ends, everything in the sandbox ends with it.
//
// It uses namespaces, mounts, Landlock, seccomp and resource limits. Which programs may run is for package host and
// the gate to decide. The rule to keep: a sandbox that could not be built as requested is not used.
package sandbox

import (
	"fmt"
	"os"

	"hako/run/fault"
)

// A Level is the strength of a sandbox. Seccomp, limits and a clean environment are part of every level but None.
type Level uint8

// The levels, weakest first.
const (
	// None is no sandbox; nothing is started.
	None Level = iota
	// LandlockOnly restricts files and network by Landlock and seccomp, but programs see the machine's processes and
	// file names, and cannot change modes and times of files by name.
	LandlockOnly
	// NamespacesOnly has its own processes, network and file tree, on a kernel without Landlock.
	NamespacesOnly
	// Full is both.
	Full
)

var levelNames = [...]string{"none", "landlock-only", "namespaces-only", "full"}

// String returns the level as in settings.
func (l Level) String() string { return levelNames[l] }

// MarshalText implements [encoding.TextMarshaler].
func (l Level) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
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

// A Plan describes a sandbox. All paths are absolute, exist, and contain no symbolic links.
type Plan struct {
	Root     string   // working directory of programs, which they may change
	Temp     string   // a private, empty directory; visible as /tmp if mounts are possible
	Readable []string // more directories and files that may be read
	Protect  []string // names in Root to make read-only, if mounts are possible
	Hide     []string // paths in Root or Readable to hide, if mounts are possible
	Network  bool     // programs may use the network of this machine
	Limits   Limits
}

// Limits limit programs. Zero means no limit.
type Limits struct {
	Memory    int64 // bytes of one program
	Processes int64 // in the whole sandbox
	Files     int64 // open in one program
	FileSize  int64 // bytes of one file
}

// A Report describes a sandbox.
type Report struct {
	Level    Level    `json:"level"`
	Landlock int      `json:"landlock_abi"` // zero: the kernel has none
	Seccomp  bool     `json:"seccomp"`
	Spaces   []string `json:"namespaces"`          // which there are
	Missing  []string `json:"missing"`             // what could not be had, and why
	Counting []string `json:"counting,omitempty"`  // how the number of processes is limited
	TempDir  string   `json:"temporary_directory"` // what programs see as their temporary directory
}

// A Program is a program to start. It inherits three files and nothing else.
type Program struct {
	Path   string   // of the executable, absolute
	Argv   []string // including the name
	Env    []string
	Dir    string
	Stdin  *os.File
	Stdout *os.File
	Stderr *os.File
}

// tooWeak refuses a sandbox that is weaker than required.
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

// name is the name of the helper process.
const name = "hako-sandbox"
