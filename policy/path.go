package policy

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"hako/internal/lazyregexp"
)

// maxPath is the length of the longest path.
const maxPath = 4096

// path judges a word that names a file. It returns nil if the file is inside the root for every possible
// directory.
func (c *command) path(w word) *finding {
	if c.p.opts.Root == "" {
		return nil
	}
	if w.loose {
		return &finding{effect: Deny, late: true, where: "path", why: "which file is meant is only known at run time",
			hint: "write the path out, or take it from a glob or from find"}
	}
	text := w.text
	if text == "" || harmlessDevice(text) {
		return nil
	}
	if len(text) > maxPath {
		return refusal("path", "a path has at most "+strconv.Itoa(maxPath)+" bytes", "use a shorter path")
	}
	c.cost.spend((1 + len(c.dirs)) * (costPath + costText*len(text)))
	if c.linked && goesUp(text) || upAfterName(text, w.late || c.wrote) {
		return refusal("path", "where .. leads to in "+text+" depends on links and names that are only known at run time",
			"write the path without ..")
	}
	if c.leavesRoot(text) {
		return refusal("path", text+" is outside of the root", "use a path inside "+c.p.opts.Root)
	}
	return nil
}

var mktempName = lazyregexp.New(`^/tmp(/hako-host-[^/]+/tmp)?/tmp\.[A-Za-z0-9]{10}(/.*)?$`)

// isTempName recognizes the names that mktemp makes in the sandbox, which has its own /tmp. Only paths at run
// time count: such a name cannot be known before.
func isTempName(text string) bool {
	return strings.HasPrefix(text, "/tmp/") && mktempName.Get().MatchString(text)
}

// harmlessDevice reports whether a name outside of the root holds nothing.
func harmlessDevice(s string) bool {
	switch s {
	case "-", "/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr":
		return true
	}
	return false
}

func (c *command) leavesRoot(text string) bool {
	if strings.Contains(text, ".") && globsUp(text) {
		return true
	}
	if path.IsAbs(text) {
		abs := path.Clean(text)
		return !c.inside(abs) || c.climbsOut("/", text) || within("/proc", abs) || within("/sys", abs) || within("/dev", abs)
	}
	if c.dirs == nil {
		return goesUp(text)
	}
	for _, d := range c.dirs {
		if !c.inside(path.Join(d, text)) || c.climbsOut(d, text) {
			return true
		}
	}
	return false
}

// climbsOut reports whether a path leaves the root behind a link: with a link L to the root, L/../x is outside.
func (c *command) climbsOut(dir, text string) bool {
	if c.p.opts.Resolve == nil || !goesUp(text) {
		return false
	}
	return !within(c.p.opts.Root, c.resolve(c.resolveParents(dir, text)))
}

func (c *command) inside(abs string) bool {
	if !within(c.p.opts.Root, abs) {
		return c.expanded && isTempName(abs)
	}
	return c.p.opts.Resolve == nil || within(c.p.opts.Root, c.resolve(abs))
}

func within(root, abs string) bool {
	if abs == root || root == "/" {
		return true
	}
	return len(abs) > len(root) && abs[len(root)] == '/' && abs[:len(root)] == root
}

// goesUp reports whether a path contains "..".
func goesUp(text string) bool { return slices.Contains(strings.Split(text, "/"), "..") }

// upAfterName reports whether ".." follows a name. If the name is a link, or only known at run time, L/.. may be
// any directory: ln -s . L; cat L/../x. Unless unsure is set, only unknown names count.
func upAfterName(text string, unsure bool) bool {
	if !strings.Contains(text, "..") {
		return false
	}
	named := false
	for _, part := range strings.Split(text, "/") {
		if part == ".." && named {
			return true
		}
		named = named || part == insideName || unsure && part != "" && part != "." && part != ".."
	}
	return false
}

// globsUp reports whether a pattern before the last part of the path may match "..", as .* and .? do in many
// shells. The last part is left to Call.
func globsUp(text string) bool {
	if !strings.ContainsAny(text, "*?[(") {
		return false
	}
	parts := strings.Split(strings.TrimRight(text, "/"), "/")
	for _, part := range parts[:len(parts)-1] {
		if !strings.Contains(part, ".") || !strings.ContainsAny(part, "*?[(") {
			continue
		}
		if strings.Contains(part, "(") && (part[0] == '.' || part[1] == '(') {
			return true // @(..) and .+(.)
		}
		if part[0] != '.' && part[0] != '[' {
			continue
		}
		if ok, err := path.Match(part, ".."); ok || err != nil {
			return true
		}
	}
	return false
}

// judgeRedirect judges the target of a redirection.
func (c *command) judgeRedirect(op string, target word) finding {
	ok := finding{effect: Allow, where: "redirection"}
	if !c.p.checks.strict || isDescriptor(op, target) {
		ok.lateSettled = c.p.checks.opaque
		return ok
	}
	if f := c.path(target); f != nil {
		f.where = "redirection " + op
		return *f
	}
	if target.text == "" && !target.late {
		return *refusal("redirection "+op, "it names no file", "name a file inside the root")
	}
	if op != "<" {
		if f := c.refuseProtected(target); f != nil {
			return *f
		}
	}
	return ok
}

// isDescriptor recognizes 2>&1 and <&-, which open no file.
func isDescriptor(op string, target word) bool {
	return (op == ">&" || op == "<&") && !target.late && target.text != "" &&
		strings.Trim(target.text, "0123456789-") == ""
}
