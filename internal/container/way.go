package container

import (
	"context"
	"net"
	"net/url"
	"os"
	"path/filepath"

	"hako/internal/container/clone"
	"hako/internal/container/egress"
)

// A Way is the way out of one container, to be served by a process of its own.
type Way struct {
	Task        string
	Guest       string // the socket of the guest: when that is gone, so is the container
	Listener    *os.File
	Credentials []egress.Credential
	Hidden      []string // values that are never to be shown or written down
	Open        bool     // every public host; false means those on the list
}

// openWay makes the socket that leads out of a container and has it served. It
// listens before the one who serves it is there: nobody has to wait.
func (d *Dock) openWay(ctx context.Context, b *box, t Task) error {
	if d.Network == None || d.Keep == nil || b.Bare {
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
	w := Way{Task: b.TaskUUID, Guest: b.socket(), Listener: f, Open: d.Network == Open}
	if t.Repository != "" && d.Clones != nil {
		if w.Credentials, err = d.Clones.Lend(ctx, t.Repository); err != nil {
			return err
		}
		for i := range w.Credentials {
			if d.FetchOnly {
				w.Credentials[i].Services = []string{egress.UploadPack}
			}
		}
		w.Hidden = d.Clones.Keys.Secrets()
	}
	if len(w.Credentials) > 0 {
		b.Env = gitEnviron(t.Repository)
	}
	return d.Keep(ctx, w)
}

// gitEnviron tells git inside to ask the proxy for one repository: the proxy has
// the credential.
func gitEnviron(repository string) []string {
	u, err := url.Parse(repository)
	if err != nil {
		return nil
	}
	name, value := clone.Rewrite(u)
	return []string{"GIT_CONFIG_COUNT=2", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*", "GIT_CONFIG_KEY_1=" + name, "GIT_CONFIG_VALUE_1=" + value}
}
