package api

import (
	"net/netip"
	"slices"
	"strings"

	"hako/internal/netlisten"
)

func (s *Server) place() netlisten.Address {
	return netlisten.Address{Addr: s.Addr, Public: s.Public, TLS: s.secure(), Example: "127.0.0.1:8480",
		Why:  "whoever shares the network could read tokens and answers on their way",
		Hint: "use 127.0.0.1; or give a certificate with --tls-cert and --tls-key; or say --public, behind a proxy that has one"}
}

// isOwn reports whether a Host header can only mean this server. An address is
// never the name of somebody else's page, so any will do where we listen on more
// than loopback; a name must be one that was configured.
func (s *Server) isOwn(header string) bool {
	host := netlisten.HostOf(header)
	if netlisten.Loopback(s.host) && netlisten.OwnName(host) {
		return true
	}
	if _, err := netip.ParseAddr(host); err == nil && !netlisten.Loopback(s.host) {
		return true
	}
	return slices.ContainsFunc(s.Names, func(name string) bool { return strings.EqualFold(name, host) })
}

// addressOf is by what tries are counted. Whoever has one IPv6 address has a
// whole network of them.
func addressOf(remote string) string {
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
