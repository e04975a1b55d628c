package clone

import (
	"net/url"
	"strings"

	"hako/run/fault"
)

// A grant is a repository, or all repositories of an owner, that credentials may be used for.
type grant struct {
	scheme, host string // see origin
	path         string // without .git; a trailing slash means all of an owner
}

// Limit returns a keyring that uses the credentials only for the listed repositories: github.com/owner/project, or
// github.com/owner/* for all of an owner. The default scheme is https. An empty list means no credential at all.
// Setting is the name of the list, for hints.
func (k *Keyring) Limit(setting string, list []string) (*Keyring, error) {
	limited := &Keyring{setting: setting, limited: true}
	if k != nil {
		limited.keys, limited.out = k.keys, k.out
	}
	for _, text := range list {
		g, err := parseGrant(text)
		if err != nil {
			return nil, &fault.Error{Kind: fault.Invalid, Op: "read " + setting, Subject: withoutPassword(text),
				Why:  "it is neither a repository nor all of an owner",
				Hint: "write github.com/owner/project or github.com/owner/*"}
		}
		limited.grants = append(limited.grants, g)
	}
	return limited, nil
}

// withoutPassword returns an entry for a message, unless it may contain a password.
func withoutPassword(text string) string {
	if strings.Contains(text, "@") {
		return ""
	}
	return oneLine(text)
}

func parseGrant(text string) (grant, error) {
	address := text
	if !strings.Contains(address, "://") {
		address = "https://" + address
	}
	address, all := strings.CutSuffix(address, "/*")
	u, err := parseURL(address)
	if err != nil {
		return grant{}, err
	}
	g := grant{path: strings.TrimSuffix(u.Path, ".git")}
	g.scheme, g.host = origin(u)
	if all {
		g.path = u.Path + "/"
	}
	if strings.Count(g.path, "/") < 2 { // it names only an owner, and would never match
		return grant{}, invalidSource("", "it names no repository", writeURL)
	}
	return g, nil
}

// covers compares whole names, ignoring case as GitHub and GitLab do.
func (g grant) covers(u *url.URL) bool {
	if scheme, host := origin(u); scheme != g.scheme || host != g.host {
		return false
	}
	path := strings.TrimSuffix(strings.TrimSuffix(u.Path, "/"), ".git")
	if !strings.HasSuffix(g.path, "/") {
		return strings.EqualFold(path, g.path)
	}
	owner, name := path[:strings.LastIndexByte(path, '/')+1], path[strings.LastIndexByte(path, '/')+1:]
	return name != "" && strings.EqualFold(owner, g.path)
}

// withheld reports whether the limit prevents the use of a credential.
func (k *Keyring) withheld(u *url.URL) bool {
	return k != nil && k.limited && k.find(u) == nil && (&Keyring{keys: k.keys}).find(u) != nil
}
