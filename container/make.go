package container

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"hako/container/disk"
	"hako/container/engine"
	"hako/container/guest"
	"hako/container/lang"
	"hako/container/seccomp"
	"hako/run/fault"
)

// Paths in a container.
const (
	Workspace = lang.Workspace
	Project   = lang.Project
	program   = "/.hako/" + guest.Name
	runDir    = "/run/hako"
)

// user returns the user ID of the commands. It differs from hako's own, which owns the guest's socket.
func user() int {
	if os.Getuid() == 1000 {
		return 1001
	}
	return 1000
}

// Labels of containers, volumes and images.
const (
	labelState = "hako.state" // ID of the state directory
	labelBox   = "hako.box"
	labelOwner = "hako.owner" // process that created it
	labelEnv   = "hako.environment"
)

// image returns an image of the engine.
func (d *Manager) image(ctx context.Context, environment, name string) (engine.Image, error) {
	img, err := d.Engine.Image(ctx, name)
	if fault.KindOf(err) == fault.NotFound {
		return img, &fault.Error{Kind: fault.NotFound, Op: "start " + environment + " environment",
			Why: "docker has no image " + name, Hint: obtainHint(environment, name)}
	}
	if err == nil && len(img.Volumes) > 0 {
		return img, &fault.Error{Kind: fault.Denied, Op: "start " + environment + " environment", Why: "the image " + name +
			" wants volumes, which would have no limit: " + oneLine(strings.Join(img.Volumes, ", ")),
			Hint: "use an image without VOLUME; everything in " + Workspace + " can be written"}
	}
	return img, err
}

// obtainHint returns how to get an image: those of known environments are built, others pulled.
func obtainHint(environment, image string) string {
	if _, ok := lang.Find(environment); ok {
		return "hako env build " + environment
	}
	return "docker pull " + image + ", or name an image that is there for " + environment +
		" in command_executor.environments"
}

// create creates a container and waits until its guest answers. The task's record names it before it exists, so that
// it can always be found.
func (d *Manager) create(ctx context.Context, l lang.Language, img engine.Image, t Task) (*box, error) {
	name := ""
	if t.ID != "" {
		name = Name(t.ID)
	}
	b, err := d.newBox(record{
		Info: Info{TaskUUID: t.ID, Environment: l.Name, Workspace: Project, Created: time.Now().UTC(), Status: Created,
			Name: name, Image: l.Image, Network: d.networkOf(t)},
		Fit: d.fingerprint(img.ID, d.networkOf(t)), ImageID: img.ID, Bare: d.bare, Limit: d.Resources,
	})
	if err != nil {
		return b, err
	}
	if b.Name == "" {
		b.Name = "coding-agent-pool-" + b.Box
	}
	if t.ID != "" {
		err = d.linkTask(b)
	}
	if err == nil {
		err = d.launch(ctx, b, l, img)
	}
	if err != nil {
		return b, err
	}
	b.Status = Initializing
	return b, b.save()
}

func (d *Manager) launch(ctx context.Context, b *box, l lang.Language, img engine.Image) error {
	spec, vol, err := d.spec(b, l, pathOf(img))
	if err != nil {
		return err
	}
	b.unmade = false
	if b.ContainerID, err = d.Engine.Create(ctx, spec); err != nil {
		b.unmade = fault.KindOf(err) == fault.Invalid || fault.KindOf(err) == fault.NotFound
	} else {
		err = d.startContainer(ctx, b, vol)
	}
	if vol == nil {
		return err
	}
	if err != nil {
		// The engine may still mount the device, which can belong to another container once it is closed here.
		b.unmade = d.removeEach(context.WithoutCancel(ctx), b) == nil
	}
	_ = vol.Close()
	return err
}

// startContainer starts a container that was created. Vol may be nil.
func (d *Manager) startContainer(ctx context.Context, b *box, vol *disk.Disk) error {
	if err := b.save(); err != nil {
		return err
	}
	if vol != nil {
		if err := vol.Ready(ctx); err != nil {
			return err
		}
	}
	if err := d.Engine.Start(ctx, b.ContainerID); err != nil {
		return err
	}
	if b.Bare {
		return d.awaitWorkspace(ctx, b)
	}
	_, err := d.awaitGuest(ctx, b)
	return err
}

