package host

import (
	"path"
	"slices"
	"strings"

	"hako/internal/protect"
)

// A protection takes a snapshot of protected names in the root before programs run, and restores them afterwards:
// mounts protect only existing names, and only if mounts are possible. Changed files are renamed, not removed.
type protection struct {
	root  string
	names []string             // relative to the root
	kept  map[string]savedFile // by path relative to the root
}

// A savedFile is the earlier state of a file.
type savedFile struct {
	what   kind
	perm   uint32
	target string // of a link
	text   string // of a file
	whole  bool   // text is complete
	stamp  stamp
}

type kind uint8

const (
	aFile kind = iota + 1
	aDir
	aLink
	aOther
)

// A stamp reveals changes of a file. The change time cannot be set back.
type stamp struct {
	ino       uint64
	size      int64
	sec, nsec int64
	mode      uint32
	dev       uint64
}

const (
	mostKept     = 32 << 20 // bytes of all files in a snapshot
	largestKept  = 1 << 20  // bytes of a file that can be restored
	mostSearched = 5000     // directories that are searched for repositories
	asideSuffix  = ".refused"
)

// isGit reports whether a path is relevant for git's behaviour.
func isGit(name string) bool {
	return protect.SameName(path.Base(name), ".git") || inGit(name)
}

// inGit reports whether a path is, or is in, an entry of a git directory.
func inGit(name string) bool {
	for _, part := range strings.Split(name, "/") {
		if slices.Contains(protect.GitNames(), part) {
			return true
		}
	}
	return false
}

// deep reports whether the contents of a directory are protected too. Most of .git changes all the time.
func deep(name string) bool { return !protect.SameName(path.Base(name), ".git") }

// acceptable reports whether a change is one that git itself makes.
func acceptable(name string, now, was savedFile) bool {
	switch base := path.Base(name); {
	case now.what == was.what && now.perm == was.perm && now.target == was.target && now.whole && was.whole &&
		now.text == was.text:
		return true
	case now.what != aFile:
		return false
	case path.Base(path.Dir(name)) == "hooks":
		return strings.HasSuffix(base, ".sample")
	case base == "config":
		return now.whole && harmlessConfig(now.text, was.text)
	}
	return false
}
