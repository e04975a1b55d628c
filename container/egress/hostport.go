package egress

import (
	"net"
	"net/netip"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"hako/run/fault"
)

// A hostPort is a host and a port in normal form.
type hostPort struct {
	host string     // a lower case ASCII name, or an address
	addr netip.Addr // valid if host is an address
	port int
}

func (p hostPort) String() string { return net.JoinHostPort(p.host, strconv.Itoa(p.port)) }

// hostHeader returns the value of a Host header, without the default port.
func (p hostPort) hostHeader(port int) string {
	switch {
	case p.port != port:
		return p.String()
	case p.addr.Is6():
		return "[" + p.host + "]"
	}
	return p.host
}

// parseHostPort parses "host" or "host:port" with a default port; zero means none.
func parseHostPort(text string, port int) (hostPort, error) {
	host, digits, given := splitPort(text)
	if given {
		var ok bool
		if port, ok = parsePort(digits); !ok {
			return hostPort{}, invalidHost(text, "its port is not a number from 1 to 65535", "write it as host:443")
		}
	}
	p := hostPort{port: port}
	var err error
	p.host, p.addr, err = normalHost(host)
	return p, err
}

// splitPort cuts at the last colon that is not part of an address.
func splitPort(text string) (host, digits string, given bool) {
	colon := strings.LastIndexByte(text, ':')
	if colon < 0 || colon < strings.LastIndexByte(text, ']') {
		return text, "", false
	}
	return text[:colon], text[colon+1:], true
}

func parsePort(digits string) (int, bool) {
	n, err := strconv.ParseUint(digits, 10, 16)
	return int(n), err == nil && n > 0 && strconv.FormatUint(n, 10) == digits
}

// normalHost normalizes a host, and refuses every spelling that one resolver takes for an address and another for a
// name: 0x7f.1, 2130706433, 0177.0.0.1, 127.1 and the like are all 127.0.0.1 to some.
func normalHost(text string) (string, netip.Addr, error) {
	if inner, ok := strings.CutPrefix(text, "["); ok {
		return bracketed(text, strings.TrimSuffix(inner, "]"))
	}
	name, err := ascii(strings.TrimSuffix(text, "."))
	if err != nil {
		return "", netip.Addr{}, err
	}
	if !numeric(name[strings.LastIndexByte(name, '.')+1:]) {
		return name, netip.Addr{}, nil
	}
	if a, err := netip.ParseAddr(name); err == nil && name == text {
		return name, a, nil
	}
	return "", netip.Addr{}, invalidHost(text, "it is an oddly spelled address", "write an address as 192.0.2.1")
}

func bracketed(text, inner string) (string, netip.Addr, error) {
	a, err := netip.ParseAddr(inner)
	if err != nil || !a.Is6() || a.Is4In6() || a.Zone() != "" || len(text) != len(inner)+2 {
		return "", netip.Addr{}, invalidHost(text, "it is not a plain IPv6 address",
			"write it as [2001:db8::1], without zone or IPv4 part")
	}
	return a.String(), a, nil
}

// ascii normalizes a name to lower case letters, digits, dashes and underscores.
func ascii(name string) (string, error) {
	const limit = 253
	odd := func() (string, error) {
		return "", invalidHost(name, "it is not the name of a host", "write it as example.com")
	}
	if len(name) > limit {
		return odd()
	}
	lower := strings.ToLower(name)
	if strings.ContainsFunc(name, func(r rune) bool { return r > 0x7e }) || strings.Contains(lower, "xn--") {
		mapped, err := idna.Lookup.ToASCII(name)
		if err != nil || len(mapped) > limit || !utf8.ValidString(name) {
			return odd()
		}
		if again, err := idna.Lookup.ToASCII(mapped); err != nil || again != mapped {
			return odd() // it has more than one normal form
		}
		lower = mapped
	}
	for label := range strings.SplitSeq(lower, ".") {
		if label == "" || len(label) > 63 || strings.ContainsFunc(label, notHostRune) {
			return odd()
		}
	}
	return lower, nil
}

func notHostRune(r rune) bool {
	return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '_'
}

// numeric reports whether a last label makes the host an IPv4 address by the rules of browsers and inet_aton.
func numeric(label string) bool {
	digits, hex := strings.CutPrefix(label, "0x")
	if hex {
		return strings.Trim(digits, "0123456789abcdef") == ""
	}
	return strings.Trim(label, "0123456789") == ""
}

func invalidHost(text, why, hint string) error {
	return &fault.Error{Kind: fault.Denied, Op: "connect", Subject: targetHost(text), Why: why, Hint: hint}
}

// oneLine makes text from the container safe for a message.
func oneLine(text string) string {
	const limit = 100
	if len(text) > limit {
		text = text[:limit] + "..."
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, text)
}
