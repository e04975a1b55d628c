package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"

	"hako/internal/app/coder/queue"
)

// example returns the file of this name that docs/scale.md shows.
func example(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "scale.md"))
	must(t, err)
	_, rest, ok := strings.Cut(string(text), "\n# "+name)
	if !ok {
		t.Fatalf("docs/scale.md shows no %s", name)
	}
	_, rest, _ = strings.Cut(rest, "\n")
	file, _, _ := strings.Cut(rest, "\n```")
	return file
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A site is what docs/scale.md describes, on this machine: its files with other
// names of hosts, ports and directories.
type site struct {
	*testing.T
	dir     string
	program string // hako, built for the test
	clients [3]int
	routes  [3]int
}

func newSite(t *testing.T) *site {
	s := &site{T: t, dir: t.TempDir()}
	ports, err := freePorts(6)
	must(t, err)
	copy(s.clients[:], ports)
	copy(s.routes[:], ports[3:])
	s.certificates()
	s.program = filepath.Join(t.TempDir(), "hako")
	build := exec.Command("go", "build", "-o", s.program, "./cmd/hako")
	build.Dir = filepath.Join("..", "..") // another module
	out, err := build.CombinedOutput()
	if err != nil {
		t.Fatalf("go build: %v: %s", err, out)
	}
	return s
}

// place puts what is true here into a file of the example.
func (s *site) place(text string, node int) string {
	pairs := []string{"/etc/nats/", s.dir + "/", "/etc/hako/", s.dir + "/", "/var/lib/nats",
		fmt.Sprintf("%s/store-%d", s.dir, node),
		"server_name: nats-1", fmt.Sprint("server_name: nats-", node+1),
		"0.0.0.0:4222", fmt.Sprint("127.0.0.1:", s.clients[node]), "0.0.0.0:6222", fmt.Sprint("127.0.0.1:", s.routes[node])}
	for i := range 3 {
		pairs = append(pairs, fmt.Sprintf("nats-%d:4222", i+1), fmt.Sprint("127.0.0.1:", s.clients[i]),
			fmt.Sprintf("nats-%d:6222", i+1), fmt.Sprint("127.0.0.1:", s.routes[i]))
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

func (s *site) write(name, text string) string {
	path := filepath.Join(s.dir, name)
	must(s.T, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// up starts the three servers.
func (s *site) up(config string) {
	for i := range 3 {
		o, err := server.ProcessConfigFile(s.write(fmt.Sprintf("nats-%d.conf", i+1), s.place(config, i)))
		must(s.T, err)
		o.NoLog, o.NoSigs = true, true
		srv, err := server.NewServer(o)
		must(s.T, err)
		srv.Start()
		s.Cleanup(func() { srv.Shutdown(); srv.WaitForShutdown() })
	}
}

// certificates makes an authority and one certificate for all servers.
func (s *site) certificates() {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(s.T, err)
	own := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "nats"},
		NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, own, own, &key.PublicKey, key)
	must(s.T, err)
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	must(s.T, err)
	public := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	s.write("server.pem", public)
	s.write("ca.pem", public)
	s.write("nats-ca.pem", public)
	s.write("server-key.pem", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})))
}

// hako runs a command with the configuration of the example.
func (s *site) hako(config string, words ...string) string {
	s.Setenv("HOME", s.dir)
	for _, name := range []string{"XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"} {
		s.Setenv(name, s.dir)
	}
	out, err := exec.Command(s.program, append([]string{"agent", "--config", config}, words...)...).CombinedOutput()
	if err != nil {
		s.Fatalf("hako agent %q: %v: %s", words, err, out)
	}
	return string(out)
}

// works has a task go through the queue, with all that the workers do with one,
// and hako see it.
func (s *site) works(config string, o queue.Options) {
	o.RootCA, o.Replicas, o.RetryFor = filepath.Join(s.dir, "nats-ca.pem"), 3, 40*time.Second
	q, err := queue.Open(s.Context(), o)
	must(s.T, err)
	defer q.Close()
	_, err = q.Put(s.Context(), queue.Item{ID: "github/owner/project/issue/12",
		Payload: []byte(`{"id":"issue-12-abc","repo":"owner/project","number":12}`)})
	must(s.T, err)
	l, err := q.Take(s.Context())
	must(s.T, err)
	_, err = l.Orders(s.Context())
	must(s.T, err)
	_, err = q.Watch(s.Context(), l.Item.ID)
	must(s.T, err)
	must(s.T, q.Publish(s.Context(), l.Item.ID, queue.Event{What: "taken"}))
	must(s.T, l.Save(s.Context(), []byte(`"`+strings.Repeat("x", 40<<10)+`"`)))
	must(s.T, q.KeyValue("store").Change(s.Context(), "a", func([]byte) ([]byte, error) { return []byte("b"), nil }))
	must(s.T, l.Renew(s.Context()))
	if seen := s.hako(config, "status", "--json"); !strings.Contains(seen, "issue-12-abc") ||
		!strings.Contains(seen, "processing") {
		s.Error(seen)
	}
	must(s.T, l.Done(s.Context(), nil))
}

