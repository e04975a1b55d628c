package egress

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// attackWorld has a listed host, one that is not, and names that lead astray.
func attackWorld(t *testing.T) *world {
	t.Helper()
	site := httptest.NewServer(
		http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "reached ", r.Host) }))
	t.Cleanup(site.Close)
	w := newWorld()
	w.host("ok.example", "93.184.215.14", "80", site.URL)
	w.host("other.example", "93.184.215.15", "80", site.URL)
	for i, a := range badAddresses {
		name := fmt.Sprintf("bad%d.example", i)
		w.names[name] = a
		w.servers[strings.Join([]string{a, "80"}, ":")] = site.Listener.Addr().String()
		w.names["mixed-"+name] = "93.184.215.14," + a
	}
	return w
}

// badAddresses are all that no name may lead to.
var badAddresses = []string{
	"127.0.0.1", "127.255.255.254", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "169.254.0.1",
	"169.254.169.254", "169.254.170.2",
	"100.64.0.1", "100.127.255.255", "100.100.100.200", "168.63.129.16", "0.0.0.0", "0.1.2.3", "224.0.0.1",
	"239.255.255.250", "240.0.0.1", "255.255.255.255",
	"192.0.0.192", "192.0.2.1", "198.51.100.7", "203.0.113.9", "198.18.0.1", "192.88.99.1",
	"::", "::1", "fe80::1", "fec0::1", "fd00::1", "fc00::1", "fd00:ec2::254", "fd20:ce::254", "ff02::1", "2001:db8::1",
	"3fff::1", "100::1",
	"::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::127.0.0.1", "64:ff9b::7f00:1",
	"64:ff9b::a9fe:a9fe", "64:ff9b:1::1",
	"2002:7f00:1::1", "2002:a00:1::", "2001::1", "4000::1",
}

// oddHosts are spellings of a host that are refused as such. Most are 127.0.0.1 to
// somebody.
var oddHosts = []string{
	"0x7f.1", "0x7f000001", "2130706433", "017700000001", "0177.0.0.1", "127.1", "127.0.1", "127.0.0.01", "127.0.0.1.",
	"0", "1", "0.0.0.0.", "256.256.256.256",
	"1.2.3.4.5", "ok.example.0x1", "ok.example.1", "ok.example..", "..", ".", ".ok.example", "ok..example",
	"ok.example%00.evil.example", "ok.example%2eevil",
	"ok.example\\@evil.example", "ok.example;evil.example", "evil_\x80.example", "ok.example,evil.example",
	"[::ffff:127.0.0.1]", "[fe80::1%25eth0]", "[::1", "::1",
	"[127.0.0.1]", "[::1]x", "\uff11\uff12\uff17.0.0.1", "127\u30020\u30020\u30021", "\u2460.0.0.1", "xn--a", "\xfa",
	"ok\xff.example", "xn--\u00fc", strings.Repeat("a", 64) + ".example",
	strings.Repeat("a.", 130) + "example", "ok.\u00a0example", "-\u200b.example\u2028",
}

func TestAttackHosts(t *testing.T) {
	w := attackWorld(t)
	dial := w.serve(t, &Proxy{Allow: []string{"ok.example"}, Open: true})
	hosts := slices.Clone(oddHosts)
	for i := range badAddresses {
		hosts = append(hosts, fmt.Sprintf("bad%d.example", i), fmt.Sprintf("mixed-bad%d.example", i))
	}
	for _, a := range badAddresses {
		if strings.Contains(a, ":") {
			a = "[" + a + "]"
		}
		hosts = append(hosts, a)
	}
	hosts = append(hosts, "93.184.215.14", "[2606:2800:220:1::1]", "git.hako.internal", "GIT.hako.Internal.")
	for _, host := range hosts {
		for _, request := range []string{
			"CONNECT " + host + ":443 HTTP/1.1\r\nHost: " + host + ":443\r\n\r\n",
			"CONNECT " + host + ":443 HTTP/1.1\r\n\r\n",
			"GET http://" + host + "/ HTTP/1.1\r\nHost: " + host + "\r\n\r\n",
			"GET http://" + host + "/ HTTP/1.0\r\n\r\n",
		} {
			resp, text := ask(t, dial, request)
			if resp.StatusCode != 403 && resp.StatusCode != 400 || !strings.Contains(text, "hint: ") {
				t.Errorf("%q: %s %s", request, resp.Status, text)
			}
		}
	}
	if dialled := w.dials(); len(dialled) > 0 {
		t.Errorf("dialled %q", dialled)
	}
	if told := w.told(t, Denied, 4*len(hosts)); weight(told) != 4*len(hosts) {
		t.Errorf("%d denials on record, want %d", weight(told), 4*len(hosts))
	}
	if resp, text := get(t, dial, "http://OK.Example./"); resp.StatusCode != 200 || text != "reached ok.example" {
		t.Errorf("the good one: %s %s", resp.Status, text)
	}
}

