package egress

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
)

// readWhole reads one request as a client's is read, and returns what is left.
func readWhole(text []byte) (h *head, content, rest []byte, err error) {
	in := bufio.NewReader(bytes.NewReader(text))
	if h, err = readHead(in, 32<<10); err != nil {
		return nil, nil, nil, err
	}
	n, err := h.length()
	if err != nil {
		return nil, nil, nil, err
	}
	b := newBody(in, n)
	b.begin, b.passed = func() error { return nil }, func(int) {}
	if content, err = io.ReadAll(b); err != nil {
		return nil, nil, nil, err
	}
	rest, err = io.ReadAll(in)
	return h, content, rest, err
}

// FuzzRequest checks that a request which passes says the same to another reader,
// and ends at the same byte for it: else a second one could hide in it.
func FuzzRequest(f *testing.F) {
	const line = "POST http://ok.example/x?y HTTP/1.1\r\nHost: ok.example\r\n"
	for _, text := range []string{
		"GET http://ok.example/ HTTP/1.1\r\nHost: ok.example\r\n\r\nGET /second HTTP/1.1\r\n\r\n",
		line + "Content-Length: 5\r\n\r\nhelloGET", line + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\nGET",
		line + "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n", line + "X: a\r\n b\r\n\r\n",
		line + "Transfer-Encoding: chunked\r\n\r\nA;x\r\n",
		line + "Transfer-Encoding: chunked\r\n\r\n", line + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello",
		line + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
		"CONNECT ok.example:443 HTTP/1.1\r\n\r\n", "GET / HTTP/1.0\r\n\r\n",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		h, content, rest, err := readWhole(text)
		if err != nil {
			return
		}
		h.address()
		if !strings.HasPrefix(h.target, "http://ok.example/") {
			return // net/http has its own ideas of other targets
		}
		in := bufio.NewReader(bytes.NewReader(text))
		req, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		body, err := io.ReadAll(req.Body)
		left, _ := io.ReadAll(in)
		if err != nil || req.Method != h.method || req.RequestURI != h.target || !bytes.Equal(body, content) ||
			!bytes.Equal(left, rest) {
			t.Errorf("%q:\n%q %q %q\n%q %q %q %v", text, h.target, content, rest, req.RequestURI, body, left, err)
		}
	})
}
