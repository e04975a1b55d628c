package clone

import (
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"hako/internal/text"
	"hako/run/fault"
)

func invalidSource(subject, why, hint string) error {
	return &fault.Error{Kind: fault.Invalid, Op: "clone", Subject: subject, Why: why, Hint: hint}
}

const (
	maxURL    = 2000
	maxBranch = 244
	writeURL  = "write it as https://github.com/group/project.git"
)

// parseURL parses the address of a repository. Its errors never repeat a password, nor anything that could not be
// parsed.
func parseURL(text string) (*url.URL, error) {
	if err := checkSpelling(text); err != nil {
		return nil, err
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, invalidSource("", "the address cannot be read", writeURL)
	case u.User != nil || strings.Contains(u.Host, "@"):
		return nil, invalidSource("", "there is a user or a password in the address",
			"leave it out and set GITHUB_PERSONAL_ACCESS_TOKEN or GITLAB_PERSONAL_ACCESS_TOKEN")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, refusedScheme(u)
	case u.Hostname() == "" || strings.HasPrefix(u.Host, "-") || strings.ContainsFunc(u.Host, notOfHost):
		return nil, invalidSource("", "the address names no server", writeURL)
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || strings.Contains(text, "#"):
		return nil, invalidSource(u.Scheme+"://"+u.Host+u.Path, "it is followed by ? or #",
			"leave that out: a branch is named apart from the address")
	case !plainPath(u.EscapedPath()):
		return nil, invalidSource(u.Scheme+"://"+u.Host, "its path is not that of a repository", writeURL)
	}
	u.Host, u.Path, u.RawPath = strings.ToLower(u.Host), strings.TrimSuffix(u.Path, "/"), ""
	return u, nil
}

// hostLetters are the characters of names, addresses and ports. Others, like the quotes that url.Parse accepts, would
// end up in settings and headers.
const hostLetters = "abcdefghijklmnopqrstuvwxyz0123456789.-_:[]"

func notOfHost(r rune) bool { return !strings.ContainsRune(hostLetters, unicode.ToLower(r)) }

// checkSpelling refuses what git, or a terminal, would not take for a URL.
func checkSpelling(text string) error {
	scheme, _, _ := strings.Cut(text, ":")
	switch {
	case text == "":
		return invalidSource("", "there is no address", writeURL)
	case strings.HasPrefix(text, "-"):
		return invalidSource("", "the address begins with a dash, so that git would take it for an option", writeURL)
	case len(text) > maxURL:
		return invalidSource("", "the address is too long", writeURL)
	case !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }):
		return invalidSource("", "there are blanks, control or unusual characters in the address",
			"write unusual letters as %E3%81%82")
	case strings.HasPrefix(text[len(scheme):], "::"):
		return invalidSource("", "the address names a program that git would run ("+oneLine(scheme)+"::)", writeURL)
	case !strings.Contains(text, "://") && strings.Contains(text, ":"):
		return invalidSource("", "ssh is not supported: there is no key to lend", writeURL)
	case !strings.Contains(text, "://"):
		return invalidSource("", "it is not the address of a server", writeURL+"; files of this machine are not cloned")
	}
	return nil
}

func refusedScheme(u *url.URL) error {
	switch u.Scheme {
	case "ssh", "git+ssh", "ssh+git":
		return invalidSource("", "ssh is not supported: there is no key to lend",
			"use the https address of the same repository, and a token")
	case "file":
		return invalidSource("", "files of this machine are not cloned", writeURL)
	}
	return invalidSource("", oneLine(u.Scheme)+":// is not supported", writeURL)
}

// plainPath reports whether all servers, and the proxy, read a path the same way.
func plainPath(path string) bool {
	rest, ok := strings.CutPrefix(strings.TrimSuffix(path, "/"), "/")
	if !ok || strings.ContainsFunc(rest, notPlain) {
		return false
	}
	for segment := range strings.SplitSeq(rest, "/") {
		if segment == "" || segment == "." || segment == ".." || segment == ".git" {
			return false
		}
	}
	return true
}

// notPlain reports whether a character has more than one spelling in URLs.
func notPlain(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-._~+@,=/", r)
}

// checkBranch follows the rules of git check-ref-format.
func checkBranch(name string) error {
	why := branchProblem(name)
	if why == "" {
		return nil
	}
	return &fault.Error{Kind: fault.Invalid, Op: "clone branch", Subject: oneLine(name), Why: why,
		Hint: "give the name of a branch as the server shows it, like main or feature/login"}
}

func branchProblem(name string) string {
	switch {
	case strings.HasPrefix(name, "-"):
		return "it begins with a dash, so that git would take it for an option"
	case len(name) > maxBranch:
		return "it is too long"
	case !utf8.ValidString(name):
		return "it is not UTF-8"
	case name == "HEAD" || name == "@":
		return "it is what git calls the commit that is checked out"
	case strings.ContainsFunc(name, func(r rune) bool {
		return unicode.IsControl(r) ||
			strings.ContainsRune(" ~^:?*[\\", r)
	}):
		return `there is a control character, a blank or one of ~^:?*[\ in it`
	case strings.Contains(name, "..") || strings.Contains(name, "@{") || strings.HasSuffix(name, "."):
		return "there is .. or @{ in it, or a dot at its end"
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || strings.HasPrefix(part, ".") || strings.HasSuffix(part, ".lock") {
			return "a part of it is empty, begins with a dot or ends with .lock"
		}
	}
	return ""
}

// checkStart refuses invalid references and commits.
func checkStart(src Source) error {
	switch why := refProblem(src.Start); {
	case src.Start != "" && why != "":
		return &fault.Error{Kind: fault.Invalid, Op: "clone reference", Subject: oneLine(src.Start), Why: why,
			Hint: "write it in full, like refs/pull/7/head"}
	case src.Commit != "" && !isHash(src.Commit):
		return &fault.Error{Kind: fault.Invalid, Op: "clone commit", Subject: oneLine(src.Commit),
			Why: "it is not the hash of a commit", Hint: "write all of its 40 or 64 digits"}
	case (src.Start != "" || src.Commit != "") && src.Target != "" && src.Branch == src.Target:
		return &fault.Error{Kind: fault.Invalid, Op: "clone branch", Subject: oneLine(src.Branch),
			Why: "it is the name of both the start and the target", Hint: "give it a name of its own"}
	}
	return nil
}

// refProblem returns what is wrong with a full reference; empty means nothing.
func refProblem(name string) string {
	rest, ok := strings.CutPrefix(name, "refs/")
	if !ok || !strings.Contains(rest, "/") {
		return "it does not begin with refs/ and the name of a kind"
	}
	return branchProblem(rest)
}

// oneLine makes text of others safe for a message.
func oneLine(s string) string { return text.Shorten(text.RecordLine(s), 100) }
