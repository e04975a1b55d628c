package host

import (
	"path"
	"slices"
	"strings"

	"hako/internal/protect"
)

// A protection remembers what protected names in the root were like before programs ran, and puts right what they did
// to them: mounts hold names that exist and only where there are mounts. What a program wrote is moved aside, not
// removed.
type protection struct {
	root  string
	names []string             // what is looked at, from the root
	kept  map[string]savedFile // what was there, by its path from the root
}

// A savedFile is a file as it was.
type savedFile struct {
	what   kind
	perm   uint32
	target string // of a link
	text   string // of a file
	whole  bool   // text is all of it
	stamp  stamp
}

type kind uint8

const (
	aFile kind = iota + 1
	aDir
	aLink
	aOther
)

// A stamp tells whether a file was touched. Nobody can set back the time of the last change.
type stamp struct {
	ino       uint64
	size      int64
	sec, nsec int64
	mode      uint32
	dev       uint64
}

const (
	mostKept     = 32 << 20 // bytes of all files that are read for that at once
	largestKept  = 1 << 20  // bytes of a file that can be put back
	mostSearched = 5000     // directories that are searched for repositories
	asideSuffix  = ".refused"
)

// isGit reports whether a path is one of those by which git is led astray.
func isGit(name string) bool {
	return protect.SameName(path.Base(name), ".git") || inGit(name)
}

// inGit reports whether a path is an entry of a directory of git, or lies in one.
func inGit(name string) bool {
	for _, part := range strings.Split(name, "/") {
		if slices.Contains(protect.GitNames(), part) {
			return true
		}
	}
	return false
}

// deep reports whether what lies in a directory of that name is looked at too. A
// directory .git is not: most of it changes all the time.
func deep(name string) bool { return !protect.SameName(path.Base(name), ".git") }

// acceptable reports whether a program may leave a file like that: what git itself makes in everyday work.
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
