package clone

import (
	"context"
	"crypto/x509"
	"net/url"
	"os"

	"hako/container/egress"
	"hako/run/fault"
)

// Lend returns the credential for exactly this repository, for fetching, in the form of the egress proxy, which
// verifies the server as this store does. See [Keyring.Lend].
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

// InsteadOf returns the git setting that redirects one repository to the endpoint of the egress proxy: name and
// value, for GIT_CONFIG_KEY_n and GIT_CONFIG_VALUE_n.
func InsteadOf(u *url.URL) (name, value string) {
	return "url.http://" + egress.Endpoint + "/" + u.Host + u.EscapedPath() + ".insteadOf", u.String()
}
