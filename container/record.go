package container

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hako/container/clone"
	"hako/container/egress"
	"hako/internal/ownerfile"
	"hako/run/fault"
)

// A State is the state of a task's container.
type State string

// The states, in order.
const (
	Created      State = "created"
	Initializing State = "initializing"
	Ready        State = "ready"
	Running      State = "running" // a command is running in it
	Stopped      State = "stopped"
	Deleted      State = "deleted"
)

// Info describes the container of a task.
type Info struct {
	ContainerID string    `json:"container_id"`
	TaskUUID    string    `json:"task_uuid"`
	Environment string    `json:"environment_name"`
	Workspace   string    `json:"workspace_path"`
	Created     time.Time `json:"created_at"`
	Status      State     `json:"status"`
	Name        string    `json:"container_name"`
	Image       string    `json:"image"`
	Network     Network   `json:"network"`
	Repository  string    `json:"repository,omitempty"`
	Branch      string    `json:"branch,omitempty"`
	Commit      string    `json:"commit,omitempty"`
	Push        bool      `json:"push,omitempty"` // git in it may push to Repository
	Warnings    []string  `json:"warnings,omitempty"`
}

// A record is the stored state of a box: a container with its folder.
type record struct {
	Info
	Box     string    `json:"box"`
	ImageID string    `json:"image_id"`
	Owner   owner     `json:"owner"`
	Settled bool      `json:"settled,omitempty"` // it has no owner and stays until it is taken down
	Fit     string    `json:"fit"`               // see Manager.fingerprint
	Env     []string  `json:"env,omitempty"`     // for commands, besides what the container has
	Bare    bool      `json:"bare,omitempty"`    // there is no guest in it; commands run by the engine
	Limit   Resources `json:"limit,omitzero"`    // zero means not known: it was made by an older hako
	Doomed  bool      `json:"doomed,omitempty"`  // somebody began to remove it; the next who sweeps goes on

	Source clone.Source `json:"source,omitzero"` // what was cloned into it; zero means nothing
	Key    string       `json:"key,omitempty"`   // of the commit that was cloned, if Save made it
}

type box struct {
	record
	dir    string
	push   *egress.Permission // for pushes, once everything is prepared; nil means never
	unmade bool               // there is no container, and no request for one is pending
}

const (
	recordName = "box.json"
	poolMark   = "warm" // renamed by the process that takes the box out of the pool
)

func (b *box) socket() string { return filepath.Join(b.dir, "run", "guest.sock") }

func (b *box) save() error {
	data, err := json.Marshal(b.record)
	if err != nil {
		return err
	}
	return ownerfile.Replace(filepath.Join(b.dir, recordName), data)
}

// newBox makes a folder that we own. The sweeper takes the same lock, so that a folder without a record is certainly
// abandoned.
func (d *Manager) newBox(r record) (*box, error) {
	var id [6]byte
	rand.Read(id[:])
	r.Box = hex.EncodeToString(id[:])
	b := &box{record: r, dir: filepath.Join(d.State, "boxes", r.Box), unmade: true}
	if len(b.socket()) > 100 {
		return nil, &fault.Error{Kind: fault.Invalid, Op: "make box", Subject: d.State,
			Why: "its name is too long for the sockets in it", Hint: "set XDG_STATE_HOME to a shorter one"}
	}
	making, err := os.OpenFile(d.makingLock(), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	defer making.Close()
	if err := ownerfile.Lock(making); err != nil {
		return nil, err
	}
	for _, dir := range []string{b.dir, filepath.Join(b.dir, "run")} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return nil, err
		}
	}
	return b, d.takeOwnership(b)
}

func (d *Manager) makingLock() string { return filepath.Join(d.State, "making") }

func (d *Manager) takeOwnership(b *box) error {
	f, err := b.lock()
	if err != nil {
		return err
	}
	return d.recordOwner(b, f)
}

// recordOwner records that this process holds a lock of a box.
func (d *Manager) recordOwner(b *box, f *os.File) error {
	d.hold(b.Box, f)
	b.Owner, b.Settled = self(), false
	return b.save()
}

const lockPrefix = "lock."

// maxProbe is how long a process that checks a new lock may hold it.
const maxProbe = 5 * time.Second

// lock takes a lock of a box, which the system releases when this process ends. Several processes can each hold one.
func (b *box) lock() (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(b.dir, lockPrefix+strings.ToLower(rand.Text())), os.O_CREATE|os.O_EXCL|os.O_RDWR,
		0o600)
	if err != nil {
		return nil, err
	}
	for end := time.Now().Add(maxProbe); !ownerfile.TryLock(f); time.Sleep(time.Millisecond) {
		if time.Now().Before(end) {
			continue // another process is checking it, see taken
		}
		f.Close()
		return nil, &fault.Error{Kind: fault.Unavailable, Op: "lock", Subject: f.Name(), Why: "the file system has no locks",
			Hint: "set XDG_STATE_HOME to a directory on a local disk"}
	}
	return f, nil
}

