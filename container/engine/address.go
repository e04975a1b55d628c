package engine

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"os"
	"path/filepath"
	"strings"

	"hako/run/fault"
)

const defaultSocket = "unix:///var/run/docker.sock"

// An address is the address of an engine.
type address struct {
	network string // "unix" or "tcp"
	addr    string // a path, or host:port
	tls     *tls.Config
}

func (a address) String() string { return a.network + "://" + a.addr }

func (a address) dial(ctx context.Context) (net.Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, a.network, a.addr)
	if err != nil || a.tls == nil {
		return conn, err
	}
	secure := tls.Client(conn, a.tls)
	if err := secure.HandshakeContext(ctx); err != nil {
		conn.Close()
		return nil, err
	}
	return secure, nil
}

// resolve parses a host as in DOCKER_HOST.
func resolve(host string) (address, error) {
	if host == "" {
		host = os.Getenv("DOCKER_HOST")
	}
	if host == "" {
		host = defaultSocket
	}
	scheme, place, found := strings.Cut(host, "://")
	switch {
	case found && scheme == "unix" && place != "":
		return address{network: "unix", addr: place}, nil
	case found && scheme == "tcp":
		return tcpAddress(strings.TrimSuffix(place, "/"))
	}
	return address{}, invalidHost(scheme, found)
}

// invalidHost does not repeat the host: an ssh address may contain a password.
func invalidHost(scheme string, found bool) error {
	e := &fault.Error{Kind: fault.Invalid, Op: "read DOCKER_HOST", Why: "it is not an address of docker",
		Hint: "write it like " + defaultSocket + " or tcp://127.0.0.1:2376"}
	switch {
	case found && scheme == "ssh":
		e.Why = "docker over ssh is not supported"
		e.Hint = "forward the socket yourself: ssh -nNT -L /tmp/docker.sock:/var/run/docker.sock user@host, then set DOCKER_HOST=unix:///tmp/docker.sock"
	case found && scheme == "npipe":
		e.Why = "named pipes are not supported"
		e.Hint = "run hako inside WSL, or let docker listen on tcp://127.0.0.1:2376 with TLS"
	}
	return e
}

func tcpAddress(place string) (address, error) {
	host, port, err := net.SplitHostPort(place)
	if err != nil || host == "" || port == "" {
		return address{}, invalidHost("tcp", true)
	}
	a := address{network: "tcp", addr: place}
	folder := os.Getenv("DOCKER_CERT_PATH")
	if folder == "" && os.Getenv("DOCKER_TLS_VERIFY") == "" {
		return a, nil
	}
	a.tls, err = tlsConfig(folder, host)
	return a, err
}

// tlsConfig reads Docker's certificates. The engine is always verified: an impostor would receive every command.
func tlsConfig(folder, host string) (*tls.Config, error) {
	if folder == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return nil, certificateError("DOCKER_CERT_PATH", err)
		}
		folder = filepath.Join(home, ".docker")
	}
	ca, err := os.ReadFile(filepath.Join(folder, "ca.pem"))
	if err != nil {
		return nil, certificateError(folder, err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(ca) {
		return nil, certificateError(filepath.Join(folder, "ca.pem"), nil)
	}
	own, err := tls.LoadX509KeyPair(filepath.Join(folder, "cert.pem"), filepath.Join(folder, "key.pem"))
	if err != nil {
		return nil, certificateError(folder, err)
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, ServerName: host, RootCAs: pool,
		Certificates: []tls.Certificate{own}}, nil
}

func certificateError(subject string, err error) error {
	e := &fault.Error{Kind: fault.Invalid, Op: "read docker's certificates", Subject: subject, Err: err,
		Hint: "DOCKER_CERT_PATH must name a folder with ca.pem, cert.pem and key.pem"}
	if err == nil {
		e.Why = "there is no certificate in it"
	}
	return e
}
