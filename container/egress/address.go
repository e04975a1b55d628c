package egress

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"hako/run/fault"
)

// metadata are the addresses of cloud metadata services, which give a machine its secrets. No setting opens them.
var metadata = []netip.Addr{
	netip.MustParseAddr("169.254.169.254"), // most
	netip.MustParseAddr("169.254.170.2"),   // Amazon, containers
	netip.MustParseAddr("fd00:ec2::254"),   // Amazon
	netip.MustParseAddr("fd00:ec2::23"),    // Amazon, containers
	netip.MustParseAddr("fd20:ce::254"),    // Google
	netip.MustParseAddr("100.100.100.200"), // Alibaba
	netip.MustParseAddr("168.63.129.16"),   // Azure, an otherwise public address
	netip.MustParseAddr("192.0.0.192"),     // Oracle
}

// specialRanges are non-public ranges that the predicates of netip do not cover, and ranges that embed another
// address.
var specialRanges = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),       // this network
	netip.MustParsePrefix("100.64.0.0/10"),   // carrier's own
	netip.MustParsePrefix("192.0.0.0/24"),    // protocol assignments
	netip.MustParsePrefix("192.0.2.0/24"),    // documentation
	netip.MustParsePrefix("192.88.99.0/24"),  // 6to4 relays
	netip.MustParsePrefix("198.18.0.0/15"),   // benchmarks
	netip.MustParsePrefix("198.51.100.0/24"), // documentation
	netip.MustParsePrefix("203.0.113.0/24"),  // documentation
	netip.MustParsePrefix("240.0.0.0/4"),     // reserved, broadcast
	netip.MustParsePrefix("2001::/23"),       // protocol assignments, Teredo
	netip.MustParsePrefix("2001:db8::/32"),   // documentation
	netip.MustParsePrefix("2002::/16"),       // 6to4
	netip.MustParsePrefix("3fff::/20"),       // documentation
}

var (
	thisNetwork = netip.MustParsePrefix("0.0.0.0/8")     // some systems treat it as this machine
	globalSix   = netip.MustParsePrefix("2000::/3")      // all assigned IPv6 addresses
	nat64       = netip.MustParsePrefix("64:ff9b::/96")  // IPv4 inside
	carrier     = netip.MustParsePrefix("100.64.0.0/10") // also used by private overlays
)

// public reports whether an address is on the public internet.
func public(a netip.Addr) bool {
	a = unwrapIPv4(a)
	if !a.IsGlobalUnicast() || a.IsPrivate() || slices.Contains(metadata, a) || a.Is6() && !globalSix.Contains(a) {
		return false
	}
	return !slices.ContainsFunc(specialRanges, func(p netip.Prefix) bool { return p.Contains(a) })
}

// reachableIfListed reports whether an address may be reached if it is listed explicitly.
func reachableIfListed(a netip.Addr) bool {
	a = unwrapIPv4(a)
	return !slices.Contains(metadata, a) && (a.IsLoopback() || a.IsPrivate() || carrier.Contains(a) || public(a))
}

// unwrapIPv4 extracts an embedded IPv4 address: otherwise 127.0.0.1 would pass for an IPv6 address.
func unwrapIPv4(a netip.Addr) netip.Addr {
	a = a.Unmap().WithZone("")
	if nat64.Contains(a) {
		bytes := a.As16()
		return netip.AddrFrom4([4]byte(bytes[12:]))
	}
	return a
}

// addresses resolves a permitted host. The returned addresses are those that are dialled: a second lookup could
// return others. The server of a lent credential may be private, like hosts that the rules trust.
func (s *service) addresses(ctx context.Context, v *logEntry, at hostPort, lent *repository) error {
	if at.addr.IsValid() { // it is listed in this spelling
		v.Addresses = []netip.Addr{at.addr}
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.limits.Dial)
	defer cancel()
	found, err := s.lookUp(ctx, at.host)
	if err != nil || len(found) == 0 {
		return &fault.Error{Kind: fault.Unavailable, Op: "connect", Subject: at.String(),
			Why: "the name could not be looked up", Hint: "check the name"}
	}
	own, err := s.localAddresses()
	if err != nil {
		return err
	}
	v.Addresses = found
	trusted := lent != nil || s.rules.mayBePrivate(at)
	if slices.ContainsFunc(found, func(a netip.Addr) bool {
		return !(trusted && reachableIfListed(a)) && (slices.Contains(own, unwrapIPv4(a)) || !s.rules.harmless(a))
	}) {
		// The address is not reported: names would map the network outside.
		return &fault.Error{Kind: fault.Denied, Op: "connect", Subject: at.String(),
			Why:  "the name leads to an address that is not public",
			Hint: "use a public host; if it is one of your own network, have the user add it to private_networks"}
	}
	return nil
}

// localAddresses returns the current addresses of this machine. A public one also leads to services that are meant
// for the machine itself and its neighbours.
func (s *service) localAddresses() (all []netip.Addr, err error) {
	ask := s.proxy.interfaces
	if ask == nil {
		ask = net.InterfaceAddrs
	}
	found, err := ask()
	if err != nil {
		return nil, &fault.Error{Kind: fault.Unavailable, Op: "connect",
			Why: "it is not known which addresses are the machine's own", Hint: "try again later"}
	}
	for _, a := range found {
		var ip net.IP
		switch a := a.(type) {
		case *net.IPNet:
			ip = a.IP
		case *net.IPAddr:
			ip = a.IP
		}
		if addr, ok := netip.AddrFromSlice(ip); ok {
			all = append(all, unwrapIPv4(addr))
		}
	}
	return all, nil
}

func (s *service) lookUp(ctx context.Context, host string) ([]netip.Addr, error) {
	if s.proxy.Resolve != nil {
		return s.proxy.Resolve(ctx, host)
	}
	if found, err := lookUpHostsFile(ctx, host); err == nil {
		return found, nil
	}
	return net.DefaultResolver.LookupNetIP(ctx, "ip", host+".") // the dot keeps search domains out
}

// lookUpHostsFile looks a name up in the hosts file alone, where it must not end in a dot.
func lookUpHostsFile(ctx context.Context, host string) ([]netip.Addr, error) {
	nobody := func(context.Context, string, string) (net.Conn, error) { return nil, errUnreachable }
	return (&net.Resolver{PreferGo: true, Dial: nobody}).LookupNetIP(ctx, "ip", host)
}

// dial connects to the first address that answers.
func (s *service) dial(ctx context.Context, addrs []netip.Addr, port int) (net.Conn, netip.Addr, error) {
	ctx, cancel := context.WithTimeout(ctx, s.limits.Dial)
	defer cancel()
	dial := s.proxy.Dial
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	for _, a := range addrs {
		// No address may use up the time of the others.
		each, done := context.WithTimeout(ctx, s.limits.Dial/time.Duration(len(addrs)))
		conn, err := dial(each, "tcp", net.JoinHostPort(a.String(), strconv.Itoa(port)))
		done()
		if err == nil {
			return conn, a, nil
		}
	}
	return nil, netip.Addr{}, errUnreachable
}

// errUnreachable has no details: a dialler's error reveals the network outside.
var errUnreachable = errors.New("no address of the host answers")
