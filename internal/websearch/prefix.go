package websearch

import (
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"hako/internal/text"
	"hako/run/fault"
)

// maxAddress is the length of the longest URL that is parsed.
const maxAddress = 8 << 10

// The hints of refusals that a longer list would avoid.
const (
	allowHint     = "to allow it: web.url_prefixes in hako.yaml"
	allowFlagHint = allowHint + ", or --allow-url PREFIX where a command has it"
)

// An allowedPrefix are the parts of a URL that are compared.
type allowedPrefix struct {
	scheme, host string
	port         int
	path         []string // decoded segments
}

// Allow parses a URL and refuses it unless a prefix covers it.
func (f *Fetcher) Allow(address string) (*url.URL, error) {
	u, at, err := locate("fetch", address)
	if err != nil {
		return nil, err
	}
	if f == nil || len(f.Prefixes) == 0 {
		return nil, &fault.Error{Kind: fault.Denied, Op: "fetch", Subject: shown(u), Why: "no URL prefix is allowed",
			Hint: allowHint, FlagHint: allowFlagHint}
	}
	for _, p := range f.Prefixes {
		prefix, err := parsePrefix(p)
		if err != nil {
			return nil, err
		}
		if prefix.covers(at) {
			return u, nil
		}
	}
	allowed := "allowed are " + some(f.Prefixes) + "; "
	return nil, &fault.Error{Kind: fault.Denied, Op: "fetch", Subject: shown(u), Why: "no allowed URL prefix covers it",
		Hint: allowed + allowHint, FlagHint: allowed + allowFlagHint}
}

func parsePrefix(prefix string) (allowedPrefix, error) {
	u, at, err := locate("allow URL prefix", prefix)
	if err != nil {
		return allowedPrefix{}, err
	}
	if u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return allowedPrefix{}, &fault.Error{Kind: fault.Invalid, Op: "allow URL prefix", Subject: prefix,
			Why: "a prefix ends with the path", Hint: "leave out what follows ? or #"}
	}
	if n := len(at.path); n > 0 && at.path[n-1] == "" {
		at.path = at.path[:n-1] // /v1/ is /v1
	}
	return at, nil
}

// covers compares part by part: as text, https://a.example would also cover https://a.example.evil.org, and /v1 would
// cover /v10.
func (p allowedPrefix) covers(at allowedPrefix) bool {
	return p.scheme == at.scheme && p.host == at.host && p.port == at.port && len(p.path) <= len(at.path) &&
		slices.Equal(p.path, at.path[:len(p.path)])
}

// locate parses a URL and refuses forms that a server may interpret otherwise than we do.
func locate(op, address string) (*url.URL, allowedPrefix, error) {
	refuse := func(why, hint string) (*url.URL, allowedPrefix, error) {
		return nil, allowedPrefix{}, &fault.Error{Kind: fault.Invalid, Op: op, Subject: cut(address), Why: why, Hint: hint}
	}
	if len(address) > maxAddress {
		return refuse("the address is longer than "+strconv.Itoa(maxAddress)+" bytes", "use a shorter one")
	}
	u, err := url.Parse(address)
	if err != nil {
		return refuse("it is not an address", "write it as https://host/path, with special characters as %XX")
	}
	if u.User != nil {
		// https://docs.example.com@evil.org/ asks evil.org.
		address = u.Redacted()
		return refuse("it carries a user name or password", "leave out what stands before @; no credentials are ever sent")
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Opaque != "" || u.Hostname() == "" {
		return refuse("only http and https addresses with a host can be fetched", "write it as https://host/path")
	}
	at := allowedPrefix{scheme: u.Scheme}
	var ok bool
	if at.host, ok = hostName(u.Hostname()); !ok {
		return refuse("its host is not a plain name or address", "write the host without zone, spaces or escapes")
	}
	if at.port, ok = portOf(u); !ok {
		return refuse("its port is not a number from 1 to 65535", "leave the port out")
	}
	if at.path, ok = segments(u); !ok {
		return refuse("its path has dot segments or encoded slashes, which servers read differently",
			"write the path without . and .. and without %2e, %2f and %5c")
	}
	return u, at, nil
}

// hostName normalizes a host for comparison. Names beyond ASCII are left as they are: a prefix has to use the same
// form.
func hostName(host string) (string, bool) {
	if a, err := netip.ParseAddr(host); err == nil {
		return a.String(), a.Zone() == ""
	}
	return strings.ToLower(host), !strings.ContainsAny(host, "%:\\/@ ")
}

func portOf(u *url.URL) (int, bool) {
	switch p := u.Port(); {
	case p != "":
		n, err := strconv.Atoi(p)
		return n, err == nil && n > 0 && n < 1<<16
	case u.Scheme == "http":
		return 80, true
	}
	return 443, true
}

// segments splits the path. It refuses what servers interpret differently: some decode twice, treat a backslash as a
// slash, or cut ";…" off a segment before they look for dots.
func segments(u *url.URL) ([]string, bool) {
	escaped := strings.ToLower(u.EscapedPath())
	for strings.Contains(escaped, "%25") {
		escaped = strings.ReplaceAll(escaped, "%25", "%")
	}
	for _, bad := range []string{"%2e", "%2f", "%5c", "\\"} {
		if strings.Contains(escaped, bad) {
			return nil, false
		}
	}
	if u.Path == "" || u.Path == "/" {
		return nil, true
	}
	if u.Path[0] != '/' || strings.Contains(u.Path, "\\") {
		return nil, false
	}
	parts := strings.Split(u.Path[1:], "/")
	for _, part := range parts {
		name, _, _ := strings.Cut(part, ";")
		if name == "." || name == ".." {
			return nil, false
		}
	}
	return parts, true
}

// shown is a URL in a message, without password.
func shown(u *url.URL) string { return cut(u.Redacted()) }

// cut makes an untrusted text safe and short for a message.
func cut(s string) string {
	return text.Line(s, 200)
}

// some lists the first few texts.
func some(list []string) string {
	const most = 10
	if len(list) <= most {
		return strings.Join(list, ", ")
	}
	return strings.Join(list[:most], ", ") + " and " + strconv.Itoa(len(list)-most) + " more"
}
