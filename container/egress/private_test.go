package egress

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"hako/run/fault"
)

// TestPrivateNetworks opens a company's networks to names that are permitted,
// and nothing that only looks like them.
func TestPrivateNetworks(t *testing.T) {
	w, dial := siteWorld(t, &Proxy{Open: true, Private: []string{"10.1.0.0/16", "203.0.113.0/24", "fd12::/16",
		"127.0.0.0/8", "169.254.0.0/16", "100.64.0.0/10", "self.example"}})
	site := w.servers["93.184.215.14:80"]
	for name, at := range map[string]string{
		"in.example": "10.1.2.3", "doc.example": "203.0.113.9", "six.example": "fd12::5", "carrier.example": "100.64.1.1",
		"self.example":   "127.0.0.1",
		"beside.example": "10.2.0.1", "loop.example": "127.0.0.1", "link.example": "169.254.1.1",
		"meta.example": "169.254.169.254", "ali.example": "100.100.100.200",
		"home.example": "192.168.1.1", "six-beside.example": "fd13::5", "mapped.example": "::ffff:127.0.0.1",
		"nat.example": "64:ff9b::7f00:1",
	} {
		w.host(name, at, "80", site)
	}
	w.names["both.example"] = "10.1.2.3,10.2.0.1"
	for name, want := range map[string]int{
		"in.example": 200, "doc.example": 200, "six.example": 200, "carrier.example": 200, "self.example": 200,
		"beside.example": 403, "loop.example": 403, "link.example": 403, "meta.example": 403, "ali.example": 403,
		"home.example": 403, "six-beside.example": 403,
		"mapped.example": 403, "nat.example": 403, "both.example": 403, "10.1.2.3": 403,
	} {
		if resp, text := get(t, dial, "http://"+name+"/echo"); resp.StatusCode != want {
			t.Errorf("%s: %s %s", name, resp.Status, text)
		}
	}
}

// TestPrivateIsNoPermission lets a name through only if it is allowed besides.
func TestPrivateIsNoPermission(t *testing.T) {
	w, dial := siteWorld(t, &Proxy{Allow: []string{"git.corp.example"}, Private: []string{"10.0.0.0/8"}})
	site := w.servers["93.184.215.14:80"]
	w.host("git.corp.example", "10.0.0.7", "80", site)
	w.host("www.corp.example", "10.0.0.8", "80", site)
	for name, want := range map[string]int{"git.corp.example": 200, "www.corp.example": 403} {
		if resp, text := get(t, dial, "http://"+name+"/echo"); resp.StatusCode != want {
			t.Errorf("%s: %s %s", name, resp.Status, text)
		}
	}
}

func TestParseNetwork(t *testing.T) {
	for _, good := range []string{"10.1.0.0/16", "203.0.113.0/24", "10.1.2.3/32", "fd12:3456::/32"} {
		if n, err := parseNetwork(good); err != nil || n.String() != good {
			t.Errorf("%s: %v, %v", good, n, err)
		}
	}
	for _, bad := range []string{"10.1.2.3/16", "0.0.0.0/0", "::/0", "10.1.0.0/33", "10.1/16", "a/b",
		"https://example.com/", "/", "010.1.0.0/16", "::ffff:10.0.0.0/104", "64:ff9b::/96", "fe80::%eth0/64"} {
		if n, err := parseNetwork(bad); fault.KindOf(err) != fault.Invalid || fault.Hint(err) == "" {
			t.Errorf("%s: %v, %v", bad, n, err)
		}
	}
}

// FuzzNetwork never opens this machine or a metadata service.
func FuzzNetwork(f *testing.F) {
	for _, seed := range []string{"10.0.0.0/8", "127.0.0.0/8", "0.0.0.0/1", "::/1", "169.254.0.0/16", "fe80::/10",
		"::ffff:0:0/96", "8000::/1"} {
		f.Add(seed)
	}
	never := append([]netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("::1"),
		netip.MustParseAddr("::ffff:127.0.0.1"), netip.MustParseAddr("64:ff9b::7f00:1"),
		netip.MustParseAddr("0.0.0.0"), netip.MustParseAddr("::"), netip.MustParseAddr("fe80::1"),
		netip.MustParseAddr("169.254.1.1"), netip.MustParseAddr("224.0.0.1")}, metadata...)
	f.Fuzz(func(t *testing.T, text string) {
		_, networks, err := parseNetworks(strings.Fields(text))
		if err != nil {
			return
		}
		for _, a := range never {
			if (&rules{networks: networks}).inNetworks(a) {
				t.Errorf("%s opens %s", text, a)
			}
		}
	})
}

