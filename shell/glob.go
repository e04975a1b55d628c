package shell

import (
	"io/fs"
	"path"
	"slices"
	"strings"
)

// glob returns the names that match a pattern, sorted, or nil.
func (p *proc) glob(src string) []string {
	g := globber{p: p, fold: p.opts.nocaseglob}
	start := ""
	rest := src
	if strings.HasPrefix(src, "/") {
		start, rest = "/", strings.TrimLeft(src, "/")
	}
	ignore, _ := p.get("GLOBIGNORE")
	g.dots = p.opts.dotglob || ignore != ""
	if strings.Count(rest, "/") > maxPath {
		return nil // no name has so many components
	}
	g.walk(start, strings.Split(rest, "/"))
	slices.Sort(g.found)
	g.found = slices.Compact(g.found)
	if ignore != "" {
		g.ignore(strings.Split(ignore, ":"))
	}
	return g.found
}

// ignore drops the names that match a pattern of GLOBIGNORE.
func (g *globber) ignore(patterns []string) {
	g.found = slices.DeleteFunc(g.found, func(name string) bool {
		return slices.ContainsFunc(patterns, func(src string) bool { return g.p.compile(src, g.fold).Match(name) })
	})
}

type globber struct {
	p     *proc
	fold  bool
	dots  bool // hidden names match too
	found []string
	steps int
}

// step ends the search when the script is stopped; patterns over many
// directories can take any time.
func (g *globber) step() bool {
	if g.steps++; g.steps&255 == 0 {
		if err := g.p.ses.Limiter.Fits(int64(len(g.found)) * 64); err != nil {
			g.p.bad = err
		}
		return g.p.bad == nil && g.p.tick()
	}
	return g.p.bad == nil
}

// maxPath is how long a name may be: without an end to it a pattern of many
// components, such as ./././*, would be followed for each of them.
const maxPath = 4096

// walk matches the components below base.
func (g *globber) walk(base string, parts []string) {
	if len(base) > maxPath || !g.step() {
		return
	}
	part := parts[0]
	last := len(parts) == 1
	switch {
	case part == "" && last: // a trailing slash: only directories
		if base != "" && g.isDir(base) {
			g.found = append(g.found, strings.TrimSuffix(base, "/")+"/")
		}
	case part == "":
		for len(parts) > 1 && parts[0] == "" {
			parts = parts[1:]
		}
		g.walk(base, parts)
	case part == "**" && g.p.opts.globstar:
		g.deep(base, parts)
	case !hasGlob(part):
		g.literal(base, unescape(part), parts)
	default:
		g.match(base, part, parts)
	}
}

// hasGlob reports whether a component has a pattern character.
func hasGlob(part string) bool {
	for i := 0; i < len(part); i++ {
		switch part[i] {
		case '\\':
			i++
		case '*', '?', '[':
			return true
		case '(':
			if i > 0 && strings.IndexByte("@?*+!", part[i-1]) >= 0 {
				return true
			}
		}
	}
	return false
}

func unescape(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func (g *globber) literal(base, name string, parts []string) {
	full := joinName(base, name)
	if len(parts) > 1 {
		if g.isDir(full) {
			g.walk(full+"/", parts[1:])
		}
		return
	}
	if _, err := g.p.ses.FS.Lstat(g.p.path(full)); err == nil {
		g.found = append(g.found, full)
	}
}

func joinName(base, name string) string {
	if base == "" || strings.HasSuffix(base, "/") {
		return base + name
	}
	return base + "/" + name
}

func (g *globber) match(base, part string, parts []string) {
	pat := g.p.compile(part, g.fold)
	for _, e := range g.list(base) {
		if !g.step() {
			return
		}
		name := e.Name()
		if name[0] == '.' && part[0] != '.' && !g.dots || !pat.Match(name) {
			continue
		}
		g.enter(joinName(base, name), e, parts)
	}
}

// enter takes a matching entry as found or goes on below it.
func (g *globber) enter(full string, e fs.DirEntry, parts []string) {
	switch {
	case len(parts) == 1:
		g.found = append(g.found, full)
	case e.IsDir() || g.isDir(full):
		g.walk(full+"/", parts[1:])
	}
}

// deep matches ** : any number of directories.
func (g *globber) deep(base string, parts []string) {
	rest := parts[1:]
	if len(rest) == 0 {
		rest = []string{"*"}
		if base != "" {
			g.found = append(g.found, base)
		}
	}
	g.walk(base, rest)
	for _, e := range g.list(base) {
		if !g.step() {
			return
		}
		name := e.Name()
		if e.IsDir() && (name[0] != '.' || g.dots) {
			g.deepBelow(joinName(base, name)+"/", rest)
		}
	}
}

func (g *globber) deepBelow(base string, rest []string) {
	if len(base) > maxPath || !g.step() {
		return
	}
	g.walk(base, rest)
	for _, e := range g.list(base) {
		if name := e.Name(); e.IsDir() && (name[0] != '.' || g.dots) {
			g.deepBelow(joinName(base, name)+"/", rest)
		}
	}
}

func (g *globber) list(base string) []fs.DirEntry {
	dir := base
	if dir == "" {
		dir = "."
	}
	entries, err := g.p.ses.FS.ReadDir(g.p.path(dir))
	if err != nil {
		return nil
	}
	return entries
}

func (g *globber) isDir(name string) bool {
	if name == "" {
		name = "."
	}
	info, err := g.p.ses.FS.Stat(path.Clean(g.p.path(name)))
	return err == nil && info.IsDir()
}
