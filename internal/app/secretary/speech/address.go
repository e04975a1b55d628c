package speech

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"hako/run/fault"
)

// An address is the base URL of an engine, without a trailing slash.
type address string

// parseAddress parses the URL of an engine. The text of answers is sent there, so an engine on another
// machine must be allowed explicitly.
func parseAddress(text string, remote bool) (address, error) {
	u, err := url.Parse(strings.TrimSpace(text))
	var why, hint string
	switch {
	case err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https":
		why, hint = "the address is not one of http or https", "write it like "+defaultURL
	case u.User != nil:
		// The URL is not repeated here: it may contain a password.
		why, hint = "the address has credentials in it", "the engine wants none; write it like "+defaultURL
	case u.RawQuery != "" || u.Fragment != "":
		why, hint = "the address has something after its path", "write it like "+defaultURL
	case !remote && !isLoopback(u.Hostname()):
		why, hint = u.Host+" is not this machine", "use an engine on this machine, or permit a remote one"
	default:
		return address(u.Scheme + "://" + u.Host + strings.TrimRight(u.EscapedPath(), "/")), nil
	}
	return "", &fault.Error{Kind: fault.Invalid, Op: "ask coeiroink", Why: why, Hint: hint}
}

func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.Unmap().IsLoopback()
}

// newClient returns a client that follows no redirects and uses no proxy: both could send the text elsewhere.
func newClient(remote bool) *http.Client {
	dial := (&net.Dialer{Timeout: 5 * time.Second}).DialContext
	if !remote {
		dial = dialHere
	}
	return &http.Client{
		Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true, DisableCompression: true,
			MaxResponseHeaderBytes: 64 << 10},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// dialHere connects to this machine. It does not resolve localhost: a resolver could return another machine.
func dialHere(ctx context.Context, network, where string) (net.Conn, error) {
	dialer := &net.Dialer{Timeout: 5 * time.Second}
	host, port, err := net.SplitHostPort(where)
	if err != nil || !strings.EqualFold(host, "localhost") {
		return dialer.DialContext(ctx, network, where)
	}
	conn, err := dialer.DialContext(ctx, network, net.JoinHostPort("127.0.0.1", port))
	if err == nil {
		return conn, nil
	}
	if six, err := dialer.DialContext(ctx, network, net.JoinHostPort("::1", port)); err == nil {
		return six, nil
	}
	return nil, err
}