// refused is what the servers do not let anybody do.
func (s *site) refused(o queue.Options) {
	s.Helper()
	o.RootCA, o.RetryFor = filepath.Join(s.dir, "nats-ca.pem"), time.Second
	q, err := queue.Open(s.Context(), o)
	if err != nil {
		return
	}
	defer q.Close()
	ctx, stop := context.WithTimeout(s.Context(), 3*time.Second)
	defer stop()
	if _, err := q.Put(ctx, queue.Item{ID: "github/owner/project/issue/13"}); err == nil {
		s.Errorf("a queue named %q could be used", o.Name)
	}
}

// The example of docs/scale.md works as it stands there: with a password, and
// with a file of credentials.
func TestExampleOfTheDocuments(t *testing.T) {
	t.Run("password", func(t *testing.T) {
		t.Setenv("HAKO_NATS_PASSWORD", "correct-horse")
		s := newSite(t)
		s.up(example(t, "nats-1.conf"))
		url := s.place(strings.ReplaceAll(example(t, "hako.env"), "PASSWORD@", "correct-horse@"), 0)
		_, url, _ = strings.Cut(url, "HAKO_QUEUE_URL=")
		url, _, _ = strings.Cut(url, "\n")
		t.Setenv("HAKO_QUEUE_URL", url)
		config := s.write("hako.yaml", without(s.place(example(t, "hako.yaml"), 0), "url:", "credentials:"))
		s.works(config, queue.Options{URL: url})
		s.refused(queue.Options{URL: url, Name: "other"})
		s.refused(queue.Options{URL: strings.ReplaceAll(url, "correct-horse", "wrong")})
	})
	t.Run("credentials", func(t *testing.T) {
		t.Setenv("HAKO_NATS_PASSWORD", "nobody-needs-it")
		s := newSite(t)
		before, _, _ := strings.Cut(example(t, "nats-1.conf"), "authorization {")
		s.up(before + s.accounts())
		config := s.place(example(t, "hako.yaml"), 0)
		_, url, _ := strings.Cut(config, "url: ")
		url, _, _ = strings.Cut(url, "\n")
		s.works(s.write("hako.yaml", config),
			queue.Options{URL: strings.TrimSpace(url), Credentials: filepath.Join(s.dir, "hako.creds")})
	})
}

// without drops the lines with these words.
func without(text string, words ...string) string {
	var kept []string
lines:
	for line := range strings.Lines(text) {
		for _, w := range words {
			if strings.Contains(line, w) {
				continue lines
			}
		}
		kept = append(kept, line)
	}
	return strings.Join(kept, "")
}

// accounts makes what nsc would: an operator, an account of the system, one for
// hako with a user, whose credentials are written beside.
func (s *site) accounts() string {
	pair := func(create func() (nkeys.KeyPair, error)) (nkeys.KeyPair, string) {
		k, err := create()
		must(s.T, err)
		public, err := k.PublicKey()
		must(s.T, err)
		return k, public
	}
	operator, operatorID := pair(nkeys.CreateOperator)
	_, systemID := pair(nkeys.CreateAccount)
	account, accountID := pair(nkeys.CreateAccount)
	user, userID := pair(nkeys.CreateUser)
	signed := func(c interface {
		Encode(nkeys.KeyPair) (string, error)
	}, by nkeys.KeyPair) string {
		text, err := c.Encode(by)
		must(s.T, err)
		return text
	}
	chief := jwt.NewOperatorClaims(operatorID)
	chief.SystemAccount = systemID
	own := jwt.NewAccountClaims(accountID)
	own.Limits.JetStreamLimits = jwt.JetStreamLimits{MemoryStorage: -1, DiskStorage: -1, Streams: -1, Consumer: -1}
	seed, err := user.Seed()
	must(s.T, err)
	creds, err := jwt.FormatUserConfig(signed(jwt.NewUserClaims(userID), account), seed)
	must(s.T, err)
	s.write("hako.creds", string(creds))
	return fmt.Sprintf("operator: %q\nsystem_account: %s\nresolver: MEMORY\nresolver_preload: {\n  %s: %q\n  %s: %q\n}\n",
		s.write("operator.jwt", signed(chief, operator)), systemID,
		systemID, signed(jwt.NewAccountClaims(systemID), operator), accountID, signed(own, operator))
}
