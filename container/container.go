// Package container gives each task a container of its own: in the right language environment, with its repository
// and dependencies, and with nothing of this machine, of other tasks or of any secret inside.
//
// [New] returns a [Manager]. [Manager.Prepare] starts the container of a [Task], or takes a warm one from the pool;
// [Manager.Runner] returns a run.Runner for it, behind the gate that [Options].Gate puts before it; [Manager.Save]
// takes its commits out; [Manager.Cleanup] removes it. Without Gate and Record a Manager runs and changes nothing.
//
// The parts are packages of their own: engine talks to Docker, guest runs commands inside, egress is the proxy that is
// the only way out, clone brings repositories in and commits out, deps installs dependencies, lang knows the languages.
//
// A container is on record before it exists, and its record names its owner: what nobody owns any more is removed by
// the next Manager that starts.
package container

import (
	"cmp"
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"hako/container/clone"
	"hako/container/deps"
	"hako/container/engine"
	"hako/container/lang"
	"hako/run"
	"hako/run/fault"
)

// Options configure a Manager.
type Options struct {
	Enabled bool   // models are offered the tools
	State   string // directory for records and sockets; required, absolute
	Engine  *engine.Engine
	Binary  string // the program that serves as guest; empty means this one

	Languages []lang.Language   // the known environments; nil means all
	Images    map[string]string // environment → image; nil means those of Languages
	Default   string            // environment for requests that name none, or an unknown one; empty means python

	Resources     Resources
	Network       Network // zero means None
	CA            []byte  // additional trusted certificates, PEM; nil means none
	Clones        *clone.Store
	Depth         int  // of clones; zero means 1
	Full          bool // clones have their whole history
	Push          bool // git in containers may push to the repository of the task once it is prepared; false means fetch only
	Packages      *deps.Store
	Install       bool // dependencies are installed
	ProjectImages bool // a repository may have its own image, .hako/Dockerfile

	Timeout  time.Duration // of a command; zero means 30 min
	Output   int           // bytes of stdout, and of stderr, that a result holds; zero means 1 MB
	Stale    time.Duration // how long a container without owner may be unused; zero means 24 h
	Detached bool          // containers outlive this process
	Warm     map[string]int

	// Gate puts the gate before a runner of a task. Nil runs nothing.
	Gate func(task string, r run.Runner) run.Runner
	// Record records an action for a task other than running a script, and returns a function that records how it
	// ended. If it returns an error, the action does not happen; nil refuses everything.
	Record func(task, what string) (done func(error), err error)
	// Allowed lists the commands that the policy allows, for prompts. Nil means none.
	Allowed func() Allowed
	// ServeEgress starts a process that serves the egress proxy of a container. Nil means that no container has a
	// network.
	ServeEgress func(context.Context, Egress) error
	// Progress receives one line for each step. Nil means none.
	Progress func(string)
}

// Resources limit one container. Zero values mean those in the comments.
type Resources struct {
	CPUs   float64 // 2
	Memory int64   // 4 GB
	Disk   int64   // 10 GB
	Pids   int64   // 512
}

func (r Resources) withDefaults() Resources {
	return Resources{cmp.Or(r.CPUs, 2), cmp.Or(r.Memory, 4<<30), cmp.Or(r.Disk, 10<<30), cmp.Or(r.Pids, 512)}
}

// A Network is how far a container reaches.
type Network string

// The networks.
const (
	None      Network = "none"
	Open      Network = "open"       // every public host, by HTTP and HTTPS
	AllowList Network = "allow-list" // those that are listed
)

// Covers reports whether a network reaches everything that another one does.
func (n Network) Covers(less Network) bool {
	reach := map[Network]int{None: 1, AllowList: 2, Open: 3}
	return reach[less] > 0 && reach[less] <= reach[n]
}

func (d *Manager) networkOf(t Task) Network { return cmp.Or(t.Network, d.Network) }

