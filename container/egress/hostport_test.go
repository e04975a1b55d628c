package egress

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"hako/run/fault"
)

func TestNormalHost(t *testing.T) {
	for text, want := range map[string]string{
		"example.com": "example.com", "EXAMPLE.Com": "example.com", "example.com.": "example.com",
		"my_bucket.s3.example.com": "my_bucket.s3.example.com",
		"bücher.example":           "xn--bcher-kva.example", "BÜCHER.example": "xn--bcher-kva.example",
		"XN--Bcher-KVA.example": "xn--bcher-kva.example",
		"例え。テスト":                "xn--r8jz45g.xn--zckzah", "ｅｘａｍｐｌｅ.com": "example.com", "\u212aey.example": "key.example",
		"1.2.3.4": "1.2.3.4", "[2606:2800:0:0::1]": "2606:2800::1",
		"1e100.net": "1e100.net", "0x7f.example": "0x7f.example", "localhost": "localhost", "a.b.0x7g": "a.b.0x7g",
	} {
		got, _, err := normalHost(text)
		if err != nil || got != want {
			t.Errorf("%s: %q %v, want %q", text, got, err, want)
		}
	}
	for _, text := range oddHosts {
		if got, _, err := normalHost(text); fault.KindOf(err) != fault.Denied || fault.Hint(err) == "" {
			t.Errorf("%q became %q, %v", text, got, err)
		}
	}
}

func FuzzNormalHost(f *testing.F) {
	for _, text := range append(slices.Clone(oddHosts), "example.com:443", "[::1]:80", "bücher.example",
		"xn--bcher-kva.example:1", "a:b@c", "1.2.3.4:99999") {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := parseHostPort(text, 443)
		if err != nil {
			if strings.ContainsFunc(err.Error(), func(r rune) bool { return r < ' ' || r > '~' }) {
				t.Errorf("%q: the error says %q", text, err)
			}
			return
		}
		again, err := parseHostPort(p.String(), 0)
		if err != nil || again != p {
			t.Errorf("%q is %+v, and that is %+v, %v", text, p, again, err)
		}
		if strings.ContainsFunc(p.host, func(r rune) bool { return notHostRune(r) && r != '.' && r != ':' }) ||
			len(p.host) > 253 {
			t.Errorf("%q became %q", text, p.host)
		}
		if _, err := netip.ParseAddr(p.host); (err == nil) != p.addr.IsValid() {
			t.Errorf("%q is %+v", text, p)
		}
	})
}

func TestPublic(t *testing.T) {
	for _, text := range badAddresses {
		if public(netip.MustParseAddr(text)) {
			t.Errorf("%s passes for public", text)
		}
	}
	for _, text := range []string{"8.8.8.8", "172.32.0.1", "100.128.0.1", "2606:4700::1", "64:ff9b::808:808",
		"::ffff:8.8.8.8", "169.253.0.1"} {
		if !public(netip.MustParseAddr(text)) {
			t.Errorf("%s does not pass for public", text)
		}
	}
}

func TestTolerable(t *testing.T) {
	for text, want := range map[string]bool{
		"127.0.0.1": true, "10.1.2.3": true, "192.168.0.1": true, "fd12::1": true, "::1": true, "100.64.0.1": true,
		"8.8.8.8": true, "::ffff:10.0.0.1": true,
		"169.254.169.254": false, "169.254.1.1": false, "fe80::1": false, "fd00:ec2::254": false, "100.100.100.200": false,
		"168.63.129.16": false, "0.0.0.0": false,
		"224.0.0.1": false, "255.255.255.255": false, "192.0.2.1": false, "::ffff:169.254.169.254": false,
		"64:ff9b::a9fe:a9fe": false, "::": false,
	} {
		if reachableIfListed(netip.MustParseAddr(text)) != want {
			t.Errorf("%s: want %v", text, want)
		}
	}
}

