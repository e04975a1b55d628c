package websearch

import (
	"context"
	"net"
	"net/netip"
	"slices"

	"hako/run/fault"
)

// connect resolves a host, checks its addresses, and dials exactly these: a second lookup might return others (DNS
// rebinding).
func (f *Fetcher) connect(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	addrs, err := f.lookUp(ctx, host)
	if err != nil {
		return nil, err
	}
	dial := f.dialer()
	for _, a := range addrs {
		var conn net.Conn
		if conn, err = dial(ctx, network, net.JoinHostPort(a.String(), port)); err == nil {
			return conn, nil
		}
	}
	return nil, err
}

// lookUp resolves a host. An IP address in the URL itself is on the allow-list as such. A name must not resolve to a
// private address: its owner could point it at machines of our network, or at a cloud's metadata service.
func (f *Fetcher) lookUp(ctx context.Context, host string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a}, nil
	}
	resolve := f.Resolve
	if resolve == nil {
		resolve = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	addrs, err := resolve(ctx, host)
	if err == nil && len(addrs) == 0 {
		err = &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	if err != nil {
		return nil, err
	}
	for _, a := range addrs {
		if local := host == "localhost" && a.Unmap().IsLoopback(); !local && !public(a) {
			address := "http://" + net.JoinHostPort(a.String(), "PORT")
			return nil, &fault.Error{Kind: fault.Denied, Op: "fetch", Subject: cut(host),
				Why:      "the name leads to " + a.String() + ", which is not a public address",
				Hint:     "if that is meant, the address itself must be in web.url_prefixes: " + address,
				FlagHint: "if that is meant, put the address itself on the list: --allow-url " + address}
		}
	}
	return addrs, nil
}

// closed are the ranges that the predicates of netip do not cover and that are not public, or embed another address.
var closed = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),       // this network
	netip.MustParsePrefix("100.64.0.0/10"),   // carrier's own
	netip.MustParsePrefix("192.0.0.0/24"),    // protocol assignments
	netip.MustParsePrefix("192.0.2.0/24"),    // documentation
	netip.MustParsePrefix("198.18.0.0/15"),   // benchmarks
	netip.MustParsePrefix("198.51.100.0/24"), // documentation
	netip.MustParsePrefix("203.0.113.0/24"),  // documentation
	netip.MustParsePrefix("240.0.0.0/4"),     // reserved, broadcast
	netip.MustParsePrefix("::/96"),           // IPv4 inside
	netip.MustParsePrefix("64:ff9b::/96"),    // IPv4 inside
	netip.MustParsePrefix("64:ff9b:1::/48"),  // IPv4 inside
	netip.MustParsePrefix("2001::/32"),       // IPv4 inside
	netip.MustParsePrefix("2001:db8::/32"),   // documentation
	netip.MustParsePrefix("2002::/16"),       // IPv4 inside
	netip.MustParsePrefix("fec0::/10"),       // site-local of old
}

// public reports whether an address is a public one of the internet.
func public(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	return a.IsGlobalUnicast() && !a.IsPrivate() &&
		!slices.ContainsFunc(closed, func(p netip.Prefix) bool { return p.Contains(a) })
}
