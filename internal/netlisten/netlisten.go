// Package netlisten opens the ports of servers and ends them.
//
// What is answered there is not its matter. The rule to keep: nothing is open to
// the network because somebody left a word out.
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

// A Address is where a server wants to listen.
type Address struct {
	// Addr is host:port. Without a host it is loopback, with Public every
	// interface. Empty means loopback and a port the system chooses.
	Addr string

	Public bool // permits an address beyond loopback; false refuses one
	Sealed bool // there is TLS, so that such an address needs no permission

	Usual     string // an address to show who wrote one wrongly
	Why, Hint string // of the refusal of an address beyond loopback
}

// Address returns where to listen, if that is allowed.
func (p Address) Address() (string, error) {
	if p.Addr == "" {
		return net.JoinHostPort(p.host(""), "0"), nil
	}
	host, port, err := net.SplitHostPort(p.Addr)
	if err != nil || !isNumber(port) {
		return "", p.invalid("the address is not host:port", "write it as "+p.Usual)
	}
	if !isPort(port) {
		return "", p.invalid("there is no port "+port, "ports go from 1 to 65535, and 0 means any that is free; write it as "+
			p.Usual)
	}
	host = p.host(host)
	if !p.Public && !p.Sealed && !Loopback(host) {
		return "", &fault.Error{Kind: fault.Denied, Op: "listen on", Subject: p.Addr, Why: p.Why, Hint: p.Hint}
	}
	return net.JoinHostPort(host, port), nil
}

func (p Address) invalid(why, hint string) error {
	return &fault.Error{Kind: fault.Invalid, Op: "listen on", Subject: p.Addr, Why: why, Hint: hint}
}

// host fills in what was left out. localhost is not looked up: what a resolver
// makes of it may be anything.
func (p Address) host(name string) string {
	if strings.EqualFold(name, "localhost") || name == "" && !p.Public {
		return "127.0.0.1"
	}
	return name
}

// isNumber is also true of one that is too large for anything.
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

// cause drops the address that package net repeats.
func cause(err error) error {
	var op *net.OpError
	if errors.As(err, &op) && op.Err != nil {
		return op.Err
	}
	return err
}

// Loopback reports whether host is an address that only this machine reaches.
func Loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// OwnName reports whether the host of a Host header can only mean this machine.
func OwnName(host string) bool { return strings.EqualFold(host, "localhost") || Loopback(host) }

// HostOf returns a Host header without its port, which a tunnel may change.
func HostOf(header string) string {
	if host, _, err := net.SplitHostPort(header); err == nil {
		return host
	}
	return strings.TrimSuffix(strings.TrimPrefix(header, "["), "]")
}

// End ends a server, gently while ctx lasts.
func End(ctx context.Context, web *http.Server, name string) error {
	err := web.Shutdown(ctx)
	if err == nil {
		return nil
	}
	web.Close()
	return &fault.Error{Kind: fault.Timeout, Op: "stop " + name, Why: "an answer was cut off", Err: err}
}
