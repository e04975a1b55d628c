package engine

import (
	"math"
	"time"

	"hako/run/fault"
)

// A Spec is a container to be. Whatever it says, the container has no network but
// its own loopback, no capability that CapAdd does not name, can gain no
// privileges, is never restarted, shares no memory with others and runs no health
// check of its image.
type Spec struct {
	Name       string   // empty means that the engine makes one up
	Image      string   // required
	User       string   // "uid:gid"; empty means the image's
	Entrypoint []string // empty means the image's
	Cmd        []string // empty means the image's, or none if Entrypoint is set
	Env        []string // in addition to the image's
	Labels     map[string]string
	Dir        string // working directory; empty means the image's
	Hostname   string // empty means the container's id

	Mounts   []Mount
	Tmpfs    map[string]string // options by path: "/tmp": "size=64m,mode=1777"
	ReadOnly bool              // the root file system cannot be written
	CapAdd   []string          // capabilities to keep; none means none
	Seccomp  string            // a profile as JSON; empty means the engine's

	CPUs    float64 // zero means no limit
	Memory  int64   // bytes, with no swap on top; zero means no limit
	Pids    int64   // zero means no limit
	Shm     int64   // bytes of /dev/shm; zero means the engine's 64 MB
	Ulimits []Ulimit
	Grace   time.Duration // between asking the container to stop and killing it; zero means the engine's 10 s
}

// A Ulimit is a limit of each process: "nofile", "core".
type Ulimit struct {
	Name       string
	Soft, Hard int64
}

// A MountKind says what is mounted. The zero value is refused.
type MountKind string

// The kinds of mounts.
const (
	Bind   MountKind = "bind"
	Volume MountKind = "volume"
)

// A Mount is a place in the container that is kept outside of it.
type Mount struct {
	Kind     MountKind
	Source   string // a path on the engine's machine that exists, or a volume's name; an empty name means an anonymous volume, which goes with its container
	Target   string
	ReadOnly bool
	Options  map[string]string // of the local driver for a volume made by this: type, device, o
	Labels   map[string]string // of a volume made by this
}

// The shapes that the API wants.
type (
	wireSpec struct {
		Hostname    string   `json:",omitempty"`
		User        string   `json:",omitempty"`
		Env         []string `json:",omitempty"`
		Cmd         []string `json:",omitempty"`
		Entrypoint  []string `json:",omitempty"`
		Image       string
		Labels      map[string]string `json:",omitempty"`
		WorkingDir  string            `json:",omitempty"`
		StopTimeout *int              `json:",omitempty"`
		Healthcheck wireHealth
		HostConfig  wireHost
	}
	wireHealth struct{ Test []string }
	wireHost   struct {
		NetworkMode    string
		IpcMode        string
		RestartPolicy  wireRestart
		LogConfig      wireLog
		CapDrop        []string
		CapAdd         []string `json:",omitempty"`
		SecurityOpt    []string
		ReadonlyRootfs bool
		Init           bool
		OomKillDisable bool
		Tmpfs          map[string]string `json:",omitempty"`
		Mounts         []wireMount       `json:",omitempty"`
		NanoCpus       int64             `json:",omitempty"`
		Memory         int64             `json:",omitempty"`
		MemorySwap     int64             `json:",omitempty"`
		PidsLimit      int64             `json:",omitempty"`
		ShmSize        int64             `json:",omitempty"`
		Ulimits        []Ulimit          `json:",omitempty"`
	}
	wireRestart struct{ Name string }
	wireLog     struct {
		Type   string
		Config map[string]string
	}
	wireMount struct {
		Type          MountKind
		Source        string `json:",omitempty"`
		Target        string
		ReadOnly      bool
		BindOptions   *wireBind   `json:",omitempty"`
		VolumeOptions *wireVolume `json:",omitempty"`
	}
	wireBind   struct{ Propagation string }
	wireVolume struct {
		NoCopy       bool
		Labels       map[string]string `json:",omitempty"`
		DriverConfig *wireDriver       `json:",omitempty"`
	}
	wireDriver struct {
		Name    string
		Options map[string]string
	}
)

func (s Spec) wire() (wireSpec, error) {
	mounts, err := s.mounts()
	if err != nil {
		return wireSpec{}, err
	}
	w := wireSpec{
		Hostname: s.Hostname, User: s.User, Env: s.Env, Cmd: s.Cmd, Entrypoint: s.Entrypoint, Image: s.Image,
		Labels: s.Labels, WorkingDir: s.Dir, Healthcheck: wireHealth{[]string{"NONE"}}, HostConfig: s.confined(),
	}
	w.HostConfig.Mounts = mounts
	if s.Grace > 0 {
		seconds := wholeSeconds(s.Grace)
		w.StopTimeout = &seconds
	}
	return w, nil
}

// confined is what holds for every container, and its limits.
func (s Spec) confined() wireHost {
	security := []string{"no-new-privileges:true"}
	if s.Seccomp != "" {
		security = append(security, "seccomp="+s.Seccomp)
	}
	return wireHost{
		NetworkMode:   "none",
		IpcMode:       "private",
		RestartPolicy: wireRestart{"no"},
		// What a container says goes to the host's disk: a little is kept, to see why it died.
		LogConfig:      wireLog{"local", map[string]string{"max-size": "256k", "max-file": "1", "compress": "false"}},
		CapDrop:        []string{"ALL"},
		CapAdd:         s.CapAdd,
		SecurityOpt:    security,
		ReadonlyRootfs: s.ReadOnly,
		Tmpfs:          s.Tmpfs,
		NanoCpus:       int64(math.Round(s.CPUs * 1e9)),
		Memory:         s.Memory,
		MemorySwap:     s.Memory,
		PidsLimit:      s.Pids,
		ShmSize:        s.Shm,
		Ulimits:        s.Ulimits,
	}
}

func (s Spec) mounts() ([]wireMount, error) {
	var all []wireMount
	for _, m := range s.Mounts {
		w := wireMount{Type: m.Kind, Source: m.Source, Target: m.Target, ReadOnly: m.ReadOnly}
		switch m.Kind {
		case Bind:
			w.BindOptions = &wireBind{"rprivate"}
		case Volume:
			w.VolumeOptions = &wireVolume{NoCopy: true, Labels: m.Labels}
			if len(m.Options) > 0 {
				w.VolumeOptions.DriverConfig = &wireDriver{"local", m.Options}
			}
		default:
			return nil, &fault.Error{Kind: fault.Invalid, Op: "create container", Subject: s.Name,
				Why: "the mount at " + m.Target + " is neither bind nor volume"}
		}
		all = append(all, w)
	}
	return all, nil
}

// wholeSeconds rounds up: a grace of half a second is not none.
func wholeSeconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }
