// Package netlisten opens the listeners of servers and shuts servers down. Nothing is reachable from the network
// unless the user says so.
package netlisten

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"

	"hako/run/fault"
)

// An Address is where a server listens.
type Address struct {
	// Addr is host:port. The default host is loopback, or with Public every interface. Empty means loopback and
	// any free port.
	Addr string

	Public bool // allow an address beyond loopback
	TLS    bool // there is TLS: allow any explicit address

	Example   string // example address for errors
	Why, Hint string // of the refusal of an address beyond loopback
}

// Address returns the address to listen on, if it is allowed.
func (p Address) Address() (string, error) {
	if p.Addr == "" {
		return net.JoinHostPort(p.host(""), "0"), nil
	}
	host, port, err := net.SplitHostPort(p.Addr)
	if err != nil || !isNumber(port) {
		return "", p.invalid("the address is not host:port", "write it as "+p.Example)
	}
	if !isPort(port) {
		return "", p.invalid("there is no port "+port, "ports go from 1 to 65535, and 0 means any that is free; write it as "+
			p.Example)
	}
	host = p.host(host)
	if !p.Public && !p.TLS && !Loopback(host) {
		return "", &fault.Error{Kind: fault.Denied, Op: "listen on", Subject: p.Addr, Why: p.Why, Hint: p.Hint}
	}
	return net.JoinHostPort(host, port), nil
}

func (p Address) invalid(why, hint string) error {
	return &fault.Error{Kind: fault.Invalid, Op: "listen on", Subject: p.Addr, Why: why, Hint: hint}
}

// host applies the defaults. It does not resolve localhost, which a resolver could map to anything.
func (p Address) host(name string) string {
	if strings.EqualFold(name, "localhost") || name == "" && !p.Public {
		return "127.0.0.1"
	}
	return name
}

// isNumber also accepts numbers that are out of range.
func isNumber(s string) bool {
	_, err := strconv.ParseInt(s, 10, 64)
	return err == nil || errors.Is(err, strconv.ErrRange)
}

func isPort(s string) bool {
	_, err := strconv.ParseUint(s, 10, 16)
	return err == nil
}

// Open listens.
func (p Address) Open(ctx context.Context) (net.Listener, error) {
	addr, err := p.Address()
	if err != nil {
		return nil, err
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, &fault.Error{Kind: fault.Unavailable, Op: "listen on", Subject: addr, Err: cause(err),
			Hint: "another program may hold the port: choose another one, or port 0 for any that is free"}
	}
	return l, nil
}

// cause strips the address from an error of package net.
func cause(err error) error {
	var op *net.OpError
	if errors.As(err, &op) && op.Err != nil {
		return op.Err
	}
	return err
}

// Loopback reports whether host is a loopback address.
func Loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// OwnName reports whether the host of a Host header is this machine.
func OwnName(host string) bool { return strings.EqualFold(host, "localhost") || Loopback(host) }

// HostOf returns a Host header without its port, which a tunnel may change.
func HostOf(header string) string {
	if host, _, err := net.SplitHostPort(header); err == nil {
		return host
	}
	return strings.TrimSuffix(strings.TrimPrefix(header, "["), "]")
}

// End shuts a server down, gracefully until ctx ends.
func End(ctx context.Context, web *http.Server, name string) error {
	err := web.Shutdown(ctx)
	if err == nil {
		return nil
	}
	web.Close()
	return &fault.Error{Kind: fault.Timeout, Op: "stop " + name, Why: "an answer was cut off", Err: err}
}
