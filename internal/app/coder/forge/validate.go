package forge

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"hako/run/fault"
)

// Names become parts of URLs, and GitHub's client does not escape them: a name that
// could lead elsewhere is refused before the request.

func invalid(op, subject, why, hint string) error {
	return &fault.Error{Kind: fault.Invalid, Op: op, Subject: clean(subject), Why: why, Hint: hint}
}

// checkRepo accepts owner/name for GitHub, and groups before the name for GitLab.
func checkRepo(provider, repo string) error {
	const hint = "write it as in its URL, without the server and .git"
	parts := strings.Split(repo, "/")
	maxParts := 2
	if provider == GitLab {
		maxParts = 21 // groups nest up to twenty levels
	}
	if len(parts) < 2 || len(parts) > maxParts || len(repo) > 1024 {
		return invalid("read repository", repo, "it is not of the form owner/name", hint)
	}
	for _, part := range parts {
		if !plainName(part) {
			return invalid("read repository", repo, "it contains characters that no repository name has", hint)
		}
	}
	return nil
}

// plainName reports whether a part of a path has no special meaning.
func plainName(name string) bool {
	if name == "" || name == "." || name == ".." || len(name) > 255 {
		return false
	}
	return !strings.ContainsFunc(name, func(r rune) bool {
		return r > unicode.MaxASCII || !(r == '-' || r == '_' || r == '.' || r == '+' || r >= '0' && r <= '9' ||
			r|0x20 >= 'a' && r|0x20 <= 'z')
	})
}

// validUser also accepts the names of GitHub Apps.
func validUser(name string) bool { return plainName(strings.TrimSuffix(name, "[bot]")) }

func checkRef(provider string, ref Ref) error {
	switch {
	case ref.Number <= 0:
		return invalid("read task", ref.Repo+"#"+strconv.Itoa(ref.Number), "there is no such number", "numbers begin with 1")
	case ref.Kind != KindIssue && ref.Kind != KindPullRequest && ref.Kind != "":
		return invalid("read task", string(ref.Kind), "there is no such kind", "use issue or pull")
	}
	return checkRepo(provider, ref.Repo)
}

func (q Query) check(provider string) error {
	if q.Repo != "" {
		if err := checkRepo(provider, q.Repo); err != nil {
			return err
		}
	}
	if q.Assignee != "" && !validUser(q.Assignee) {
		return invalid("read assignee", q.Assignee, "no account has such a name", "write it without @")
	}
	if q.Label != "" {
		return checkLabel(q.Label)
	}
	return nil
}

func (d Draft) check(provider string) error {
	if err := checkRepo(provider, d.Repo); err != nil {
		return err
	}
	if err := checkBranch("open pull request from", d.Branch); err != nil {
		return err
	}
	if err := checkBranch("open pull request to", d.Target); err != nil {
		return err
	}
	if clean(d.Title) == "" {
		return invalid("open pull request from", d.Branch, "it has no title", "describe the change in a line")
	}
	return nil
}

// checkLabel refuses a name that a forge would read as several labels, or would not
// find again.
func checkLabel(label string) error {
	why := ""
	switch {
	case label == "" || strings.TrimSpace(label) != label:
		label, why = strconv.Quote(label), "it is empty, or begins or ends with a space"
	case strings.Contains(label, ","):
		why = "a comma separates labels"
	case utf8.RuneCountInString(label) > 50 || clean(label) != label:
		why = "it is longer than 50 characters, or has invisible ones"
	default:
		return nil
	}
	return invalid("read label", label, why, "give it another name")
}

// validBranch follows git check-ref-format, and refuses a leading dash: git would
// take the name for an option.
func validBranch(name string) bool {
	if name == "" || len(name) > 250 || !utf8.ValidString(name) || strings.ContainsAny(name[:1], "-/") ||
		strings.HasSuffix(name, "/") || strings.HasSuffix(name, ".") || name == "@" {
		return false
	}
	for _, bad := range []string{"..", "@{", "//", "\\", "~", "^", ":", "?", "*", "["} {
		if strings.Contains(name, bad) {
			return false
		}
	}
	for part := range strings.SplitSeq(name, "/") {
		if strings.HasPrefix(part, ".") || strings.HasSuffix(part, ".lock") {
			return false
		}
	}
	return !strings.ContainsFunc(name, func(r rune) bool { return r == ' ' || !unicode.IsGraphic(r) })
}

// safeBranch returns the name if it is valid, else nothing.
func safeBranch(name string) string {
	if !validBranch(name) {
		return ""
	}
	return name
}

// safeCommit returns the hash of a commit if it is one, else nothing.
func safeCommit(hash string) string {
	if len(hash) != 40 && len(hash) != 64 || strings.Trim(hash, "0123456789abcdef") != "" {
		return ""
	}
	return hash
}

func checkBranch(op, name string) error {
	if !validBranch(name) {
		return invalid(op, name, "git does not accept this name for a branch", "use letters, digits, dashes and slashes")
	}
	return nil
}

// cloneURL returns the clone URL of a repository, given one of its web pages and the
// part of the page's path that follows the repository.
func cloneURL(page, rest string) string {
	base, _, found := strings.Cut(page, rest)
	if !found || !strings.HasPrefix(base, "http") {
		return ""
	}
	return base + ".git"
}
