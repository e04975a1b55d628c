package egress

import (
	"crypto/x509"
	"slices"
	"strings"

	"hako/run/fault"
)

// Endpoint is the host name under which the proxy adds credentials to git's requests:
// http://git.hako.internal/github.com/group/project.git means https://github.com/group/project.git. In the container git
// is configured with
//
//	url.http://git.hako.internal/github.com/.insteadOf https://github.com/
//
// The name exists only between the container and the proxy.
const Endpoint = "git.hako.internal"

// Services of git that a credential can be used for.
const (
	UploadPack  = "git-upload-pack"  // clone and fetch
	ReceivePack = "git-receive-pack" // push
)

// A Credential is added to git's requests for one repository. It never enters the container.
type Credential struct {
	// Host is the server, like "github.com" or "gitlab.example.com:8443".
	Host string
	// Repository is the path of the repository, like "/group/project". It matches with and without ".git", and no
	// other.
	Repository string
	// Services are the permitted services: [UploadPack], [ReceivePack]. Empty means none.
	Services []string
	// Push permits [ReceivePack] once it is given. Nil means never.
	Push *Permission
	// Header returns the header line to add, such as Authorization. It is required, and called for every request.
	Header func() (name, value string, err error)

	// Roots are the certificate authorities for the server; nil means those of the system.
	Roots *x509.CertPool
	// InsecureTLS does not verify the server: a man in the middle gets the credential.
	InsecureTLS bool
	// PlainHTTP does not use TLS: anybody who listens gets the credential.
	PlainHTTP bool
}

// A repository is a validated credential.
type repository struct {
	Credential
	at   hostPort
	path string // without .git
}

func (c Credential) compile() (*repository, error) {
	refuse := func(why, hint string) (*repository, error) {
		return nil, &fault.Error{Kind: fault.Invalid, Op: "read git credential", Subject: oneLine(c.Host + c.Repository),
			Why: why, Hint: hint}
	}
	at, err := parseHostPort(c.Host, c.standardPort())
	switch {
	case err != nil || at.addr.IsValid() && !reachableIfListed(at.addr):
		return refuse("its host is invalid", "write it as gitlab.example.com")
	case !plainPath(c.Repository):
		return refuse("its repository is not a plain path", "write it as /group/project")
	case c.Header == nil:
		return refuse("it has no header to add", "set Header")
	}
	for _, s := range c.Services {
		if s != UploadPack && s != ReceivePack {
			return refuse("git has no service "+oneLine(s)+" that could be lent to", "use "+UploadPack+" and "+ReceivePack)
		}
	}
	return &repository{c, at, strings.TrimSuffix(c.Repository, ".git")}, nil
}

func (c Credential) standardPort() int {
	if c.PlainHTTP {
		return 80
	}
	return 443
}

// plainPath reports whether all servers read a path the same way.
func plainPath(path string) bool {
	rest, ok := strings.CutPrefix(path, "/")
	if !ok || strings.ContainsFunc(rest, func(r rune) bool {
		return r <= ' ' || r > '~' ||
			strings.ContainsRune(`%?#\;`, r)
	}) {
		return false
	}
	for segment := range strings.SplitSeq(rest, "/") {
		if segment == "" || segment == "." || segment == ".." || segment == ".git" {
			return false
		}
	}
	return true
}

// A gitRequest is a parsed request of git.
type gitRequest struct {
	at      string // the host, as it was spelled
	path    string // of the repository
	service string
	suffix  string // of the path
}

// gitSuffixes are the three URLs that a repository has for git. The older protocol, which reads single files, is not
// supported.
var gitSuffixes = []string{"/info/refs", "/" + UploadPack, "/" + ReceivePack}

// parseGitRequest parses a request for the endpoint. It accepts only requests that git itself makes, so that a
// credential is good for nothing else.
func parseGitRequest(method, path, query string) (gitRequest, error) {
	var w gitRequest
	host, rest, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	w.at, w.path = host, "/"+rest
	for _, suffix := range gitSuffixes {
		if repo, ok := strings.CutSuffix(w.path, suffix); ok {
			w.path, w.suffix = repo, suffix
			break
		}
	}
	switch {
	case w.suffix == "/info/refs" && method == "GET":
		service, ok := strings.CutPrefix(query, "service=")
		if w.service = service; ok && (service == UploadPack || service == ReceivePack) {
			return w, nil
		}
	case w.suffix != "" && w.suffix != "/info/refs" && method == "POST" && query == "":
		w.service = w.suffix[1:]
		return w, nil
	}
	return gitRequest{}, &fault.Error{Kind: fault.Denied, Op: "lend git credential",
		Why:  "it is not a request that git makes for a repository",
		Hint: "use git with the address http://" + Endpoint + "/HOST/REPOSITORY"}
}

// find returns the repository of a request. The path is compared literally, so that dots, double or encoded slashes
// do not matter.
func (r *rules) find(w gitRequest) (*repository, error) {
	refuse := func(why, hint string) error {
		return &fault.Error{Kind: fault.Denied, Op: "lend git credential", Subject: oneLine(w.at + w.path), Why: why,
			Hint: hint}
	}
	why, hint := "there is no credential for this repository", "set one for it, or clone it by https if it is public"
	for _, repo := range r.repositories {
		at, err := parseHostPort(w.at, repo.standardPort())
		if err != nil || at != repo.at || w.path != repo.path && w.path != repo.path+".git" {
			continue
		}
		if slices.Contains(repo.Services, w.service) || w.service == ReceivePack && repo.Push.Given() {
			return repo, nil
		}
		why, hint = "the credential of this repository is not for "+w.service, "let the credential permit "+w.service+
			", if that is meant"
		if w.service == ReceivePack {
			why, hint = "containers may fetch from this repository, not push to it",
				"only a container that a person has made for pushing may push (hako env up has a flag for it)"
		}
	}
	return nil, refuse(why, hint)
}
