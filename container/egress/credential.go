package egress

import (
	"crypto/x509"
	"slices"
	"strings"

	"hako/run/fault"
)

// Endpoint is the host under which the proxy lends credentials to git:
// http://git.hako.internal/github.com/group/project.git stands for
// https://github.com/group/project.git. Inside the container git is told so by
//
//	url.http://git.hako.internal/github.com/.insteadOf https://github.com/
//
// The name exists only between the container and the proxy.
const Endpoint = "git.hako.internal"

// The services of git that a credential can be good for.
const (
	UploadPack  = "git-upload-pack"  // clone and fetch
	ReceivePack = "git-receive-pack" // push
)

// A Credential is lent to requests that git makes for one repository. It never enters the container.
type Credential struct {
	// Host is the server, as "github.com" or "gitlab.example.com:8443".
	Host string
	// Repository is the path of the repository, as "/group/project". It stands
	// for that one, with and without ".git" at the end, and for no other.
	Repository string
	// Services are what the credential may be used for: [UploadPack], [ReceivePack]. Empty means nothing.
	Services []string
	// Push lets the credential be used for [ReceivePack] too, once it was given. Nil means never.
	Push *Permission
	// Header returns the line that is added to a request, such as
	// Authorization. It is required, and called for every request.
	Header func() (name, value string, err error)

	// Roots are the authorities that the server is checked against; nil means those of the system.
	Roots *x509.CertPool
	// InsecureTLS leaves the server unchecked: whoever is in between gets the
	// credential. False means that it is checked.
	InsecureTLS bool
	// PlainHTTP asks the server without TLS: whoever listens gets the credential. False means https.
	PlainHTTP bool
}

// A repository is a credential that makes sense.
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
		return refuse("its host makes no sense", "write it as gitlab.example.com")
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

// A gitRequest is what a request of git is about.
type gitRequest struct {
	at      string // the host, as it was spelled
	path    string // of the repository
	service string
	suffix  string // of the path
}

// gitSuffixes are the three addresses that a repository has for git. The
// older protocol, which reads single files, is not among them.
var gitSuffixes = []string{"/info/refs", "/" + UploadPack, "/" + ReceivePack}

// parseGitRequest reads a request for the endpoint. Only requests that git itself would
// make are understood, so that a credential is good for nothing else.
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

// find returns the repository that a request is for. The path is compared as it is spelled, letter by letter:
// whatever a server would make of dots, double or encoded slashes does not matter then.
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
