package wire

import (
	"crypto/x509"
	"errors"
	"net/url"
	"strings"

	"hako/run/fault"
)

// An Address is where a request goes.
type Address struct {
	Host  string // with the port, if one was given
	Shown string // without credentials and query
	url   string
}

// Resolve returns the address of a path below a base URL, which may end with a slash or not.
func (p *Service) Resolve(base, path string) (Address, error) {
	u, err := url.Parse(strings.TrimSpace(base))
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return Address{}, p.fault(fault.Invalid, "the base URL is not an address of http or https",
			"write it like https://api.example.com/v1")
	}
	u.Path = strings.TrimRight(u.Path, "/") + path
	u.RawPath, u.Fragment = "", ""
	return Address{Host: u.Host, Shown: shown(u), url: u.String()}, nil
}

// shown spells an address without what nobody else should read.
func shown(u *url.URL) string {
	plain := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	return plain.String()
}

// distrusted reports whether a connection was given up because of its certificate.
func distrusted(err error) bool {
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	return errors.As(err, &unknown) || errors.As(err, &host) || errors.As(err, &invalid)
}
