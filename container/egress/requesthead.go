package egress

import (
	"bufio"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"hako/run/fault"
)

// maxFields is the maximum number of header lines.
const maxFields = 128

// A head is a request without its body. It is not parsed by net/http, which accepts what two parsers understand
// differently: folded lines, bare line feeds, a length beside chunks. That would allow request smuggling.
type head struct {
	method, target string
	minor          int // of HTTP/1.x
	fields         []field
}

// A field is one line of a header. The name is in canonical case.
type field struct{ name, value string }

// readHead reads up to the empty line, at most limit bytes.
func readHead(in *bufio.Reader, limit int) (*head, error) {
	line, err := readLine(in, &limit)
	if err != nil {
		return nil, err
	}
	h, err := parseRequestLine(line)
	if err != nil {
		return nil, err
	}
	for {
		if line, err = readLine(in, &limit); err != nil || line == "" {
			return h, err
		}
		f, err := parseField(line)
		if err != nil {
			return nil, err
		}
		if h.fields = append(h.fields, f); len(h.fields) > maxFields {
			return nil, tooLong()
		}
	}
}

// readLine reads a line that ends in CR LF and subtracts its length from left.
func readLine(in *bufio.Reader, left *int) (string, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		if *left -= len(part); *left < 0 {
			return "", tooLong()
		}
		if err == nil {
			break
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return "", err
		}
	}
	text, ok := strings.CutSuffix(string(line), "\r\n")
	if !ok {
		return "", malformed("a line does not end with CR LF")
	}
	return text, nil
}

func parseRequestLine(line string) (*head, error) {
	parts := strings.Split(line, " ")
	if len(parts) != 3 || !isToken(parts[0]) || parts[1] == "" || strings.ContainsFunc(parts[1], control) {
		return nil, malformed("the first line is not a method, an address and a version")
	}
	h := &head{method: parts[0], target: parts[1]}
	switch parts[2] {
	case "HTTP/1.1":
		h.minor = 1
	case "HTTP/1.0":
	default:
		return nil, malformed("the version is not HTTP/1.1")
	}
	return h, nil
}

func parseField(line string) (field, error) {
	name, value, ok := strings.Cut(line, ":")
	if !ok || !isToken(name) { // a folded line begins with a blank
		return field{}, malformed("a line of the header has no plain name")
	}
	value = strings.Trim(value, " \t")
	if hasControl(value) {
		return field{}, malformed("a value of the header has control characters")
	}
	return field{http.CanonicalHeaderKey(name), value}, nil
}

func control(r rune) bool { return r < ' ' || r == 0x7f }

func hasControl(value string) bool {
	return strings.ContainsFunc(value, func(r rune) bool { return r != '\t' && control(r) })
}

func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
	})
}

// values returns the values of a header.
func (h *head) values(name string) []string {
	var all []string
	for _, f := range h.fields {
		if f.name == name {
			all = append(all, f.value)
		}
	}
	return all
}

// options returns the words of Connection and Proxy-Connection.
func (h *head) options() []string {
	return words(append(h.values("Connection"), h.values("Proxy-Connection")...))
}

// words splits lists of names.
func words(lines []string) []string {
	var all []string
	for _, line := range lines {
		for word := range strings.SplitSeq(line, ",") {
			all = append(all, http.CanonicalHeaderKey(strings.TrimSpace(word)))
		}
	}
	return all
}

// keepsAlive reports whether another request may follow.
func (h *head) keepsAlive() bool {
	return h.minor == 1 && !slices.Contains(h.options(), "Close")
}

// hopByHop are the headers that are not forwarded.
var hopByHop = []string{"Connection", "Proxy-Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization",
	"Te", "Trailer",
	"Transfer-Encoding", "Upgrade", "Http2-Settings", "Expect", "Host", "Content-Length"}

// header returns the forwarded headers. Host, length and encoding are set anew.
func (h *head) header() http.Header {
	passed := http.Header{}
	options := h.options()
	for _, f := range h.fields {
		if !slices.Contains(hopByHop, f.name) && !slices.Contains(options, f.name) {
			passed[f.name] = append(passed[f.name], f.value)
		}
	}
	if passed["User-Agent"] == nil {
		passed["User-Agent"] = nil // otherwise net/http would add its own
	}
	return passed
}