// TestLentIsNoPermission opens the private address of a git server to what git is
// lent a credential for, and to nothing else, not even on the same connection.
func TestLentIsNoPermission(t *testing.T) {
	lent := func(host string) Credential {
		return Credential{Host: host, Repository: "/a", Services: []string{UploadPack}, Header: authorization,
			PlainHTTP: true}
	}
	w, dial := siteWorld(t, &Proxy{Open: true, Allow: []string{"git.corp.example:8080"},
		Credentials: []Credential{lent("git.corp.example"), lent("meta.corp.example")}})
	server := httptest.NewServer(
		http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "reached") }))
	t.Cleanup(server.Close)
	site := server.Listener.Addr().String()
	w.host("git.corp.example", "10.0.0.7", "80", site)
	w.host("meta.corp.example", "169.254.169.254", "80", site)
	w.servers["10.0.0.7:443"], w.servers["10.0.0.7:8080"] = site, site
	for _, target := range []string{"http://git.corp.example/echo", "http://git.corp.example:443/echo",
		"http://git.corp.example:8080/echo"} {
		c := open(t, dial)
		c.send(endpoint("GET", "/git.corp.example/a/info/refs?service=git-upload-pack", ""))
		if resp, text := c.answer("GET"); text != "reached" {
			t.Errorf("git: %s %s", resp.Status, text)
		}
		host, _, _ := strings.Cut(strings.TrimPrefix(target, "http://"), "/")
		c.send("GET " + target + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n")
		if resp, text := c.answer("GET"); resp.StatusCode != 403 {
			t.Errorf("%s: %s %s", target, resp.Status, text)
		}
	}
	if resp, text := ask(t, dial, "CONNECT git.corp.example:443 HTTP/1.1\r\n\r\n"); resp.StatusCode != 403 {
		t.Errorf("CONNECT: %s %s", resp.Status, text)
	}
	if resp, text := ask(t, dial, endpoint("GET", "/meta.corp.example/a/info/refs?service=git-upload-pack",
		"")); resp.StatusCode != 403 {
		t.Errorf("metadata: %s %s", resp.Status, text)
	}
}

func TestPrivateOnOnePort(t *testing.T) {
	w, dial := siteWorld(t, &Proxy{Open: true, Allow: []string{"git.corp.example:8443"},
		Private: []string{"git.corp.example:8443"}})
	site := w.servers["93.184.215.14:80"]
	w.host("git.corp.example", "10.0.0.7", "80", site)
	w.servers["10.0.0.7:8443"] = site
	for address, want := range map[string]int{"http://git.corp.example:8443/echo": 200,
		"http://git.corp.example/echo": 403} {
		if resp, text := get(t, dial, address); resp.StatusCode != want {
			t.Errorf("%s: %s %s", address, resp.Status, text)
		}
	}
}

// TestOwnAddresses keeps out of this machine, public as its addresses may be,
// unless the host is trusted by name.
func TestOwnAddresses(t *testing.T) {
	p := &Proxy{Open: true, Private: []string{"10.0.0.0/8", "self.example"}}
	p.interfaces = func() ([]net.Addr, error) {
		return []net.Addr{&net.IPNet{IP: net.IPv4(93, 184, 215, 77), Mask: net.CIDRMask(24, 32)},
			&net.IPAddr{IP: net.IPv4(10, 0, 0, 5)},
			&net.IPNet{IP: net.ParseIP("2606:2800::7"), Mask: net.CIDRMask(64, 128)}}, nil
	}
	w, dial := siteWorld(t, p)
	site := w.servers["93.184.215.14:80"]
	for name, at := range map[string]string{
		"public.example": "93.184.215.77", "six.example": "2606:2800::7", "mapped.example": "::ffff:93.184.215.77",
		"nat.example":     "64:ff9b::5db8:d74d",
		"company.example": "10.0.0.5", "beside.example": "93.184.215.78", "near.example": "10.0.0.6",
		"self.example": "93.184.215.77",
	} {
		w.host(name, at, "80", site)
	}
	w.names["both.example"] = "93.184.215.14,93.184.215.77"
	for name, want := range map[string]int{
		"public.example": 403, "six.example": 403, "mapped.example": 403, "nat.example": 403, "company.example": 403,
		"both.example":   403,
		"beside.example": 200, "near.example": 200, "self.example": 200, "ok.example": 200,
	} {
		if resp, text := get(t, dial, "http://"+name+"/echo"); resp.StatusCode != want || strings.Contains(text, "93.184") {
			t.Errorf("%s: %s %s", name, resp.Status, text)
		}
	}
}

// TestOwnAddressesUnknown lets nothing through while they cannot be read.
func TestOwnAddressesUnknown(t *testing.T) {
	w, dial := siteWorld(t, &Proxy{interfaces: func() ([]net.Addr, error) {
		return nil,
			errors.New("secret-of-the-system")
	}})
	if resp, text := get(t, dial, "http://ok.example/echo"); resp.StatusCode != 502 ||
		strings.Contains(text, "secret-of") || len(w.dials()) > 0 {
		t.Errorf("%s %s", resp.Status, text)
	}
}

// TestAddressesOfTheSystem asks the machine it runs on.
func TestAddressesOfTheSystem(t *testing.T) {
	own, err := (&service{proxy: &Proxy{}}).localAddresses()
	if err != nil || !slices.ContainsFunc(own, netip.Addr.IsLoopback) {
		t.Errorf("this machine is at %v, %v", own, err)
	}
}

// TestWrittenNames finds a name without dots in the file of hosts, and asks
// nobody for one that is not there.
func TestWrittenNames(t *testing.T) {
	found, err := (&service{proxy: &Proxy{}}).lookUp(t.Context(), "localhost")
	if err != nil || !slices.ContainsFunc(found, netip.Addr.IsLoopback) {
		t.Errorf("localhost is %v, %v", found, err)
	}
	if found, err := lookUpHostsFile(t.Context(), "nowhere.example"); err == nil {
		t.Errorf("nowhere is %v", found)
	}
}
