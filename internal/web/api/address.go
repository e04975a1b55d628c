package api

import (
	"net/netip"
	"slices"
	"strings"

	"hako/internal/netlisten"
)

func (s *Server) listenAddress() netlisten.Address {
	return netlisten.Address{Addr: s.Addr, Public: s.Public, TLS: s.secure(), Example: "127.0.0.1:8480",
		Why: "whoever shares the network could read tokens and answers on their way",
		Hint: "use 127.0.0.1; or give a certificate with --tls-cert and --tls-key; or say --public, behind a proxy " +
			"that has one"}
}

// isOwnHost reports whether a Host header can only mean this server. An IP address is never the name of somebody else's
// page, so any is accepted unless we listen on loopback only; a name must be configured.
func (s *Server) isOwnHost(header string) bool {
	host := netlisten.HostOf(header)
	if netlisten.Loopback(s.host) && netlisten.OwnName(host) {
		return true
	}
	if _, err := netip.ParseAddr(host); err == nil && !netlisten.Loopback(s.host) {
		return true
	}
	return slices.ContainsFunc(s.Names, func(name string) bool { return strings.EqualFold(name, host) })
}

// clientNetwork is the key by which failed logins are counted: the address, or the /64 network of an IPv6 address.
func clientNetwork(remote string) string {
	ap, err := netip.ParseAddrPort(remote)
	if err != nil {
		return remote
	}
	ip := ap.Addr().Unmap()
	if ip.Is4() {
		return ip.String()
	}
	network, _ := ip.WithZone("").Prefix(64)
	return network.String()
}