func TestPermit(t *testing.T) {
	p := &Proxy{Allow: []string{"Example.com", "*.Example.com", "api.example.org:8443", "*.example.net:9000", "10.0.0.5",
		"[fd12::1]:3000", "bücher.example", "*.a.example"},
		Log: func(Event) error { return nil }}
	r, err := p.compile()
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"example.com:443": "", "example.com:80": "", "a.b.example.com:443": "", "api.example.org:8443": "",
		"x.example.net:9000": "", "10.0.0.5:80": "", "[fd12::1]:3000": "",
		"xn--bcher-kva.example:443": "", "x.a.example:80": "",
		"example.com:22": "port 22", "example.com.evil.org:443": "not in allowed_domains",
		"notexample.com:443": "not in allowed_domains", "api.example.org:443": "port 443",
		"example.net:9000": "not in allowed_domains", "x.example.net:443": "port 443", "10.0.0.6:80": "only names",
		"10.0.0.5:81": "only names", "[fd12::1]:80": "only names",
		"a.example:80": "not in allowed_domains", "git.hako.internal:80": "the proxy's own",
	} {
		at, err := parseHostPort(text, 0)
		if err != nil {
			t.Fatal(err)
		}
		err = r.permit(at)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want) ||
			fault.KindOf(err) != fault.Denied || fault.Hint(err) == "") {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func TestPermitNothing(t *testing.T) {
	r := &rules{}
	if err := r.permit(hostPort{host: "example.com", port: 443}); err == nil ||
		!strings.Contains(fault.Hint(err), "add example.com to allowed_domains") {
		t.Errorf("%v", err)
	}
}

func TestPermitOpen(t *testing.T) {
	r := &rules{open: true}
	for text, ok := range map[string]bool{"example.com:443": true, "x:80": true, "example.com:8080": false,
		"8.8.8.8:443": false, Endpoint + ":80": false} {
		at, _ := parseHostPort(text, 0)
		if err := r.permit(at); (err == nil) != ok {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestCheck(t *testing.T) {
	header := func() (string, string, error) { return "Authorization", "x", nil }
	log := func(Event) error { return nil }
	for name, p := range map[string]*Proxy{
		"no log":             {},
		"everything":         {Log: log, Allow: []string{"*"}},
		"a top-level domain": {Log: log, Allow: []string{"*.com"}},
		"an address":         {Log: log, Allow: []string{"https://example.com"}},
		"a path":             {Log: log, Allow: []string{"example.com/x"}},
		"nothing":            {Log: log, Allow: []string{""}},
		"a star inside":      {Log: log, Allow: []string{"a.*.com"}},
		"below an address":   {Log: log, Allow: []string{"*.1.2.3.4"}},
		"metadata":           {Log: log, Allow: []string{"169.254.169.254"}},
		"metadata, six":      {Log: log, Allow: []string{"[fd00:ec2::254]"}},
		"any port":           {Log: log, Allow: []string{"example.com:*"}},
		"the endpoint":       {Log: log, Allow: []string{Endpoint}},
		"private nonsense":   {Log: log, Private: []string{"a b"}},
		"no header":          {Log: log, Credentials: []Credential{{Host: "example.com", Repository: "/a/b"}}},
		"no host":            {Log: log, Credentials: []Credential{{Repository: "/a/b", Header: header}}},
		"metadata credential": {Log: log,
			Credentials: []Credential{{Host: "169.254.169.254", Repository: "/a/b", Header: header}}},
		"no repository":    {Log: log, Credentials: []Credential{{Host: "example.com", Header: header}}},
		"all repositories": {Log: log, Credentials: []Credential{{Host: "example.com", Repository: "/", Header: header}}},
		"dots": {Log: log,
			Credentials: []Credential{{Host: "example.com", Repository: "/a/../b", Header: header}}},
		"double slash": {Log: log,
			Credentials: []Credential{{Host: "example.com", Repository: "/a//b", Header: header}}},
		"encoded": {Log: log,
			Credentials: []Credential{{Host: "example.com", Repository: "/a%2fb", Header: header}}},
		"relative": {Log: log,
			Credentials: []Credential{{Host: "example.com", Repository: "a/b", Header: header}}},
		"unknown service": {Log: log,
			Credentials: []Credential{{Host: "example.com", Repository: "/a/b", Header: header,
				Services: []string{"git-archive"}}}},
		"slash at the end": {Log: log,
			Credentials: []Credential{{Host: "example.com", Repository: "/a/b/", Header: header}}},
		"query in a path": {Log: log,
			Credentials: []Credential{{Host: "example.com", Repository: "/a/b?x", Header: header}}},
		"the name is only git": {Log: log,
			Credentials: []Credential{{Host: "example.com", Repository: "/a/.git", Header: header}}},
	} {
		if err := p.Check(); fault.KindOf(err) != fault.Invalid || fault.Hint(err) == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	good := &Proxy{Log: log, Allow: []string{"a.example", "*.b.example:8080", "10.0.0.1"},
		Credentials: []Credential{{Host: "c.example:8443", Repository: "/a/b.git", Header: header,
			Services: []string{UploadPack}}}}
	if err := good.Check(); err != nil {
		t.Error(err)
	}
}
