package clone

import (
	"context"
	"crypto/x509"
	"net/url"
	"os"

	"hako/container/egress"
	"hako/run/fault"
)

// Lend returns the credential for exactly this repository, to fetch from it, in the form that the egress proxy takes;
// the proxy will check the server as this store does. Without a credential there is nothing to lend. See
// [Keyring.Lend] for how long.
func (s *Store) Lend(ctx context.Context, address string) ([]egress.Credential, error) {
	u, err := parseURL(address)
	if err != nil {
		return nil, err
	}
	lent, err := s.Keys.Lend(ctx, u)
	if err != nil {
		return nil, err
	}
	roots, err := s.roots()
	for i := range lent {
		lent[i].Roots, lent[i].InsecureTLS = roots, s.InsecureTLS
	}
	return lent, err
}

func (s *Store) roots() (*x509.CertPool, error) {
	if s.CAFile == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(s.CAFile)
	if err != nil {
		return nil, badCA(s.CAFile, "it cannot be read", err)
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, badCA(s.CAFile, "there is no certificate in it", nil)
	}
	return pool, nil
}

func badCA(file, why string, err error) error {
	return &fault.Error{Kind: fault.Invalid, Op: "read ca_certificates", Subject: file, Why: why, Err: err,
		Hint: "name a file of certificates in PEM form, or leave the setting out"}
}

// InsteadOf returns the setting by which git inside a container goes to the endpoint of the egress proxy whenever it
// is told to go to the given repository, and to it alone: name and value, for git config or GIT_CONFIG_KEY_0 and
// GIT_CONFIG_VALUE_0.
func InsteadOf(u *url.URL) (name, value string) {
	return "url.http://" + egress.Endpoint + "/" + u.Host + u.EscapedPath() + ".insteadOf", u.String()
}