// A Manager manages the containers of tasks. It is safe for concurrent use.
type Manager struct {
	Options
	binary string
	id     string // of the state directory: other state directories may use the same engine
	bare   bool   // containers have no guest, because the engine is on another machine

	mu      sync.Mutex // guards what follows
	conns   map[string]*guestConn
	held    map[string]*os.File // locks of our boxes
	current string
	kept    map[string]map[string]clone.Kept // by box and reference

	pool pool
}

// New returns a Manager. It starts nothing and contacts nobody.
func New(o Options) (*Manager, error) {
	d := &Manager{Options: o, conns: make(map[string]*guestConn), held: make(map[string]*os.File),
		kept: make(map[string]map[string]clone.Kept)}
	d.bare = o.Engine != nil && !o.Engine.Local()
	if d.Gate == nil || d.State == "" {
		return nil, &fault.Error{Kind: fault.Invalid, Op: "open containers", Why: "a gate and a state directory are required"}
	}
	if err := d.applyDefaults(); err != nil {
		return nil, err
	}
	for _, dir := range []string{"boxes", "tasks"} {
		if err := os.MkdirAll(filepath.Join(d.State, dir), 0o700); err != nil {
			return nil, err
		}
	}
	var err error
	d.id, err = stateID(d.State)
	return d, err
}

func (d *Manager) applyDefaults() (err error) {
	if d.Languages == nil {
		if d.Languages, err = lang.All(); err != nil {
			return err
		}
	}
	if d.Images == nil {
		d.Images = make(map[string]string)
		for _, l := range d.Languages {
			d.Images[l.Name] = l.Image
		}
	}
	if d.binary = d.Binary; d.binary == "" {
		d.binary, err = os.Executable()
	}
	d.Default = cmp.Or(d.Default, "python")
	d.Network = cmp.Or(d.Network, None)
	d.Resources = d.Resources.withDefaults()
	d.Timeout = cmp.Or(d.Timeout, 30*time.Minute)
	d.Output = cmp.Or(d.Output, 1<<20)
	d.Stale = cmp.Or(d.Stale, 24*time.Hour)
	return err
}

// Close closes connections and releases the locks of containers. Unless the Manager is Detached, its containers have
// no owner then; see [Manager.CleanupAll].
func (d *Manager) Close() {
	d.pool.stop()
	d.mu.Lock()
	lines := maps.Clone(d.conns)
	clear(d.conns)
	for _, f := range d.held {
		_ = f.Close()
	}
	clear(d.held)
	d.mu.Unlock()
	for _, l := range lines {
		l.close()
	}
}

// IsEnabled reports whether models are offered containers.
func (d *Manager) IsEnabled() bool { return d.Enabled }

// AvailableEnvironments returns the image of each environment.
func (d *Manager) AvailableEnvironments() map[string]string { return maps.Clone(d.Images) }

// DefaultEnvironment returns the name of the environment for requests that name none, or an unknown one.
func (d *Manager) DefaultEnvironment() string { return d.Default }

// language describes an environment. One that only the settings name has the install steps of all languages.
func (d *Manager) language(name string) lang.Language {
	i := slices.IndexFunc(d.Languages, func(l lang.Language) bool { return l.Name == name })
	if i >= 0 {
		l := d.Languages[i]
		l.Image = d.Images[name]
		return l
	}
	l, err := lang.Unlisted(name, d.Images[name])
	if err != nil {
		return lang.Language{Name: name, Image: d.Images[name]}
	}
	return l
}

func (d *Manager) report(text string) {
	if d.Progress != nil {
		d.Progress(text)
	}
}

// reportQuoted reports text that may come from inside a container, or from a server.
func (d *Manager) reportQuoted(text string) { d.report(quoted(text)) }

// quote precedes every line that others may have written: without it one could pass for ours.
const quote = "| "

func quoted(text string) string { return quote + below(text) }

// below quotes every line of a text but the first, which is ours.
func below(text string) string { return strings.ReplaceAll(text, "\n", "\n"+quote) }