// pathOf returns the PATH of an image; empty means that it has none.
func pathOf(img engine.Image) string {
	for _, pair := range img.Env {
		if value, ok := strings.CutPrefix(pair, "PATH="); ok {
			return value
		}
	}
	return ""
}

// spec describes the container of a box. If possible, its workspace is a file system of its own, which the caller
// closes once it is mounted.
func (d *Manager) spec(b *box, l lang.Language, path string) (engine.Spec, *disk.Disk, error) {
	s := engine.Spec{
		Name: b.Name, Image: l.Image, Hostname: "hako", Dir: Workspace, User: "0:0", ReadOnly: true,
		Labels: map[string]string{labelState: d.id, labelBox: b.Box, labelOwner: self().String(), labelEnv: l.Name},
		CapAdd: []string{"SETUID", "SETGID", "KILL"}, Seccomp: seccomp.Profile(),
		CPUs: d.Resources.CPUs, Memory: d.Resources.Memory, Pids: d.Resources.Pids, Shm: min(64<<20, d.Resources.Memory/8),
		Grace:   10 * time.Second,
		Tmpfs:   d.inMemory(),
		Ulimits: []engine.Ulimit{{Name: "core"}, {Name: "nofile", Soft: openFiles, Hard: openFiles}},
		Env: l.Environ(lang.ContainerSettings{Proxy: b.Network != None && !b.Bare, CA: d.CA != nil && !b.Bare,
			Path: path}),
	}
	if b.Bare {
		return d.bareSpec(s), nil, nil
	}
	if err := d.addGuest(b, l, &s); err != nil {
		return s, nil, err
	}
	work := engine.Mount{Kind: engine.Volume, Target: Workspace,
		Labels: map[string]string{labelState: d.id, labelBox: b.Box}}
	var vol *disk.Disk
	if disk.Possible() == nil {
		var err error
		if vol, err = disk.New(context.Background(), b.dir, d.Resources.Disk); err != nil {
			return s, nil, err
		}
		work.Options = vol.Options()
	}
	s.Mounts = append(s.Mounts, work)
	return s, vol, nil
}

// openFiles limits the open files of a process: 512 processes of a task together stay below the usual limit of the
// machine.
const openFiles = 4096

// plainRuntime unsets variables of the image for the guest, a Go program: an image must not change how process 1
// works.
var plainRuntime = []string{"GODEBUG=", "GOTRACEBACK=", "GOGC=", "GOMEMLIMIT="}

// inMemory returns the tmpfs mounts. Their files count as memory of the container, also after their writer was
// killed, so together they leave room for the guest.
func (d *Manager) inMemory() map[string]string {
	size := func(most, part int64) string {
		return "size=" + strconv.FormatInt(min(most, d.Resources.Memory/part), 10)
	}
	return map[string]string{
		"/tmp":     size(1<<30, 4) + ",mode=1777,exec,nosuid,nodev",
		"/var/tmp": size(256<<20, 16) + ",mode=1777,nosuid,nodev",
		"/run":     size(16<<20, 16) + ",mode=755,nosuid,nodev,noexec",
	}
}

// addGuest mounts and configures the guest.
func (d *Manager) addGuest(b *box, l lang.Language, s *engine.Spec) error {
	o := guest.Options{
		Socket: runDir + "/guest.sock", UID: user(), GID: user(), Dir: Project, Home: lang.Home, Spool: "/run", Within: Workspace,
		Owner: os.Getuid(), OwnerGroup: os.Getgid(), Make: []string{Project, lang.Temp, lang.Home}, Disk: d.Resources.Disk,
		Log: 8 << 20,
	}
	for _, folder := range l.Folders {
		o.Make = append(o.Make, Workspace+"/"+folder)
	}
	if b.Network != None {
		o.Bridge = lang.ProxyHost + ":" + lang.ProxyPort + "=" + runDir + "/egress.sock"
	}
	s.Entrypoint = append([]string{program}, o.Args()...)
	s.Env = append(s.Env, plainRuntime...)
	s.Mounts = append(s.Mounts,
		engine.Mount{Kind: engine.Bind, Source: d.binary, Target: program, ReadOnly: true},
		engine.Mount{Kind: engine.Bind, Source: filepath.Join(b.dir, "run"), Target: runDir})
	return d.mountCertificates(s)
}