// TestAttackRequests sends requests that two readers may understand differently,
// and others that are not for a proxy. None reaches a server.
func TestAttackRequests(t *testing.T) {
	w := attackWorld(t)
	dial := w.serve(t, &Proxy{Allow: []string{"ok.example"}})
	const host = "Host: ok.example\r\n"
	const line = "POST http://ok.example/ HTTP/1.1\r\n"
	tests := []struct {
		name, request string
		status        int
	}{
		{"length and chunks", line + host + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
		{"chunks and length", line + host + "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n", 400},
		{"two lengths", line + host + "Content-Length: 5\r\nContent-Length: 6\r\n\r\n", 400},
		{"the same length twice", line + host + "Content-Length: 5\r\nContent-Length: 5\r\n\r\n", 400},
		{"a list of lengths", line + host + "Content-Length: 5, 5\r\n\r\n", 400},
		{"a length below zero", line + host + "Content-Length: -1\r\n\r\n", 400},
		{"a length with a sign", line + host + "Content-Length: +5\r\n\r\n", 400},
		{"a length in hex", line + host + "Content-Length: 0x5\r\n\r\n", 400},
		{"a huge length", line + host + "Content-Length: 99999999999999999999\r\n\r\n", 400},
		{"no length", line + host + "Content-Length:\r\n\r\n", 400},
		{"a length with underscore", line + host + "Content-Length: 1_0\r\n\r\n", 400},
		{"two encodings", line + host + "Transfer-Encoding: gzip, chunked\r\n\r\n", 400},
		{"identity", line + host + "Transfer-Encoding: identity\r\n\r\n", 400},
		{"encoding twice", line + host + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
		{"odd encoding", line + host + "Transfer-Encoding: xchunked\r\n\r\n", 400},
		{"encoding with tail", line + host + "Transfer-Encoding: chunked;x\r\n\r\n", 400},
		{"encoding after control", line + host + "Transfer-Encoding: \x0bchunked\r\n\r\n", 400},
		{"blank before colon", line + host + "Transfer-Encoding : chunked\r\n\r\n", 400},
		{"folded", line + host + "X: a\r\n b\r\n\r\n", 400},
		{"folded encoding", line + host + "Transfer-Encoding:\r\n chunked\r\n\r\n", 400},
		{"folded first", line + " " + host + "\r\n", 400},
		{"bare LF", line + "Host: ok.example\n\r\n", 400},
		{"bare LF at the end", line + host + "\n", 400},
		{"bare LF in the first line", "GET http://ok.example/ HTTP/1.1\n" + host + "\r\n", 400},
		{"bare CR", line + host + "X: a\rHost: other.example\r\n\r\n", 400},
		{"NUL", line + host + "X: a\x00b\r\n\r\n", 400},
		{"no colon", line + host + "hello\r\n\r\n", 400},
		{"no name", line + host + ": x\r\n\r\n", 400},
		{"name with space", line + host + "X Y: z\r\n\r\n", 400},
		{"chunks in 1.0", "POST http://ok.example/ HTTP/1.0\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
		{"no host", line + "\r\n", 400},
		{"two hosts", line + host + host + "\r\n", 400},
		{"another host", line + "Host: other.example\r\n\r\n", 403},
		{"another port in host", line + "Host: ok.example:8080\r\n\r\n", 403},
		{"empty host", line + "Host:\r\n\r\n", 403},
		{"host with user", line + "Host: x@ok.example\r\n\r\n", 403},
		{"user in address", "GET http://ok.example@other.example/ HTTP/1.1\r\nHost: other.example\r\n\r\n", 403},
		{"password in address", "GET http://u:hunter22@ok.example/ HTTP/1.1\r\n" + host + "\r\n", 403},
		{"host not listed", "GET http://other.example/ HTTP/1.1\r\nHost: other.example\r\n\r\n", 403},
		{"below a listed one", "GET http://a.ok.example/ HTTP/1.1\r\nHost: a.ok.example\r\n\r\n", 403},
		{"ends like a listed one", "GET http://notok.example/ HTTP/1.1\r\nHost: notok.example\r\n\r\n", 403},
		{"another port", "GET http://ok.example:8080/ HTTP/1.1\r\nHost: ok.example:8080\r\n\r\n", 403},
		{"port zero", "GET http://ok.example:0/ HTTP/1.1\r\nHost: ok.example:0\r\n\r\n", 403},
		{"port too high", "GET http://ok.example:65616/ HTTP/1.1\r\nHost: ok.example:65616\r\n\r\n", 403},
		{"port with zeros", "GET http://ok.example:080/ HTTP/1.1\r\nHost: ok.example:080\r\n\r\n", 403},
		{"empty port", "GET http://ok.example:/ HTTP/1.1\r\nHost: ok.example:\r\n\r\n", 403},
		{"no scheme", "GET / HTTP/1.1\r\n" + host + "\r\n", 403},
		{"star", "OPTIONS * HTTP/1.1\r\n" + host + "\r\n", 403},
		{"https in clear", "GET https://ok.example/ HTTP/1.1\r\n" + host + "\r\n", 403},
		{"ftp", "GET ftp://ok.example/ HTTP/1.1\r\n" + host + "\r\n", 403},
		{"file", "GET file:///etc/passwd HTTP/1.1\r\n" + host + "\r\n", 403},
		{"no host in address", "GET http:///x HTTP/1.1\r\n" + host + "\r\n", 403},
		{"query instead of path", "GET http://other.example?@ok.example/ HTTP/1.1\r\n" + host + "\r\n", 403},
		{"fragment", "GET http://other.example#@ok.example/ HTTP/1.1\r\n" + host + "\r\n", 400},
		{"backslash", "GET http://other.example\\@ok.example/ HTTP/1.1\r\n" + host + "\r\n", 403},
		{"bad escape", "GET http://ok.example/%zz HTTP/1.1\r\n" + host + "\r\n", 400},
		{"bytes in the path", "GET http://ok.example/\xff HTTP/1.1\r\n" + host + "\r\n", 400},
		{"four words", "GET http://ok.example/ x HTTP/1.1\r\n" + host + "\r\n", 400},
		{"two words", "GET http://ok.example/\r\n" + host + "\r\n", 400},
		{"tab between", "GET\thttp://ok.example/ HTTP/1.1\r\n" + host + "\r\n", 400},
		{"HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400},
		{"HTTP/0.9", "GET http://ok.example/ HTTP/0.9\r\n\r\n", 400},
		{"empty line first", "\r\nGET http://ok.example/ HTTP/1.1\r\n" + host + "\r\n", 400},
		{"not HTTP", "SSH-2.0-OpenSSH_9.2\r\n", 400},
		{"odd expectation", line + host + "Expect: 200-ok\r\n\r\n", 400},
		{"long line", line + host + "X: " + strings.Repeat("x", 40_000) + "\r\n\r\n", 431},
		{"many lines", line + host + strings.Repeat("X: y\r\n", 200) + "\r\n", 431},
		{"long address", "GET http://ok.example/" + strings.Repeat("x", 40_000) + " HTTP/1.1\r\n" + host + "\r\n", 431},
		{"CONNECT without port", "CONNECT ok.example HTTP/1.1\r\n\r\n", 400},
		{"CONNECT to another port", "CONNECT ok.example:22 HTTP/1.1\r\n\r\n", 403},
		{"CONNECT with another host", "CONNECT ok.example:443 HTTP/1.1\r\nHost: other.example:443\r\n\r\n", 403},
		{"CONNECT with another port in host", "CONNECT ok.example:443 HTTP/1.1\r\nHost: ok.example:444\r\n\r\n", 403},
		{"CONNECT with two hosts", "CONNECT ok.example:443 HTTP/1.1\r\n" + host + host + "\r\n", 400},
		{"CONNECT with body", "CONNECT ok.example:443 HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc", 400},
		{"CONNECT with chunks", "CONNECT ok.example:443 HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
		{"CONNECT to an address in full", "CONNECT http://ok.example:443/ HTTP/1.1\r\n\r\n", 403},
		{"CONNECT to a path", "CONNECT ok.example:443/x HTTP/1.1\r\n\r\n", 403},
		{"CONNECT to the endpoint", "CONNECT git.hako.internal:80 HTTP/1.1\r\n\r\n", 403},
		{"CONNECT with a user", "CONNECT u:hunter22@ok.example:443 HTTP/1.1\r\n\r\n", 403},
	}
	for _, tt := range tests {
		resp, text := ask(t, dial, tt.request)
		if resp.StatusCode != tt.status || !strings.HasPrefix(text, "hako: ") || strings.Contains(text, "hunter22") {
			t.Errorf("%s: %s %s", tt.name, resp.Status, text)
		}
	}
	if dialled := w.dials(); len(dialled) > 0 {
		t.Errorf("dialled %q", dialled)
	}
	for _, e := range w.told(t, Denied, len(tests)) {
		if e.Why == "" || strings.Contains(fmt.Sprint(e), "hunter22") {
			t.Errorf("on record: %+v", e)
		}
	}
}

// TestAttackChunks sends bodies whose end is unclear. The server never gets one
// as a whole, and nothing after it is taken for a request.
func TestAttackChunks(t *testing.T) {
	for _, body := range []string{
		"5\nhello\r\n0\r\n\r\n", "5;x=y\r\nhello\r\n0\r\n\r\n", "5 \r\nhello\r\n0\r\n\r\n", "0x5\r\nhello\r\n0\r\n\r\n",
		"+5\r\nhello\r\n0\r\n\r\n", "-5\r\nhello\r\n0\r\n\r\n",
		"5\r\nhello!\r\n0\r\n\r\n", "5\r\nhello\n0\r\n\r\n", "5\r\nhello\r\n0\r\nHost: evil\r\n\r\n", "5\r\nhello\r\n0\r\n\n",
		"\r\nhello\r\n0\r\n\r\n",
		"FFFFFFFFFFFFFFFFFF\r\nhello\r\n0\r\n\r\n", "ffffffffffffffff\r\nhello\r\n0\r\n\r\n", "5_0\r\nhello\r\n0\r\n\r\n",
		"00000000000000000000005\r\nhello\r\n0\r\n\r\n",
	} {
		t.Run(fmt.Sprintf("%.20q", body), func(t *testing.T) {
			bodies := make(chan error, 2)
			site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, err := http.MaxBytesReader(w, r.Body, 1<<20).Read(make([]byte, 100))
				for err == nil {
					_, err = r.Body.Read(make([]byte, 100))
				}
				bodies <- err
			}))
			defer site.Close()
			w := newWorld()
			w.host("ok.example", "93.184.215.14", "80", site.URL)
			dial := w.serve(t, &Proxy{Allow: []string{"ok.example"}})
			c := open(t, dial)
			c.send("POST http://ok.example/ HTTP/1.1\r\nHost: ok.example\r\nTransfer-Encoding: chunked\r\n\r\n" + body +
				"GET http://ok.example/second HTTP/1.1\r\nHost: ok.example\r\n\r\n")
			resp, text := c.answer("POST")
			if resp.StatusCode != 400 && resp.StatusCode != 431 || !resp.Close {
				t.Errorf("%s %s", resp.Status, text)
			}
			site.Close()
			close(bodies)
			for err := range bodies {
				if err.Error() == "EOF" {
					t.Error("the server got a whole body")
				}
			}
		})
	}
}
