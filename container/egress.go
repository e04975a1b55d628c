package container

import (
	"context"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"hako/container/clone"
	"hako/container/egress"
	"hako/container/guest"
	"hako/run/fault"
)

// An Egress describes the egress proxy of one container, which runs in a process of its own.
type Egress struct {
	Task        string
	Guest       string // socket of the guest: when it is gone, so is the container
	Listener    *os.File
	Credentials []egress.Credential
	Hidden      []string // values that must never be shown or recorded
	Open        bool     // every public host; false means those on the list
}

// openEgress opens the proxy's socket and starts the proxy. Connections wait in the queue of the socket until it
// serves.
func (d *Manager) openEgress(ctx context.Context, b *box, t Task) error {
	if b.Network == None || d.ServeEgress == nil || b.Bare {
		return nil
	}
	path := filepath.Join(b.dir, "run", "egress.sock")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return err
	}
	l.SetUnlinkOnClose(false)
	defer l.Close()
	f, err := l.File()
	if err != nil {
		return err
	}
	defer f.Close()
	w := Egress{Task: b.TaskUUID, Guest: b.socket(), Listener: f, Open: b.Network == Open}
	if t.Repository != "" && d.Clones != nil {
		if w.Credentials, err = d.Clones.Lend(ctx, t.Repository); err != nil {
			return err
		}
		w.Hidden = d.Clones.Keys.Secrets()
	}
	if d.Push {
		if err := d.pushLater(b, w.Credentials); err != nil {
			return err
		}
	}
	if len(w.Credentials) > 0 {
		b.Env = gitEnviron(t.Repository)
	}
	return d.ServeEgress(ctx, w)
}

// pushLater makes credentials usable for pushes once [Manager.permitPush] is called: code that runs while
// dependencies are installed must not push.
func (d *Manager) pushLater(b *box, list []egress.Credential) error {
	if len(list) == 0 {
		return &fault.Error{Kind: fault.Invalid, Op: "permit pushes of task", Subject: b.TaskUUID,
			Why:      "there is no token for its repository",
			Hint:     "set GITHUB_PERSONAL_ACCESS_TOKEN or GITLAB_PERSONAL_ACCESS_TOKEN",
			FlagHint: "set GITHUB_PERSONAL_ACCESS_TOKEN or GITLAB_PERSONAL_ACCESS_TOKEN, or leave out --push"}
	}
	b.push = new(egress.Permission)
	for i := range list {
		list[i].Push = b.push
	}
	return nil
}

// permitPush lets git in a container push, if that was requested. It first ends what the installation of dependencies
// left running, which could be waiting for this moment.
func (d *Manager) permitPush(ctx context.Context, b *box) error {
	if b.push == nil {
		return nil
	}
	h, err := d.executor(ctx, b)
	if err != nil {
		return err
	}
	// The kernel kills all processes of the user at once, except the one that sends the signal.
	if _, err := h.Exec(ctx, guest.Command{Script: "kill -KILL -1; exit 0", Dir: Workspace,
		Timeout: 10 * time.Second}); err != nil {
		return err
	}
	if err := b.push.Give(); err != nil {
		return err
	}
	b.Push = true
	return nil
}

// gitEnviron points git in the container to the proxy, which has the credential, for one repository.
func gitEnviron(repository string) []string {
	u, err := url.Parse(repository)
	if err != nil {
		return nil
	}
	name, value := clone.InsteadOf(u)
	return []string{"GIT_CONFIG_COUNT=2", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*",
		"GIT_CONFIG_KEY_1=" + name, "GIT_CONFIG_VALUE_1=" + value}
}
