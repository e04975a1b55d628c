package netlisten

import (
	"strings"
	"testing"

	"hako/run/fault"
)

func TestAddress(t *testing.T) {
	for _, c := range []struct {
		addr   string
		public bool
		want   string
		kind   fault.Kind
	}{
		{"", false, "127.0.0.1:0", 0},
		{"", true, ":0", 0},
		{":9464", false, "127.0.0.1:9464", 0},
		{":9464", true, ":9464", 0},
		{"localhost:1", false, "127.0.0.1:1", 0},
		{"LocalHost:1", true, "127.0.0.1:1", 0},
		{"127.8.8.8:1", false, "127.8.8.8:1", 0},
		{"[::1]:1", false, "[::1]:1", 0},
		{"[::ffff:127.0.0.1]:1", false, "[::ffff:127.0.0.1]:1", 0},
		{"0.0.0.0:1", false, "", fault.Denied},
		{"0.0.0.0:1", true, "0.0.0.0:1", 0},
		{"[::]:1", false, "", fault.Denied},
		{"[::ffff:0.0.0.0]:1", false, "", fault.Denied},
		{"192.168.1.2:1", false, "", fault.Denied},
		{"localhost.example.com:1", false, "", fault.Denied},
		{"box:1", true, "box:1", 0},
		{"127.1:1", false, "", fault.Denied},
		{"127.0.0.1", false, "", fault.Invalid},
		{"127.0.0.1:", false, "", fault.Invalid},
		{"127.0.0.1:http", false, "", fault.Invalid},
		{"127.0.0.1:65536", true, "", fault.Invalid},
		{"127.0.0.1:-1", false, "", fault.Invalid},
		{"::1:80", false, "", fault.Invalid},
	} {
		got, err := (Address{Addr: c.addr, Public: c.public, Example: "127.0.0.1:80", Hint: "stay at home"}).Address()
		if got != c.want || fault.KindOf(err) != c.kind || err != nil && fault.Hint(err) == "" {
			t.Errorf("%q, %v: %q, %v", c.addr, c.public, got, err)
		}
	}
}

func TestTLSNeedsNoPermission(t *testing.T) {
	for addr, want := range map[string]string{"10.0.0.1:80": "10.0.0.1:80", ":80": "127.0.0.1:80"} {
		if got, err := (Address{Addr: addr, TLS: true}).Address(); got != want || err != nil {
			t.Errorf("%s: %s, %v", addr, got, err)
		}
	}
}

func TestHostOf(t *testing.T) {
	for header, want := range map[string]string{"a:1": "a", "a": "a", "[::1]:1": "::1", "[::1]": "::1", "": ""} {
		if got := HostOf(header); got != want {
			t.Errorf("%q: %q", header, got)
		}
	}
}

// Who names a port that there is not is told which there are.
func TestNoSuchPort(t *testing.T) {
	for addr, want := range map[string]string{
		"127.0.0.1:70000":          "listen on 127.0.0.1:70000: there is no port 70000",
		"127.0.0.1:-1":             "listen on 127.0.0.1:-1: there is no port -1",
		":99999999999999999999999": "listen on :99999999999999999999999: there is no port 99999999999999999999999",
		"127.0.0.1:http":           "listen on 127.0.0.1:http: the address is not host:port",
	} {
		_, err := Address{Addr: addr, Example: "127.0.0.1:80"}.Address()
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v", addr, err)
		}
		if named := strings.Contains(fault.Hint(err), "from 1 to 65535"); named != strings.Contains(want, "no port") {
			t.Errorf("%s: %s", addr, fault.Hint(err))
		}
	}
}
