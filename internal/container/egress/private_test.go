package egress

import (
	"net/netip"
	"strings"
	"testing"

	"hako/internal/fault"
)

// TestPrivateNetworks opens a company's networks to names that are permitted,
// and nothing that only looks like them.
func TestPrivateNetworks(t *testing.T) {
	w, dial := siteWorld(t, &Proxy{Open: true, Private: []string{"10.1.0.0/16", "203.0.113.0/24", "fd12::/16", "127.0.0.0/8", "169.254.0.0/16", "100.64.0.0/10", "self.example"}})
	site := w.servers["93.184.215.14:80"]
	for name, at := range map[string]string{
		"in.example": "10.1.2.3", "doc.example": "203.0.113.9", "six.example": "fd12::5", "carrier.example": "100.64.1.1", "self.example": "127.0.0.1",
		"beside.example": "10.2.0.1", "loop.example": "127.0.0.1", "link.example": "169.254.1.1", "meta.example": "169.254.169.254", "ali.example": "100.100.100.200",
		"home.example": "192.168.1.1", "six-beside.example": "fd13::5", "mapped.example": "::ffff:127.0.0.1", "nat.example": "64:ff9b::7f00:1",
	} {
		w.host(name, at, "80", site)
	}
	w.names["both.example"] = "10.1.2.3,10.2.0.1"
	for name, want := range map[string]int{
		"in.example": 200, "doc.example": 200, "six.example": 200, "carrier.example": 200, "self.example": 200,
		"beside.example": 403, "loop.example": 403, "link.example": 403, "meta.example": 403, "ali.example": 403, "home.example": 403, "six-beside.example": 403,
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
	for _, bad := range []string{"10.1.2.3/16", "0.0.0.0/0", "::/0", "10.1.0.0/33", "10.1/16", "a/b", "https://example.com/", "/", "010.1.0.0/16", "::ffff:10.0.0.0/104", "64:ff9b::/96", "fe80::%eth0/64"} {
		if n, err := parseNetwork(bad); fault.KindOf(err) != fault.Invalid || fault.Hint(err) == "" {
			t.Errorf("%s: %v, %v", bad, n, err)
		}
	}
}

// FuzzNetwork never opens this machine or a metadata service.
func FuzzNetwork(f *testing.F) {
	for _, seed := range []string{"10.0.0.0/8", "127.0.0.0/8", "0.0.0.0/1", "::/1", "169.254.0.0/16", "fe80::/10", "::ffff:0:0/96", "8000::/1"} {
		f.Add(seed)
	}
	never := append([]netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("::1"), netip.MustParseAddr("::ffff:127.0.0.1"), netip.MustParseAddr("64:ff9b::7f00:1"),
		netip.MustParseAddr("0.0.0.0"), netip.MustParseAddr("::"), netip.MustParseAddr("fe80::1"), netip.MustParseAddr("169.254.1.1"), netip.MustParseAddr("224.0.0.1")}, metadata...)
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
