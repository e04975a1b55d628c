package engine

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hako/run/fault"
)

func TestHosts(t *testing.T) {
	for _, v := range []string{"DOCKER_HOST", "DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH", "DOCKER_API_VERSION"} {
		t.Setenv(v, "")
	}
	for host, want := range map[string]string{
		"": defaultSocket, "unix:///run/user/1/docker.sock": "unix:///run/user/1/docker.sock",
		"tcp://127.0.0.1:2375": "tcp://127.0.0.1:2375", "tcp://[::1]:2375/": "tcp://[::1]:2375",
	} {
		e, err := Open(host)
		if err != nil {
			t.Errorf("%s: %v", host, err)
			continue
		}
		if e.Host() != want || e.Local() != strings.HasPrefix(want, "unix") {
			t.Errorf("%s: %s, local %v", host, e.Host(), e.Local())
		}
		e.Close()
	}
	for host, hint := range map[string]string{
		"ssh://me:secret@host": "ssh -nNT -L", "npipe:////./pipe/docker_engine": "WSL", "unix://": "unix:///",
		"tcp://host":  "tcp://127.0.0.1:2376",
		"tcp://:2375": "tcp://", "/var/run/docker.sock": "unix:///", "http://x": "tcp://", "fd://": "unix:///",
	} {
		if _, err := Open(host); fault.KindOf(err) != fault.Invalid || !strings.Contains(fault.Hint(err), hint) ||
			strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", host, err)
		}
	}
	t.Setenv("DOCKER_HOST", "tcp://127.0.0.1:9")
	if e, err := Open(""); err != nil || e.Host() != "tcp://127.0.0.1:9" {
		t.Errorf("DOCKER_HOST: %v", err)
	}
}

func TestCertificatesThatCannotBeRead(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("DOCKER_API_VERSION", "")
	t.Setenv("HOME", folder)
	for _, where := range []string{folder, ""} {
		t.Setenv("DOCKER_CERT_PATH", where)
		t.Setenv("DOCKER_TLS_VERIFY", "1")
		if _, err := Open("tcp://127.0.0.1:9"); fault.KindOf(err) != fault.Invalid ||
			!strings.Contains(fault.Hint(err), "ca.pem") {
			t.Errorf("%q: %v", where, err)
		}
	}
	t.Setenv("DOCKER_CERT_PATH", folder)
	os.WriteFile(filepath.Join(folder, "ca.pem"), []byte("nothing"), 0o600)
	if _, err := Open("tcp://127.0.0.1:9"); err == nil || !strings.Contains(err.Error(), "no certificate") {
		t.Errorf("an empty one: %v", err)
	}
}

// certify writes a key and a certificate of who, signed by an authority that it
// makes, and that authority's, as Docker keeps them.
func certify(t *testing.T) (folder string) {
	t.Helper()
	folder = t.TempDir()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "engine"},
		NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{"ca.pem": {Type: "CERTIFICATE", Bytes: der},
		"cert.pem": {Type: "CERTIFICATE", Bytes: der}, "key.pem": {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(filepath.Join(folder, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

func TestExecOverTLS(t *testing.T) {
	folder := certify(t)
	t.Setenv("DOCKER_API_VERSION", "1.41")
	t.Setenv("DOCKER_CERT_PATH", folder)
	own, err := tls.LoadX509KeyPair(filepath.Join(folder, "cert.pem"), filepath.Join(folder, "key.pem"))
	if err != nil {
		t.Fatal(err)
	}
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{own},
		ClientAuth: tls.RequireAnyClientCert})
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: http.HandlerFunc(echo), ErrorLog: log.New(io.Discard, "", 0)}
	served := make(chan struct{})
	go func() { defer close(served); s.Serve(l) }()
	defer func() { s.Close(); <-served }()

	e, err := Open("tcp://" + l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	var out bytes.Buffer
	exit, err := e.Exec(t.Context(), "x", Exec{Argv: []string{"cat"}, Stdin: strings.NewReader("through and back"),
		Stdout: &out})
	if exit != 4 || err != nil || out.String() != "through and back" || e.Local() {
		t.Errorf("%d, %v, %q", exit, err, out.String())
	}

	t.Setenv("DOCKER_CERT_PATH", certify(t)) // another authority
	if e, err = Open("tcp://" + l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	e.retryDelays = nil
	if _, err := e.List(t.Context(), nil); fault.KindOf(err) != fault.Unavailable ||
		!strings.Contains(err.Error(), "certificate") {
		t.Errorf("an engine that nobody vouches for: %v", err)
	}
}

// echo is an engine with one command: it repeats its input once that has ended.
func echo(w http.ResponseWriter, r *http.Request) {
	switch {
	case strings.HasSuffix(r.URL.Path, "/start"):
		io.Copy(io.Discard, r.Body)
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			panic(err)
		}
		defer conn.Close()
		io.WriteString(conn, "HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n")
		all, _ := io.ReadAll(conn)
		io.WriteString(conn, frame(1, string(all)))
	case strings.HasSuffix(r.URL.Path, "/exec"):
		io.WriteString(w, `{"Id":"abc"}`)
	default:
		io.WriteString(w, `{"ExitCode":4}`)
	}
}