// mountCertificates mounts the additional trusted certificates.
func (d *Manager) mountCertificates(s *engine.Spec) error {
	if d.CA == nil {
		return nil
	}
	pem, jks, err := lang.Bundle(d.CA, systemRoots())
	if err != nil {
		return err
	}
	sum := sha256.Sum256(pem)
	dir := filepath.Join(d.State, "ca", hex.EncodeToString(sum[:8]))
	for name, data := range map[string][]byte{"ca.pem": pem, "ca.jks": jks} {
		if err := keepFile(filepath.Join(dir, name), data); err != nil {
			return err
		}
	}
	s.Mounts = append(s.Mounts,
		engine.Mount{Kind: engine.Bind, Source: filepath.Join(dir, "ca.pem"), Target: lang.CABundle, ReadOnly: true},
		engine.Mount{Kind: engine.Bind, Source: filepath.Join(dir, "ca.pem"), Target: "/etc/ssl/certs/ca-certificates.crt",
			ReadOnly: true}, // for programs that read no variable
		engine.Mount{Kind: engine.Bind, Source: filepath.Join(dir, "ca.jks"), Target: lang.TrustStore, ReadOnly: true})
	return nil
}

// keepFile writes a world-readable file, unless it exists.
func keepFile(path string, data []byte) error {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "new-*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Chmod(0o644), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// systemRoots returns the certificates that this machine trusts, if they are in one file.
func systemRoots() []byte {
	for _, path := range []string{"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
		"/etc/ssl/cert.pem"} {
		if data, err := os.ReadFile(path); err == nil {
			return data
		}
	}
	return nil
}

// fingerprint identifies everything that a warm container depends on: it is used only for the same.
func (d *Manager) fingerprint(image string, n Network) string {
	info, _ := os.Stat(d.binary)
	made := ""
	if info != nil {
		made = info.ModTime().String() + strconv.FormatInt(info.Size(), 10)
	}
	data, _ := json.Marshal([]any{image, d.Resources, n, d.CA, d.binary, made})
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:12])
}

// awaitGuest connects to the guest of a container that was just started.
func (d *Manager) awaitGuest(ctx context.Context, b *box) (*guest.Client, error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	pause := time.Millisecond
	for tries := 1; ; tries++ {
		c, err := d.dial(ctx, b)
		if err == nil {
			return c, nil
		}
		if tries%20 == 0 || ctx.Err() != nil {
			if dead := d.explainExit(ctx, b); dead != nil {
				return nil, dead
			}
		}
		select {
		case <-ctx.Done():
			return nil, &fault.Error{Kind: fault.Timeout, Op: "start " + b.Environment + " environment",
				Why: "its guest does not answer", Err: err, Hint: "docker logs " + b.ContainerID}
		case <-time.After(pause):
			pause = min(2*pause, 20*time.Millisecond)
		}
	}
}

// explainExit returns why a container has ended; nil means that it runs.
func (d *Manager) explainExit(ctx context.Context, b *box) error {
	c, err := d.Engine.Inspect(context.WithoutCancel(ctx), b.ContainerID)
	if err != nil {
		return err
	}
	if c.State == "running" || c.State == "created" {
		return nil
	}
	said, _ := d.Engine.Logs(context.WithoutCancel(ctx), b.ContainerID, 20)
	return &fault.Error{Kind: fault.Unavailable, Op: "start " + b.Environment + " environment",
		Why:  "its container ended with status " + strconv.Itoa(c.ExitCode) + ": " + oneLine(said),
		Hint: "rebuild the image: hako env build " + b.Environment}
}
