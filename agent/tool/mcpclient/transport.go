package mcpclient

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"hako/internal/text"
)

// web returns the transport to a server over HTTP.
func (m *serverConn) web(l *session) mcp.Transport {
	wire := http.DefaultTransport.(*http.Transport).Clone()
	l.how = func() string { return "the connection to it was lost" }
	l.end = func() {
		if l.session != nil {
			_ = l.session.Close()
		}
		wire.CloseIdleConnections()
	}
	client := &http.Client{
		Transport: &headerTransport{m.Header, wire, l},
		// The headers hold keys, which no other server may get.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return &mcp.StreamableClientTransport{
		Endpoint: m.URL, HTTPClient: client,
		DisableStandaloneSSE: true, // no unsolicited messages
		MaxEventSize:         -1,   // responseBody has a limit
		MaxRetries:           -1,   // a truncated response ends the session
	}
}

// A headerTransport adds the headers of a server to requests and bounds the responses.
type headerTransport struct {
	header map[string]string
	wire   http.RoundTripper
	link   *session
}

// RoundTrip implements [http.RoundTripper].
func (v *headerTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	for name, value := range v.header {
		req.Header.Set(name, value)
	}
	resp, err := v.wire.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if req.Method == http.MethodPost {
		v.link.odd.Store(odd(resp))
	}
	resp.Body = &responseBody{ReadCloser: resp.Body, req: req, link: v.link, left: maxMessage}
	return resp, nil
}

// odd says why a response cannot be one of MCP; empty means that it can.
func odd(resp *http.Response) string {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch {
	case resp.StatusCode >= 300:
		return text.Line(fmt.Sprintf("it answered %d %s", resp.StatusCode, http.StatusText(resp.StatusCode)), maxLine)
	case resp.StatusCode == http.StatusOK && kind != "application/json" && kind != "text/event-stream":
		return text.Line("it answered with "+cmp.Or(kind, "something unknown")+", and that is not MCP", maxLine)
	}
	return ""
}

// A responseBody is the body of a response. If it is truncated, the session is lost: otherwise the call would only end
// by its timeout.
type responseBody struct {
	io.ReadCloser
	req  *http.Request
	link *session
	left int
}

var errLarge = errors.New("it sent more than 16 MB at once")

// Read implements [io.Reader].
func (a *responseBody) Read(b []byte) (int, error) {
	if a.left <= 0 {
		a.link.lose(errLarge)
		return 0, errLarge
	}
	n, err := a.ReadCloser.Read(b[:min(len(b), a.left)])
	a.left -= n
	if err != nil && err != io.EOF && a.req.Context().Err() == nil {
		a.link.lose(err)
	}
	return n, err
}
