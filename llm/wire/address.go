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

// shown spells an address without credentials and query.
func shown(u *url.URL) string {
	plain := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	return plain.String()
}

// badCertificate reports whether a connection failed because of its certificate.
func badCertificate(err error) bool {
	_, unknown := errors.AsType[x509.UnknownAuthorityError](err)
	_, host := errors.AsType[x509.HostnameError](err)
	_, invalid := errors.AsType[x509.CertificateInvalidError](err)
	return unknown || host || invalid
}
