package policy

import (
	"path"
	"slices"
	"strings"

	"hako/internal/protect"
)

// refuseProtected refuses to write where programs take their orders from: what is put
// into .git/hooks or .git/config runs with the next git command. A link leads
// there by any name, so what a path comes to counts as much as its spelling.
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
			return refusal("path", "programs outside of the sandbox believe or run what is in "+part+" later",
				"write to another name, and let a person put it there")
		}
	}
	return nil
}

// mentionsProtected reports whether a text speaks of anything that is guarded.
func mentionsProtected(text string) bool {
	if strings.Contains(text, "HEAD") {
		return true
	}
	text = strings.ToLower(text)
	return slices.ContainsFunc(strings.Fields(".git"+protectedFiles+protectedDirs),
		func(name string) bool { return strings.Contains(text, name) })
}

// Besides what is git's: the settings of hako and the programs it replaces, what
// direnv runs on entering a directory, and the tasks of editors.
var (
	protectedFiles = " " + strings.Join(protect.Files(), " ") + " "
	protectedDirs  = " " + strings.Join(protect.Dirs(), " ") + " "
)

// refuseGitPath refuses what is part of a repository, or would make one.
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

// pathParts are the names in a path, each as plain as some system would take it.
func pathParts(text string) []string {
	text = strings.ReplaceAll(text, `\`, "/") // as on Windows
	parts := strings.Split(path.Clean(text), "/")
	for i, part := range parts {
		parts[i] = foldName(part)
	}
	return parts
}

// foldName is the name that systems without respect for case, for dots and
// blanks at the end, for streams or for invisible letters would open: .GIT,
// ".git. ", .git::$INDEX_ALLOCATION, GIT~1 are all .git somewhere.
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

// isBelowGit reports whether a path names something in .git. What stands for all of
// it, as --exclude=.git/* does, names nothing.
func isBelowGit(text string) bool {
	parts := pathParts(text)
	for i, part := range parts[:len(parts)-1] {
		if couldBeGit(part) && strings.Trim(parts[i+1], "*") != "" {
			return true
		}
	}
	return false
}

// couldBeGit reports whether part is .git or a pattern for it: .gi[t] is.
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

// refuseProtectedDir refuses to write anything at all by a command that stands there.
// What the root itself is called does not matter, unless it is inside .git.
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

// relativeToRoot is a path as seen from the root, if it is absolute and inside.
func (c *command) relativeToRoot(text string) string {
	root := c.p.opts.Root
	if root == "" || !path.IsAbs(text) || !within(root, path.Clean(text)) {
		return text
	}
	return strings.TrimPrefix(path.Clean(text)[len(root):], "/")
}

// resolvedPaths are the places that a path leads to when its links are followed: as
// the shell does, for which L/.. is nothing, and as the system does, for which
// it is where the target of L lies.
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

// resolve asks where a path leads to.
func (c *command) resolve(abs string) string {
	if c.cost == nil {
		return c.p.opts.Resolve(abs)
	}
	if to, ok := c.cost.links[abs]; ok {
		c.cost.spend(costEntry)
		return to
	}
	c.cost.spend(costResolve)
	to := c.p.opts.Resolve(abs)
	c.cost.keep(verdictSize + len(abs) + len(to))
	if c.cost.links == nil {
		c.cost.links = make(map[string]string)
	}
	c.cost.links[abs] = to
	return to
}

// resolveExisting follows the links in a path. What is not there is where its directory
// leads to.
func (c *command) resolveExisting(abs string) string {
	to := c.resolve(abs)
	if to != abs || abs == c.p.opts.Root || !within(c.p.opts.Root, abs) || abs == "/" {
		return to
	}
	return path.Join(c.resolveExisting(path.Dir(abs)), path.Base(abs))
}

// resolveParents follows a path the way the system does: behind a link, .. leads to
// where the link's target lies, not to where the link does.
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

// refuseGitEntry refuses to go where nothing may be written by any name. Other
// guarded directories may be looked at from inside.
func (c *command) refuseGitEntry(w word) *finding {
	for _, text := range append(c.resolvedPaths(w.text), w.text) {
		if f := refuseGitPath(text); f != nil {
			return f
		}
	}
	return nil
}
