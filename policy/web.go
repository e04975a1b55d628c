package policy

import (
	"net/url"
	"path"
	"strings"

	"hako/internal/lazyregexp"
)

// judgeDownloads judges the file names that downloads get by default.
func (c *command) judgeDownloads(addresses []word) *finding {
	for _, w := range addresses {
		for _, name := range savedAs(w.text) {
			if f := c.refuseProtected(literal(name)); f != nil && c.p.opts.Root != "" {
				return f
			}
		}
	}
	return nil
}

// savedAs returns the names that a download may get: without query and fragment, unescaped. For {a,b} and [a-z]
// of curl, it returns the protected names that may result.
func savedAs(address string) (names []string) {
	if at := strings.IndexAny(address, "?#"); at >= 0 {
		address = address[:at]
	}
	if plain, err := url.PathUnescape(address); err == nil {
		address = plain
	}
	base := path.Base(address)
	pattern := curlGlob.Get().ReplaceAllString(base, "*")
	for _, name := range strings.Fields(".git HEAD" + protectedFiles) {
		if ok, _ := path.Match(pattern, name); ok && pattern != base {
			names = append(names, name)
		}
	}
	return append(names, base)
}

var curlGlob = lazyregexp.New(`\{[^}]*\}|\[[^\]]*\]`)

// judgeCurl judges what the list of options cannot express.
func (c *command) judgeCurl(a *arguments) *finding {
	urls := append(valuesOf(a, "--url"), a.operands...)
	for _, name := range append(valuesOf(a, "-o"), valuesOf(a, "--output")...) {
		if strings.Contains(name.text, "#") && !a.has("-g", "--globoff") { // -o '#1' takes its name out of the address
			return c.refuseOption("-o", "it would write a file whose name is in the address", "name the file without #")
		}
	}
	if f := c.judgeFromDir(a, "--output-dir"); f != nil {
		return f
	}
	if a.has("-O", "--remote-name") {
		if f := c.judgeDownloads(urls); f != nil {
			return f
		}
	}
	return c.judgeAddresses(urls)
}

// valuesOf returns all values of an option.
func valuesOf(a *arguments, name string) (all []word) {
	for _, o := range a.options {
		if o.name == name {
			all = append(all, o.val)
		}
	}
	return all
}

// judgeAddresses judges the operands of curl and wget: web addresses only.
func (c *command) judgeAddresses(args []word) *finding {
	for _, w := range args {
		if f := c.judgeURL(w); f != nil {
			return f
		}
		if c.p.opts.Root != "" && !isWebAddress(w.text) {
			return refusal(c.words[0].text+": address", "only http and https addresses are allowed",
				"write the address with https://")
		}
	}
	return nil
}

// isWebAddress reports whether text is http://…, https://… or host:port/…. The scheme is everything before the
// first colon: file:/x#=http://y is a file. Braces before it could build another scheme.
func isWebAddress(text string) bool {
	scheme, rest, colon := strings.Cut(text, ":")
	if !colon {
		return !strings.HasPrefix(text, "/")
	}
	switch strings.ToLower(scheme) {
	case "http", "https":
		return strings.HasPrefix(rest, "//")
	case "file", "ftp", "ftps", "scp", "sftp", "smb", "smbs", "telnet", "dict", "gopher", "gophers", "ldap", "ldaps",
		"tftp", "imap", "pop3", "smtp", "rtsp", "mqtt", "ws", "wss":
		return false
	}
	return rest != "" && rest[0] >= '0' && rest[0] <= '9' && !strings.ContainsAny(text, "{[/") ||
		isPortThenPath(scheme, rest)
}

// isPortThenPath recognizes localhost:8080/index.html.
func isPortThenPath(host, rest string) bool {
	port, _, _ := strings.Cut(rest, "/")
	return port != "" && strings.Trim(port, "0123456789") == "" && !strings.ContainsAny(host, "{[/")
}
