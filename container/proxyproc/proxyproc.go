// Package proxyproc runs the egress proxy of one container in a process of its own, which lives exactly as long as
// the container.
//
// The command that makes a container ends long before the container does. Start runs this program again as the proxy
// process, and Serve is what that one does. Its settings, including git credentials, go through a pipe: never through
// arguments, the environment or a file.
//
// The rule to keep: when the guest is gone, the proxy process ends.
package proxyproc

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"hako/container/egress"
	"hako/container/guest"
	"hako/run/fault"
)

// Settings configure a proxy process.
type Settings struct {
	Task    string          `json:"task"`
	Guest   string          `json:"guest"` // the socket of the guest
	Open    bool            `json:"open"`
	Allow   []string        `json:"allow"`
	Private []string        `json:"private"`
	Audit   string          `json:"audit"` // the record
	CA      string          `json:"ca"`    // a file of certificates that git servers may be vouched for by, besides the usual; empty means none
	Lent    []GitCredential `json:"lent"`
	Hidden  []string        `json:"hidden"` // values that are never to be shown or written down

	push    *egress.Permission // of Lent; nil means that pushes are not possible
	decoder *json.Decoder      // delivers the permission to push
}

// A GitCredential is a credential that the proxy adds for git.
type GitCredential struct {
	Host        string   `json:"host"`
	Repository  string   `json:"repository"`
	Services    []string `json:"services"`
	Name        string   `json:"name"` // of the header
	Value       string   `json:"value"`
	InsecureTLS bool     `json:"insecure_tls"`
	PlainHTTP   bool     `json:"plain_http"`
	Push        bool     `json:"push"` // it may be used for pushes, once the permission comes
}

// A pushPermit permits pushes. Without it nobody pushes, whatever happens to the process that should send it.
type pushPermit struct {
	Push bool `json:"push"`
}

// Lend adds credentials to the settings.
func (s *Settings) Lend(list []egress.Credential) error {
	for _, c := range list {
		name, value, err := c.Header()
		if err != nil {
			return err
		}
		s.Lent = append(s.Lent, GitCredential{c.Host, c.Repository, c.Services, name, value, c.InsecureTLS, c.PlainHTTP,
			c.Push != nil})
		if c.Push != nil {
			s.push = c.Push
		}
	}
	return nil
}

func (s *Settings) credentials() (list []egress.Credential) {
	roots := s.roots()
	for _, l := range s.Lent {
		var push *egress.Permission
		if l.Push {
			push = s.push
		}
		list = append(list, egress.Credential{
			Push: push,
			Host: l.Host, Repository: l.Repository, Services: l.Services, Roots: roots, InsecureTLS: l.InsecureTLS,
			PlainHTTP: l.PlainHTTP,
			Header:    func() (string, string, error) { return l.Name, l.Value, nil },
		})
	}
	return list
}

func (s *Settings) roots() *x509.CertPool {
	pem, err := os.ReadFile(s.CA)
	if s.CA == "" || err != nil {
		return nil
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	pool.AppendCertsFromPEM(pem)
	return pool
}

// Proxy returns the proxy that the settings describe. Log records each connection.
func (s *Settings) Proxy(log func(egress.Event) error) *egress.Proxy {
	return &egress.Proxy{Open: s.Open, Allow: s.Allow, Private: s.Private, Credentials: s.credentials(), Log: log}
}

// Check reports invalid settings.
func (s *Settings) Check() error {
	return s.Proxy(func(egress.Event) error { return nil }).Check()
}

// Additional file descriptors of a proxy process.
const (
	listenerFD = 3
	settingsFD = 4
)

// Read returns the settings of this process, and the socket to serve.
func Read() (s Settings, l net.Listener, err error) {
	in := os.NewFile(settingsFD, "settings")
	if in == nil {
		return s, nil, errNotStarted
	}
	s.decoder = json.NewDecoder(io.LimitReader(in, 8<<20))
	if err := s.decoder.Decode(&s); err != nil {
		in.Close()
		return s, nil, errNotStarted
	}
	s.push = new(egress.Permission)
	socket := os.NewFile(listenerFD, "egress")
	defer socket.Close()
	l, err = net.FileListener(socket)
	return s, l, err
}

var errNotStarted = &fault.Error{Kind: fault.Invalid, Op: "serve egress proxy", Why: "the settings are missing",
	Hint: "hako starts this by itself; use hako env up"}

// Serve serves the proxy until the container has ended.
func Serve(ctx context.Context, s Settings, l net.Listener, log func(egress.Event) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c, err := guest.Dial(ctx, s.Guest)
	if err != nil {
		return err
	}
	defer c.Close()
	go func() {
		<-c.Gone()
		cancel()
	}()
	go s.awaitPush()
	err = s.Proxy(log).Serve(ctx, l)
	if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// awaitPush waits for the permission to push. The end of the pipe is a no.
func (s *Settings) awaitPush() {
	var p pushPermit
	if s.decoder != nil && s.decoder.Decode(&p) == nil && p.Push {
		_ = s.push.Give() // there are no listeners here
	}
}

// sendSettings sends the settings to the proxy process. The pipe stays open if pushes may be permitted later.
func sendSettings(w *os.File, s Settings) error {
	_ = w.SetWriteDeadline(time.Now().Add(5 * time.Second))
	if err := json.NewEncoder(w).Encode(s); err != nil || s.push == nil {
		return errors.Join(err, w.Close())
	}
	s.push.Notify(func() error {
		_ = w.SetWriteDeadline(time.Now().Add(5 * time.Second))
		return errors.Join(json.NewEncoder(w).Encode(pushPermit{true}), w.Close())
	})
	return nil
}

// environ returns the inherited variables: none that may contain a secret.
func environ(all []string) (kept []string) {
	for _, pair := range all {
		name, _, _ := strings.Cut(pair, "=")
		switch name {
		case "PATH", "HOME", "LANG", "TZ", "SSL_CERT_FILE", "SSL_CERT_DIR", "XDG_STATE_HOME", "GOCOVERDIR":
			kept = append(kept, pair)
		}
	}
	return kept
}