// length returns the length of the body; -1 means chunked. It must be given once, and plainly.
func (h *head) length() (int64, error) {
	chunks, lengths := h.values("Transfer-Encoding"), h.values("Content-Length")
	switch {
	case len(chunks)+len(lengths) == 0:
		return 0, nil
	case len(chunks)+len(lengths) > 1:
		return 0, malformed("the length of the body is given twice")
	case len(chunks) == 1 && (h.minor == 0 || !strings.EqualFold(chunks[0], "chunked")):
		return 0, malformed("the transfer encoding is not plain chunks")
	case len(chunks) == 1:
		return -1, nil
	}
	n, err := strconv.ParseUint(lengths[0], 10, 62)
	if err != nil {
		return 0, malformed("the length of the body is not a number")
	}
	return int64(n), nil
}

// continues reports whether the client waits for 100 Continue.
func (h *head) continues() (bool, error) {
	switch expected := h.values("Expect"); {
	case len(expected) == 0:
		return false, nil
	case len(expected) > 1 || !strings.EqualFold(expected[0], "100-continue"):
		return false, malformed("its Expect header is not supported")
	}
	return h.minor == 1, nil
}

// An address is the target of a request.
type address struct {
	hostPort
	path, query string // as spelled, without "?"
}

// address parses the target of any request but CONNECT. Only requests for the proxy's own endpoint may omit scheme
// and host.
func (h *head) address() (address, error) {
	host, rest, ok := cutScheme(h.target, "http")
	_, _, secure := cutScheme(h.target, "https")
	switch hosts := h.values("Host"); {
	case ok:
	case secure:
		return address{}, refusedTarget("https is passed on in tunnels only",
			"ask the proxy with CONNECT, as with https_proxy")
	case h.target[0] == '/' && len(hosts) == 1 && hosts[0] == Endpoint:
		host, rest = Endpoint, h.target
	default:
		return address{}, refusedTarget("the request does not say whom to ask",
			"use this as a proxy: http://host/path, or CONNECT host:443")
	}
	if strings.Contains(host, "@") {
		return address{}, refusedTarget("the address carries a user name or password", "leave out everything before @")
	}
	p, err := parseHostPort(host, 80)
	if err != nil {
		return address{}, err
	}
	a := address{hostPort: p}
	a.path, a.query, _ = strings.Cut(rest, "?")
	if _, err := url.PathUnescape(a.path); err != nil ||
		strings.ContainsFunc(rest, func(r rune) bool { return r > '~' || r == '#' }) {
		return address{}, malformed("the path has odd characters")
	}
	return a, h.checkHost(p, 80)
}

// targetHost returns the host of a target for the record, without a password.
func targetHost(target string) string {
	if _, after, ok := strings.Cut(target, "://"); ok {
		target = after
	}
	if i := strings.IndexAny(target, "/?#"); i >= 0 {
		target = target[:i]
	}
	return oneLine(target[strings.LastIndexByte(target, '@')+1:])
}

// cutScheme splits scheme://host/path after the host.
func cutScheme(target, scheme string) (host, rest string, ok bool) {
	n := len(scheme) + len("://")
	if len(target) < n || !strings.EqualFold(target[:n], scheme+"://") {
		return "", "", false
	}
	target = target[n:]
	if i := strings.IndexAny(target, "/?#"); i >= 0 {
		return target[:i], target[i:], true
	}
	return target, "", true
}

// checkHost checks that the Host header agrees with the target: the server uses the one, and the other was checked. A
// port of zero means that Host may omit it.
func (h *head) checkHost(p hostPort, port int) error {
	hosts := h.values("Host")
	if len(hosts) == 0 && (h.minor == 0 || port == 0) {
		return nil
	}
	if len(hosts) != 1 {
		return malformed("it does not have one Host")
	}
	if port == 0 {
		port = p.port
	}
	if named, err := parseHostPort(hosts[0], port); err != nil || named != p {
		return &fault.Error{Kind: fault.Denied, Op: "connect", Subject: p.String(), Why: "the Host header names another host",
			Hint: "let the Host header be the host of the address"}
	}
	return nil
}

func refusedTarget(why, hint string) error {
	return &fault.Error{Kind: fault.Denied, Op: "connect", Why: why, Hint: hint}
}

func malformed(why string) error {
	return &fault.Error{Kind: fault.Invalid, Op: "read request", Why: why, Hint: "send plain HTTP/1.1"}
}

func tooLong() error {
	return &fault.Error{Kind: fault.TooLarge, Op: "read request", Why: "its header is too long",
		Hint: "send a shorter header"}
}
