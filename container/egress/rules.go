package egress

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"hako/run/fault"
)

// rules are the compiled settings of a proxy.
type rules struct {
	allow, private []pattern
	networks       []netip.Prefix // private too
	open           bool
	repositories   []*repository
}

// A pattern is one entry of a list of hosts.
type pattern struct {
	hostPort      // a port of zero means 80 and 443
	below    bool // matches subdomains, not the name itself
}

func (p *Proxy) compile() (*rules, error) {
	if p.Log == nil {
		return nil, &fault.Error{Kind: fault.Invalid, Op: "serve egress proxy", Why: "there is no audit log", Hint: "set Log"}
	}
	r := &rules{open: p.Open}
	var err error
	if r.allow, err = parsePatterns("allowed_domains", p.Allow); err != nil {
		return nil, err
	}
	hosts, networks, err := parseNetworks(p.Private)
	if err != nil {
		return nil, err
	}
	r.networks = networks
	if r.private, err = parsePatterns("private_networks", hosts); err != nil {
		return nil, err
	}
	for i := range p.Credentials {
		repo, err := p.Credentials[i].compile()
		if err != nil {
			return nil, err
		}
		r.repositories = append(r.repositories, repo)
	}
	return r, nil
}

// parseNetworks separates networks from hosts.
func parseNetworks(list []string) (hosts []string, networks []netip.Prefix, err error) {
	for _, text := range list {
		if !strings.Contains(text, "/") {
			hosts = append(hosts, text)
			continue
		}
		network, err := parseNetwork(text)
		if err != nil {
			return nil, nil, err
		}
		networks = append(networks, network)
	}
	return hosts, networks, nil
}

func parseNetwork(text string) (netip.Prefix, error) {
	refuse := func(why, hint string) (netip.Prefix, error) {
		return netip.Prefix{}, &fault.Error{Kind: fault.Invalid, Op: "read private networks", Subject: oneLine(text), Why: why,
			Hint: hint}
	}
	n, err := netip.ParsePrefix(text)
	switch {
	case err != nil:
		return refuse("it is neither a host nor a network", "write a network as 10.1.0.0/16, a host as git.example.com")
	case n.Addr().Is4In6() || n.Overlaps(nat64):
		return refuse("it is an IPv4 network written as IPv6", "write it as 10.1.0.0/16")
	case n != n.Masked():
		return refuse("it is an address in a network, not a network", "write "+n.Masked().String()+
			" for the network, or the address alone")
	case n.Bits() == 0:
		return refuse("it is every network there is", "name those that are meant")
	}
	return n, nil
}

func parsePatterns(setting string, list []string) ([]pattern, error) {
	var all []pattern
	for _, text := range list {
		one, err := parsePattern(setting, text)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

func parsePattern(setting, text string) (pattern, error) {
	refuse := func(why, hint string) (pattern, error) {
		return pattern{}, &fault.Error{Kind: fault.Invalid, Op: "read " + setting, Subject: oneLine(text), Why: why, Hint: hint}
	}
	if strings.Contains(text, "/") {
		return refuse("it is more than a host", "write example.com instead of https://example.com/")
	}
	host, below := strings.CutPrefix(text, "*.")
	p, err := parseHostPort(host, 0)
	switch {
	case text == "*":
		return refuse("it would allow everything", "set whitelist_mode to false, if that is meant")
	case err != nil:
		return refuse("it is not a host", "write it as example.com, *.example.com or example.com:8443")
	case below && (p.addr.IsValid() || !strings.Contains(p.host, ".")):
		return refuse("it would allow too much", "write the domain too, as in *.example.com")
	case p.addr.IsValid() && !reachableIfListed(p.addr):
		return refuse("nothing may be reached at this address", "leave it out")
	case p.host == Endpoint:
		return refuse("this name is the proxy's own", "leave it out")
	}
	return pattern{hostPort: p, below: below}, nil
}

// names reports whether a pattern matches a host, whatever the port.
func (p pattern) names(host string) bool {
	if p.below {
		return strings.HasSuffix(host, "."+p.host)
	}
	return host == p.host
}

func (p pattern) covers(at hostPort) bool {
	return p.names(at.host) && (p.port == at.port || p.port == 0 && webPort(at.port))
}

func webPort(port int) bool { return port == 80 || port == 443 }

// permit refuses a host that is not allowed.
func (r *rules) permit(at hostPort) error {
	refuse := func(why, hint string) error {
		return &fault.Error{Kind: fault.Denied, Op: "connect", Subject: at.String(), Why: why, Hint: hint}
	}
	known := slices.ContainsFunc(r.allow, func(p pattern) bool { return p.names(at.host) })
	switch {
	case at.host == Endpoint:
		return refuse("this name is the proxy's own", "use it only as http://"+Endpoint+"/HOST/REPOSITORY")
	case slices.ContainsFunc(r.allow, func(p pattern) bool { return p.covers(at) }):
		return nil
	case at.addr.IsValid():
		return refuse("addresses are not allowed, only names", "use the name of the host, or add "+at.String()+
			" to allowed_domains")
	case r.open && webPort(at.port):
		return nil
	case r.open || known:
		return refuse("port "+strconv.Itoa(at.port)+" is not allowed for this host", "use port 80 or 443, or add "+
			at.String()+" to allowed_domains")
	}
	return refuse("the host is not in allowed_domains", "to permit it, add "+at.host+" to allowed_domains")
}

// harmless reports whether permitted names may resolve to an address, unless it belongs to this machine.
func (r *rules) harmless(a netip.Addr) bool { return public(a) || r.inNetworks(a) }

// inNetworks reports whether an address is in one of the private networks. Addresses of this machine and its link
// never are: nobody who lists a company's network means the services on this machine.
func (r *rules) inNetworks(a netip.Addr) bool {
	a = unwrapIPv4(a)
	if slices.Contains(metadata, a) || !a.IsGlobalUnicast() || thisNetwork.Contains(a) {
		return false
	}
	return slices.ContainsFunc(r.networks, func(n netip.Prefix) bool { return n.Contains(a) })
}

// mayBePrivate reports whether a host may have private addresses.
func (r *rules) mayBePrivate(at hostPort) bool {
	return slices.ContainsFunc(r.private, func(p pattern) bool {
		return p.names(at.host) &&
			(p.port == 0 || p.port == at.port)
	})
}
