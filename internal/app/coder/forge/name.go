package forge

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"hako/run/fault"
)

// Names become parts of addresses, and GitHub's client does not escape them:
// whatever could lead elsewhere is refused before it is asked for.

func invalid(op, subject, why, hint string) error {
	return &fault.Error{Kind: fault.Invalid, Op: op, Subject: clean(subject), Why: why, Hint: hint}
}

// checkRepo wants owner/name for GitHub, and groups before the name for GitLab.
func checkRepo(provider, repo string) error {
	parts := strings.Split(repo, "/")
	few, many := 2, 2
	if provider == GitLab {
		many = 21 // twenty groups are as deep as they nest
	}
	if len(parts) < few || len(parts) > many || len(repo) > 1024 {
		return invalid("read repository", repo, "it is not of the form owner/name",
			"write it as in its address, without the server and .git")
	}
	for _, part := range parts {
		if !plainName(part) {
			return invalid("read repository", repo, "it has characters that no repository has",
				"write it as in its address, without the server and .git")
		}
	}
	return nil
}

// plainName is a part of a path that means itself.
func plainName(name string) bool {
	if name == "" || name == "." || name == ".." || len(name) > 255 {
		return false
	}
	return !strings.ContainsFunc(name, func(r rune) bool {
		return r > unicode.MaxASCII || !(r == '-' || r == '_' || r == '.' || r == '+' || r >= '0' && r <= '9' ||
			r|0x20 >= 'a' && r|0x20 <= 'z')
	})
}

// userName also takes the names of GitHub's Apps.
func userName(name string) bool { return plainName(strings.TrimSuffix(name, "[bot]")) }

func checkRef(provider string, ref Ref) error {
	if ref.Number <= 0 {
		return invalid("read task", ref.Repo+"#"+strconv.Itoa(ref.Number), "there is no such number", "numbers begin with 1")
	}
	if ref.Kind != Issue && ref.Kind != PullRequest && ref.Kind != "" {
		return invalid("read task", string(ref.Kind), "there is no such kind", "use issue or pull")
	}
	return checkRepo(provider, ref.Repo)
}

// checkLabel refuses what would be read as several labels, or not be found again.
func checkLabel(label string) error {
	switch {
	case label == "" || strings.TrimSpace(label) != label:
		return invalid("read label", strconv.Quote(label), "it is empty, or begins or ends with a space",
			"give it another name")
	case strings.Contains(label, ","):
		return invalid("read label", label, "a comma stands between labels", "give it another name")
	case utf8.RuneCountInString(label) > 50 || clean(label) != label:
		return invalid("read label", label, "it is longer than fifty characters, or has some that can't be seen",
			"give it another name")
	}
	return nil
}

// branchName follows git check-ref-format, and refuses a dash at the beginning:
// git would take it for an option.
func branchName(name string) bool {
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

// safeBranch is the name if git would take it, else nothing.
func safeBranch(name string) string {
	if !branchName(name) {
		return ""
	}
	return name
}

// safeCommit is the name of a commit if it is one, else nothing.
func safeCommit(name string) string {
	if len(name) != 40 && len(name) != 64 || strings.Trim(name, "0123456789abcdef") != "" {
		return ""
	}
	return name
}

func checkBranch(op, name string) error {
	if !branchName(name) {
		return invalid(op, name, "git takes no such name for a branch", "use letters, digits, dashes and slashes")
	}
	return nil
}
