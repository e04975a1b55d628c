package clone

import (
	"net/url"
	"strings"

	"hako/run/fault"
)

// A grant is a repository, or all of an owner, that a credential may be used for.
type grant struct {
	scheme, host string // see origin
	path         string // without .git; with a slash at its end it is that of an owner
}

// Limit returns a keyring with the same credentials for the listed repositories only: github.com/owner/project, or
// github.com/owner/* for all that lie directly below an owner. Without a scheme it is https. Nothing listed means no
// credential at all. Setting is the name of the list, for hints.
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

// withoutPassword shows what was listed, unless there may be a password in it.
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
	if strings.Count(g.path, "/") < 2 { // an owner, of whom nothing would ever match
		return grant{}, invalidSource("", "it names no repository", writeURL)
	}
	return g, nil
}

// covers compares whole names of a parsed address, as GitHub and GitLab do: capital letters make no other repository.
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

// withheld reports whether there is a credential for an address that the limit keeps back.
func (k *Keyring) withheld(u *url.URL) bool {
	return k != nil && k.limited && k.find(u) == nil && (&Keyring{keys: k.keys}).find(u) != nil
}
