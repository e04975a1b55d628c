package engine

import (
	"math"
	"time"

	"hako/run/fault"
)

// A Spec describes a container to create. Every container has only a loopback network, no capability but those in
// CapAdd, no-new-privileges, no restarts, private shared memory and no health check.
type Spec struct {
	Name       string   // empty means that the engine chooses one
	Image      string   // required
	User       string   // "uid:gid"; empty means the image's
	Entrypoint []string // empty means the image's
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
	Memory  int64   // bytes, without swap; zero means no limit
	Pids    int64   // zero means no limit
	Shm     int64   // bytes of /dev/shm; zero means the engine's 64 MB
	Ulimits []Ulimit
	Grace   time.Duration // before the container is killed on stop; zero means the engine's 10 s
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

// A Mount is a bind mount or a volume.
type Mount struct {
	Kind     MountKind
	Source   string // an existing path on the engine's machine, or the name of a volume; empty means an anonymous volume
	Target   string
	ReadOnly bool
	Options  map[string]string // of the local driver, for a new volume: type, device, o
	Labels   map[string]string // of a new volume
}

// wire returns the body of the API call.
func (s Spec) wire() (map[string]any, error) {
	mounts, err := s.mounts()
	if err != nil {
		return nil, err
	}
	security := []string{"no-new-privileges:true"}
	if s.Seccomp != "" {
		security = append(security, "seccomp="+s.Seccomp)
	}
	w := map[string]any{
		"Hostname": s.Hostname, "User": s.User, "Env": s.Env, "Entrypoint": s.Entrypoint, "Image": s.Image,
		"Labels": s.Labels, "WorkingDir": s.Dir, "Healthcheck": map[string]any{"Test": []string{"NONE"}},
		"HostConfig": map[string]any{
			"NetworkMode": "none", "IpcMode": "private", "RestartPolicy": map[string]string{"Name": "no"},
			// A container's output goes to the host's disk: a little is kept, to see why it died.
			"LogConfig": map[string]any{"Type": "local",
				"Config": map[string]string{"max-size": "256k", "max-file": "1", "compress": "false"}},
			"CapDrop": []string{"ALL"}, "CapAdd": s.CapAdd, "SecurityOpt": security, "ReadonlyRootfs": s.ReadOnly,
			"Init": false, "OomKillDisable": false, "Tmpfs": s.Tmpfs, "Mounts": mounts, "Ulimits": s.Ulimits,
			"NanoCpus": int64(math.Round(s.CPUs * 1e9)), "Memory": s.Memory, "MemorySwap": s.Memory,
			"PidsLimit": s.Pids, "ShmSize": s.Shm,
		},
	}
	if s.Grace > 0 {
		w["StopTimeout"] = wholeSeconds(s.Grace)
	}
	return w, nil
}

func (s Spec) mounts() (all []map[string]any, err error) {
	for _, m := range s.Mounts {
		w := map[string]any{"Type": m.Kind, "Source": m.Source, "Target": m.Target, "ReadOnly": m.ReadOnly}
		switch m.Kind {
		case Bind:
			w["BindOptions"] = map[string]string{"Propagation": "rprivate"}
		case Volume:
			options := map[string]any{"NoCopy": true, "Labels": m.Labels}
			if len(m.Options) > 0 {
				options["DriverConfig"] = map[string]any{"Name": "local", "Options": m.Options}
			}
			w["VolumeOptions"] = options
		default:
			return nil, &fault.Error{Kind: fault.Invalid, Op: "create container", Subject: s.Name,
				Why: "the mount at " + m.Target + " is neither bind nor volume"}
		}
		all = append(all, w)
	}
	return all, nil
}

// wholeSeconds rounds up, so that a short grace is not none.
func wholeSeconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }
