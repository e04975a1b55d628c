package websearch

import (
	"net/netip"
	"strings"
	"testing"

	"hako/run/fault"
)

func TestPrefixes(t *testing.T) {
	tests := []struct {
		prefix, address string
		ok              bool
	}{
		{"https://docs.example.com", "https://docs.example.com", true},
		{"https://docs.example.com", "https://docs.example.com/", true},
		{"https://docs.example.com/", "https://docs.example.com/a/b?c=d#e", true},
		{"https://docs.example.com", "HTTPS://DOCS.Example.COM/a", true},
		{"https://docs.example.com:443", "https://docs.example.com/a", true},
		{"https://docs.example.com", "https://docs.example.com:443/a", true},
		{"http://docs.example.com:80", "http://docs.example.com/a", true},
		{"https://docs.example.com", "https://docs.example.com?x=/../", true},
		{"https://docs.example.com/v1", "https://docs.example.com/v1", true},
		{"https://docs.example.com/v1", "https://docs.example.com/v1/x", true},
		{"https://docs.example.com/v1/", "https://docs.example.com/v1/x", true},
		{"https://docs.example.com/日本", "https://docs.example.com/%E6%97%A5%E6%9C%AC/x", true},
		{"http://[::1]:8080", "http://[0:0:0:0:0:0:0:1]:8080/x", true},
		{"https://docs.example.com/v1", "https://docs.example.com/v1/a..b/...", true},

		{"https://docs.example.com", "https://docs.example.com.evil.org/", false},
		{"https://docs.example.com", "https://docs.example.comevil.org/", false},
		{"https://docs.example.com", "https://docs.example.com@evil.org/", false},
		{"https://docs.example.com", "https://docs.example.com:443@evil.org/", false},
		{"https://docs.example.com", "https://user:secret@docs.example.com/", false},
		{"https://docs.example.com", "https://docs.example.com\\@evil.org/", false},
		{"https://docs.example.com", "https://docs.example.com%2eevil.org/", false},
		{"https://docs.example.com", "https://docs.example.com%00.evil.org/", false},
		{"https://docs.example.com", "https://docs.example.com./", false},
		{"https://docs.example.com", "https://evil.org/https://docs.example.com", false},
		{"https://docs.example.com", "https://evil.org?https://docs.example.com", false},
		{"https://docs.example.com", "https://evil.org#https://docs.example.com", false},
		{"https://docs.example.com", "http://docs.example.com/", false},
		{"https://docs.example.com", "https://docs.example.com:8443/", false},
		{"https://docs.example.com", "https://docs.example.com:0/", false},
		{"https://docs.example.com", "https://docs.example.com:99999/", false},
		{"https://docs.example.com", "https:docs.example.com/", false},
		{"https://docs.example.com", "https:///docs.example.com/", false},
		{"https://docs.example.com", "//docs.example.com/", false},
		{"https://docs.example.com", "docs.example.com", false},
		{"https://docs.example.com", "file:///etc/passwd", false},
		{"https://docs.example.com", "ftp://docs.example.com/", false},
		{"https://docs.example.com", "gopher://docs.example.com/", false},
		{"https://docs.example.com", "", false},
		{"https://docs.example.com", " https://docs.example.com", false},
		{"https://docs.example.com", "https://docs.example.com/\r\nHost: evil.org", false},
		{"https://docs.example.com/v1", "https://docs.example.com/v10", false},
		{"https://docs.example.com/v1", "https://docs.example.com/V1", false},
		{"https://docs.example.com/v1", "https://docs.example.com/", false},
		{"https://docs.example.com/v1", "https://docs.example.com//v1", false},
		{"https://docs.example.com/v1", "https://docs.example.com/v1/../admin", false},
		{"https://docs.example.com/v1", "https://docs.example.com/v1/..", false},
		{"https://docs.example.com/v1", "https://docs.example.com/./v1", false},
		{"https://docs.example.com/v1", "https://docs.example.com/v1/%2e%2e/admin", false},
		{"https://docs.example.com/v1", "https://docs.example.com/v1/.%2E/admin", false},
		{"https://docs.example.com/v1", "https://docs.example.com/v1/%252e%252e/admin", false},
		{"https://docs.example.com/v1", "https://docs.example.com/v1/%25252e./admin", false},
		{"https://docs.example.com/v1", "https://docs.example.com/v1%2f..%2fadmin", false},
		{"https://docs.example.com/v1", "https://docs.example.com/v1/..%5cadmin", false},
		{"https://docs.example.com/v1", "https://docs.example.com/v1\\..\\admin", false},
		{"https://docs.example.com/v1", "https://docs.example.com/v1/..;/admin", false},
		{"https://docs.example.com/v1", "https://docs.example.com/v1;x", false},
		{"http://127.0.0.1:8080", "http://2130706433:8080/", false},
		{"http://127.0.0.1:8080", "http://0x7f.1:8080/", false},
		{"http://127.0.0.1:8080", "http://127.1:8080/", false},
		{"http://[fe80::1]", "http://[fe80::1%25eth0]/", false},
	}
	for _, tt := range tests {
		f := &Fetcher{Prefixes: []string{"https://other.example", tt.prefix}}
		_, err := f.Allow(tt.address)
		if (err == nil) != tt.ok {
			t.Errorf("%s covers %s: %v", tt.prefix, tt.address, err)
		}
		if err != nil && fault.Hint(err) == "" {
			t.Errorf("%s: no hint in %v", tt.address, err)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("password shown: %v", err)
		}
	}
}

func TestNothingIsAllowedByDefault(t *testing.T) {
	for _, f := range []*Fetcher{nil, {}} {
		_, err := f.Allow("https://example.com/")
		if fault.KindOf(err) != fault.Denied || !strings.Contains(err.Error(), "no URL prefix is allowed") ||
			!strings.Contains(fault.FlagHint(err), "--allow-url") || !strings.Contains(fault.Hint(err), "web.url_prefixes") {
			t.Errorf("%v, hint %q", err, fault.Hint(err))
		}
	}
}

func TestBadPrefixes(t *testing.T) {
	for _, p := range []string{"docs.example.com", "https://", "https://a@b.example", "https://b.example/?q",
		"https://b.example/#x", "https://b.example/../x", "ftp://b.example", "*"} {
		f := &Fetcher{Prefixes: []string{p}}
		if _, err := parsePrefix(p); fault.KindOf(err) != fault.Invalid || fault.Hint(err) == "" {
			t.Errorf("%s: %v", p, err)
		}
		if _, err := f.Allow("https://b.example/"); err == nil {
			t.Errorf("%s lets something through", p)
		}
	}
	if _, err := parsePrefix("https://b.example/v1/"); err != nil {
		t.Error(err)
	}
}

func TestPublic(t *testing.T) {
	for _, s := range []string{
		"127.0.0.1", "127.8.9.1", "0.0.0.0", "10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.1", "169.254.169.254",
		"100.64.0.1", "198.18.0.1", "224.0.0.1", "255.255.255.255", "240.0.0.1", "::", "::1", "::ffff:127.0.0.1",
		"::ffff:10.0.0.1",
		"::7f00:1", "fe80::1", "fc00::1", "fd00:ec2::254", "fec0::1", "ff02::1", "64:ff9b::a9fe:a9fe", "2002:7f00:1::",
		"2001:db8::1",
	} {
		if public(netip.MustParseAddr(s)) {
			t.Errorf("%s is taken for public", s)
		}
	}
	for _, s := range []string{"93.184.215.14", "8.8.8.8", "172.32.0.1", "2606:2800:21f::1", "::ffff:8.8.8.8"} {
		if !public(netip.MustParseAddr(s)) {
			t.Errorf("%s is not taken for public", s)
		}
	}
}

func FuzzAllow(f *testing.F) {
	f.Add("https://docs.example.com/v1/x")
	f.Add("https://docs.example.com@evil.org/v1/%2e%2e")
	fetcher := &Fetcher{Prefixes: []string{"https://docs.example.com/v1"}}
	f.Fuzz(func(t *testing.T, address string) {
		u, err := fetcher.Allow(address)
		if err != nil {
			return
		}
		if !strings.EqualFold(u.Hostname(), "docs.example.com") || u.Scheme != "https" || u.User != nil ||
			u.Path != "/v1" && !strings.HasPrefix(u.Path, "/v1/") || strings.Contains(u.Path, "/../") {
			t.Fatalf("%q is let through as %v", address, u)
		}
	})
}
