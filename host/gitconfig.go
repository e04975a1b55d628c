package host

import (
	"slices"
	"strings"

	"hako/internal/lazyregexp"
)

// harmlessKeys are settings that git itself writes into a repository and that run nothing. It is an allow list: every
// version of git adds dangerous settings.
var harmlessKeys = map[string][]string{
	"core": {"repositoryformatversion", "filemode", "bare", "logallrefupdates", "ignorecase", "precomposeunicode",
		"symlinks", "autocrlf", "eol", "worktree", "sparsecheckout", "sparsecheckoutcone"},
	"remote":     {"url", "pushurl", "fetch", "tagopt", "prune", "promisor", "partialclonefilter"},
	"branch":     {"remote", "merge", "rebase", "pushremote"},
	"submodule":  {"active", "url", "branch"},
	"user":       {"name", "email"},
	"extensions": {"objectformat", "refstorage", "partialclone"},
	"init":       {"defaultbranch"},
	"pull":       {"rebase", "ff"},
	"gc":         {"auto"},
}

var (
	gitSection = lazyregexp.New(`^\[([A-Za-z][A-Za-z0-9-]*)( "(?:[^"\\]|\\["\\])*")?\]$`)
	gitSetting = lazyregexp.New(`^([A-Za-z][A-Za-z0-9-]*)\s*=\s*(.*)$`)
	// ext:: would run a program, and a leading dash would be an option.
	gitURL = lazyregexp.New(`^"?(?:https?://|ssh://|git://|file://|[A-Za-z0-9._-]+@[A-Za-z0-9.-]+:|/|\./|\.\./)`)
)

// harmlessConfig reports whether a git configuration has, compared with an earlier version, no new setting that runs
// a program or includes another file. Unusual syntax is not harmless.
func harmlessConfig(text, before string) bool {
	known := gitLines(before)
	for _, line := range gitLines(text) {
		if !slices.Contains(known, line) && !line.harmless() {
			return false
		}
	}
	return true
}

// A gitLine is a setting with its section.
type gitLine struct{ section, text string }

func gitLines(text string) (list []gitLine) {
	section := ""
	for line := range strings.SplitSeq(text, "\n") {
		switch line = strings.TrimSpace(line); {
		case line == "" || line[0] == '#' || line[0] == ';':
		case strings.HasPrefix(line, "["):
			section = line
			list = append(list, gitLine{line, ""})
		default:
			list = append(list, gitLine{section, line})
		}
	}
	return list
}

func (l gitLine) harmless() bool {
	section := gitSection.Get().FindStringSubmatch(l.section)
	if section == nil {
		return false
	}
	keys := harmlessKeys[strings.ToLower(section[1])]
	if l.text == "" {
		return keys != nil
	}
	set := gitSetting.Get().FindStringSubmatch(l.text)
	if set == nil || strings.HasSuffix(l.text, `\`) {
		return false
	}
	key := strings.ToLower(set[1])
	if key == "url" || key == "pushurl" {
		return keys != nil && gitURL.Get().MatchString(set[2])
	}
	return slices.Contains(keys, key)
}