func (d *Manager) hold(id string, f *os.File) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if old := d.held[id]; old != nil {
		old.Close()
	}
	d.held[id] = f
}

// markReady completes a box. A detached box has no owner then.
func (d *Manager) markReady(b *box) error {
	b.Status, b.Settled = Ready, d.Detached
	b.touch()
	if err := b.save(); err != nil || !d.Detached {
		return err
	}
	d.release(b.Box)
	return nil
}

func (d *Manager) release(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if f := d.held[id]; f != nil {
		f.Close()
		delete(d.held, id)
	}
}

// abandoned reports whether a box certainly has no owner. Only the machine that took the locks can determine that.
func (b *box) abandoned() bool {
	switch {
	case b.Settled:
		return false
	case b.Owner.Host != self().Host:
		return b.Owner.before(self())
	}
	return free(b.dir)
}

// free reports whether nobody holds a lock in the folder of a box.
func free(dir string) bool {
	entries, err := os.ReadDir(dir)
	return err == nil && !slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		return strings.HasPrefix(e.Name(), lockPrefix) && taken(filepath.Join(dir, e.Name()))
	})
}

// taken reports whether somebody holds a lock, or may hold it.
func taken(lock string) bool {
	f, err := os.OpenFile(lock, os.O_RDWR, 0)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	defer f.Close()
	return !ownerfile.TryLock(f)
}

func load(dir string) (*box, error) {
	data, err := os.ReadFile(filepath.Join(dir, recordName))
	if err != nil {
		return nil, err
	}
	b := &box{dir: dir}
	return b, json.Unmarshal(data, &b.record)
}

// boxes returns all boxes that have a record.
func (d *Manager) boxes() ([]*box, error) {
	entries, err := os.ReadDir(filepath.Join(d.State, "boxes"))
	if err != nil {
		return nil, err
	}
	var all []*box
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), removedSuffix) {
			continue
		}
		if b, err := load(filepath.Join(d.State, "boxes", e.Name())); err == nil {
			all = append(all, b)
		}
	}
	return all, nil
}

func (d *Manager) find(task string) (*box, error) {
	if err := CheckTask(task); err != nil {
		return nil, err
	}
	link := filepath.Join(d.State, "tasks", task)
	target, err := os.Readlink(link)
	if err == nil {
		var b *box
		if b, err = load(filepath.Join(d.State, "boxes", filepath.Base(target))); err == nil {
			return b, nil
		}
	}
	return nil, &fault.Error{Kind: fault.NotFound, Op: "find environment of task", Subject: task, Why: "there is none",
		Hint: "make one first", FlagHint: "hako env up --task " + task}
}

// linkTask points a task to its box.
func (d *Manager) linkTask(b *box) error {
	link := filepath.Join(d.State, "tasks", b.TaskUUID)
	fresh := link + "." + b.Box + "~"
	_ = os.Remove(fresh)
	if err := os.Symlink(filepath.Join("..", "boxes", b.Box), fresh); err != nil {
		return err
	}
	return os.Rename(fresh, link)
}

// removedSuffix marks folders that are being removed: nobody else writes to them any more.
const removedSuffix = "~"

// removeFolder removes the files of a box.
func (d *Manager) removeFolder(b *box) error {
	link := filepath.Join(d.State, "tasks", b.TaskUUID)
	if target, err := os.Readlink(link); b.TaskUUID != "" && err == nil && filepath.Base(target) == b.Box {
		_ = os.Remove(link)
	}
	err := os.Rename(b.dir, b.dir+removedSuffix)
	switch {
	case err == nil:
		err = os.RemoveAll(b.dir + removedSuffix)
		for try := 0; err != nil && try < 10; try++ { // files may have been added just before the rename
			err = os.RemoveAll(b.dir + removedSuffix)
		}
	case errors.Is(err, fs.ErrNotExist): // another process removed it
		err = nil
	}
	d.release(b.Box)
	if b.TaskUUID != "" {
		removeTaskLock(filepath.Join(d.State, "turns", b.TaskUUID))
	}
	return err
}

// stateID returns the ID of a state directory, which distinguishes it from others on the same engine.
func stateID(dir string) (string, error) {
	path := filepath.Join(dir, "id")
	data, err := os.ReadFile(path)
	if err == nil && len(data) > 0 {
		return strings.TrimSpace(string(data)), nil
	}
	fresh := path + "." + strings.ToLower(rand.Text())
	if err := os.WriteFile(fresh, []byte(strings.ToLower(rand.Text())+"\n"), 0o600); err != nil {
		return "", err
	}
	_ = os.Link(fresh, path) // another process may have been first
	_ = os.Remove(fresh)
	data, err = os.ReadFile(path)
	return strings.TrimSpace(string(data)), err
}
