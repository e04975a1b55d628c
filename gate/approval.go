package gate

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"hako/audit"
	"hako/policy"
)

// A approvalKey is what a person agrees to: words under a rule in a directory. The
// same words elsewhere are another matter: "make install" is as good as the
// makefile it finds.
type approvalKey struct {
	dir   string // empty means not known
	words string
}

// Where consent holds that was given before the script began.
const (
	atStart  = "\x00start"    // where the script begins, which nobody may know yet
	anywhere = "\x00anywhere" // in all of a script that a person has seen
)

func (p *gateRun) key(dir string, v policy.Verdict) approvalKey { return approvalKey{dir, p.words(v)} }

// words tells what was approved from what was not.
func (p *gateRun) words(v policy.Verdict) string {
	if whole(v) {
		parts := slices.Concat([]string{v.Where, p.req.Script}, p.req.Args, []string{""}, p.req.Env)
		return strings.Join(parts, "\x00")
	}
	return v.Where + "\x00" + strings.Join(v.Argv, "\x00")
}

// start is where the script begins, as far as that is known.
func (p *gateRun) start() string {
	p.gate.mu.Lock()
	stands := p.gate.dir
	p.gate.mu.Unlock()
	switch dir := p.req.Dir; {
	case dir == "":
		return stands
	case absolute(dir) || stands == "":
		return dir
	default:
		return path.Join(stands, dir)
	}
}

// absolute knows the paths of the host and those of a tree of our own.
func absolute(dir string) bool { return path.IsAbs(dir) || filepath.IsAbs(dir) }

// beginAt notes where the script began: where its first command is, because
// every command, cd too, is checked before it runs.
func (p *gateRun) beginAt(dir string) {
	p.mu.Lock()
	first := !p.stood
	if first {
		p.began, p.stood = dir, true
	}
	p.mu.Unlock()
	if !first {
		return
	}
	for words, a := range p.approvedAtStart() {
		if a == Session {
			p.gate.grant(approvalKey{dir, words})
		}
	}
}

// approvedAtStart returns what a person agreed to before the script began.
func (p *gateRun) approvedAtStart() map[string]Answer {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := map[string]Answer{}
	for what, a := range p.approved {
		if what.dir == atStart {
			all[what.words] = a
		}
	}
	return all
}

// approvedBefore reports whether the same was approved for this request, or for the
// session; the latter is put on record once a request.
func (p *gateRun) approvedBefore(what approvalKey, v policy.Verdict) (bool, error) {
	if p.isApproved(what) {
		return true, nil
	}
	if !p.gate.remembers(what) {
		return false, nil
	}
	p.approve(what, Once)
	return true, p.append(audit.Event{What: audit.Approved, Argv: v.Argv, Rule: v.Where,
		Reason: "approved earlier in this session"})
}

// isApproved reports whether a matter was approved for this request.
func (p *gateRun) isApproved(what approvalKey) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	here := !p.stood || what.dir == p.began
	return p.approved[what] != No || p.approved[approvalKey{anywhere, what.words}] != No || here &&
		p.approved[approvalKey{atStart, what.words}] != No
}

// approve writes an approval down. One that was given before anybody knew where the
// script begins holds there, for the session too.
func (p *gateRun) approve(what approvalKey, a Answer) {
	p.mu.Lock()
	later := !p.stood && !p.opaque && what.dir != anywhere && !absolute(what.dir)
	if later {
		what.dir = atStart
	}
	if p.approved == nil {
		p.approved = make(map[approvalKey]Answer)
	}
	p.approved[what] = a
	p.mu.Unlock()
	if a == Session && !later {
		p.gate.grant(what)
	}
}

func (g *Gate) grant(what approvalKey) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.granted[what] = true
}

func (g *Gate) remembers(what approvalKey) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.granted[what]
}

// movedTo notes where the runner stands after a request.
func (g *Gate) movedTo(dir string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if dir != "" {
		g.dir = dir
	}
}
