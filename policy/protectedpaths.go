package policy

import (
	"path"
	"slices"
	"strings"

	"hako/internal/protect"
)

// refuseProtected refuses to write files that other programs run or trust: a hook or a setting in .git runs with
// the next git command. Links are resolved, since they may lead there under any name.
func (c *command) refuseProtected(target word) *finding {
	c.cost.spend((1 + len(c.dirs)) * (2*costPath + 2*costText*len(target.text)))
	if f := refuseProtectedPath(c.relativeToRoot(target.text)); f != nil {
		return f
	}
	for _, d := range c.dirs {
		if f := c.refuseProtectedDir(d); f != nil {
			return f
		}
	}
	for _, real := range c.resolvedPaths(target.text) {
		if f := refuseProtectedPath(real); f != nil {
			f.why = target.text + " leads to " + real + ": " + f.why
			return f
		}
	}
	return nil
}

// refuseProtectedPath judges a path by its parts.
func refuseProtectedPath(text string) *finding {
	if f := refuseGitPath(text); f != nil {
		return f
	}
	parts := pathParts(text)
	for i, part := range parts {
		if hasWord(protectedDirs, part) || i == len(parts)-1 && hasWord(protectedFiles, withoutPackSuffix(part)) {
			return refusal("path", "programs outside of the sandbox trust or run what is in "+part+" later",
				"write to another name, and let a person put it there")
		}
	}
	return nil
}

// mentionsProtected reports whether a text contains a protected name.
func mentionsProtected(text string) bool {
	if strings.Contains(text, "HEAD") {
		return true
	}
	text = strings.ToLower(text)
	return slices.ContainsFunc(strings.Fields(".git"+protectedFiles+protectedDirs),
		func(name string) bool { return strings.Contains(text, name) })
}

// The names that package protect lists, besides those in .git.
var (
	protectedFiles = " " + strings.Join(protect.Files(), " ") + " "
	protectedDirs  = " " + strings.Join(protect.Dirs(), " ") + " "
)

// refuseGitPath refuses a path in a repository, or one that would create a repository.
func refuseGitPath(text string) *finding {
	parts := pathParts(text)
	last := withoutPackSuffix(parts[len(parts)-1]) // gunzip .git.gz makes .git
	if last == "head" && strings.HasPrefix(path.Base(path.Clean(text)), "HEAD") {
		// With HEAD any directory can be made a repository, config and all.
		return refusal("path", "git takes a directory with a file HEAD for a repository and runs what its config says",
			"use another name, or git init")
	}
	if slices.ContainsFunc(append(parts, last), couldBeGit) {
		return refusal("path", "git runs what is written into .git", "use git commands to change the repository")
	}
	return nil
}

// pathParts returns the names in a path, each normalized by foldName.
func pathParts(text string) []string {
	text = strings.ReplaceAll(text, `\`, "/") // as on Windows
	parts := strings.Split(path.Clean(text), "/")
	for i, part := range parts {
		parts[i] = foldName(part)
	}
	return parts
}

// foldName returns the name that file systems would open that ignore case, trailing dots and blanks, streams or
// invisible characters: .GIT, ".git. ", .git::$INDEX_ALLOCATION and GIT~1 may all be .git.
func foldName(name string) string {
	name = strings.ToLower(name)
	if name == "." || name == ".." || strings.ContainsAny(name, "*?[(") {
		return name
	}
	if at := strings.IndexByte(name, ':'); at > 0 {
		name = name[:at]
	}
	name = strings.Map(func(r rune) rune {
		if r >= 0x200c && r <= 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x2060 && r <= 0x206f || r == 0xfeff {
			return -1
		}
		return r
	}, name)
	name = strings.TrimRight(name, ". ")
	if strings.HasPrefix(name, "git~") {
		return ".git"
	}
	return name
}

// isBelowGit reports whether a path names something in .git. A pattern for all of it, as in --exclude=.git/*,
// does not.
func isBelowGit(text string) bool {
	parts := pathParts(text)
	for i, part := range parts[:len(parts)-1] {
		if couldBeGit(part) && strings.Trim(parts[i+1], "*") != "" {
			return true
		}
	}
	return false
}

// couldBeGit reports whether a name is .git or a pattern for it, such as .gi[t].
func couldBeGit(part string) bool {
	if part == "" || !strings.ContainsAny(part, "*?[(") {
		return part == ".git"
	}
	if len(part) > 1 && strings.Contains(part, "(") && (part[0] == '.' || part[1] == '(' && strings.Contains(part, ".")) {
		return true
	}
	if part[0] != '.' {
		return false // a pattern finds a leading dot only when it spells it
	}
	ok, err := path.Match(strings.ReplaceAll(part, "[!", "[^"), ".git")
	return ok || err != nil || strings.Contains(part, "[:")
}

// refuseProtectedDir refuses every write in a protected directory. The name of the root itself does not matter,
// unless it is inside .git.
func (c *command) refuseProtectedDir(dir string) *finding {
	if strings.Contains(dir+"/", "/.git/") {
		return refusal("path", "git runs what is written into .git", "leave the .git directory first")
	}
	f := refuseProtectedPath(c.relativeToRoot(path.Join(dir, "x")))
	if f != nil {
		f.hint = "leave " + dir + " first"
	}
	return f
}

// relativeToRoot returns an absolute path inside the root relative to it, and any other path unchanged.
func (c *command) relativeToRoot(text string) string {
	root := c.p.opts.Root
	if root == "" || !path.IsAbs(text) || !within(root, path.Clean(text)) {
		return text
	}
	return strings.TrimPrefix(path.Clean(text)[len(root):], "/")
}

// resolvedPaths returns the targets of a path: as the shell resolves L/.., lexically, and as the system does,
// from the target of L.
func (c *command) resolvedPaths(text string) []string {
	if c.p.opts.Resolve == nil || text == "" {
		return nil
	}
	dirs := c.dirs
	if path.IsAbs(text) {
		dirs = []string{"/"}
	}
	var out []string
	for _, d := range dirs {
		out = append(out, c.relativeToRoot(c.resolveExisting(path.Join(d, text))))
		if goesUp(text) {
			out = append(out, c.relativeToRoot(c.resolveExisting(c.resolveParents(d, text))))
		}
	}
	return out
}

// resolve calls Options.Resolve and caches its results.
func (c *command) resolve(abs string) string {
	c.cost.spend(costEntry)
	return cached(&c.cost.links, abs, func() string {
		c.cost.spend(costResolve)
		to := c.p.opts.Resolve(abs)
		c.cost.keep(verdictSize + len(abs) + len(to))
		return to
	})
}

// resolveExisting follows the links in a path, of whose parts the last need not exist.
func (c *command) resolveExisting(abs string) string {
	to := c.resolve(abs)
	if to != abs || abs == c.p.opts.Root || !within(c.p.opts.Root, abs) || abs == "/" {
		return to
	}
	return path.Join(c.resolveExisting(path.Dir(abs)), path.Base(abs))
}

// resolveParents resolves a path as the system does: behind a link, .. is the parent of the link's target.
func (c *command) resolveParents(dir, text string) string {
	at := dir
	for _, part := range strings.Split(text, "/") {
		if part == ".." {
			at = path.Dir(c.resolve(at))
		} else {
			at = path.Join(at, part)
		}
	}
	return at
}

// refuseGitEntry refuses to enter .git. Other protected directories may be entered for reading.
func (c *command) refuseGitEntry(w word) *finding {
	for _, text := range append(c.resolvedPaths(w.text), w.text) {
		if f := refuseGitPath(text); f != nil {
			return f
		}
	}
	return nil
}
