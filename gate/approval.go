package gate

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"hako/audit"
	"hako/policy"
)

// An approvalKey is what a person approves: words under a rule in a directory. The same words elsewhere need
// another approval: "make install" depends on the makefile of its directory.
type approvalKey struct {
	dir   string // empty means not known
	words string
}

// Directories of approvals that were given before the script started.
const (
	atStart  = "\x00start"    // where the script begins, which nobody may know yet
	anywhere = "\x00anywhere" // in all of a script that a person has seen
)

func (p *gateRun) key(dir string, v policy.Verdict) approvalKey {
	return approvalKey{dir, p.approvalWords(v)}
}

// approvalWords identifies what is approved.
func (p *gateRun) approvalWords(v policy.Verdict) string {
	if isWholeScript(v) {
		parts := slices.Concat([]string{v.Where, p.req.Script}, p.req.Args, []string{""}, p.req.Env)
		return strings.Join(parts, "\x00")
	}
	return v.Where + "\x00" + strings.Join(v.Argv, "\x00")
}

// dirAtStart is where the script starts, as far as it is known.
func (p *gateRun) dirAtStart() string {
	p.gate.mu.Lock()
	stands := p.gate.dir
	p.gate.mu.Unlock()
	switch dir := p.req.Dir; {
	case dir == "":
		return stands
	case isAbs(dir) || stands == "":
		return dir
	default:
		return path.Join(stands, dir)
	}
}

// isAbs recognizes the absolute paths of the host and of a virtual file system.
func isAbs(dir string) bool { return path.IsAbs(dir) || filepath.IsAbs(dir) }

// noteStart records where the script started: in the directory of its first command, since every command, also
// cd, is checked before it runs.
func (p *gateRun) noteStart(dir string) {
	p.mu.Lock()
	first := !p.started
	if first {
		p.startDir, p.started = dir, true
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

// approvedAtStart returns what was approved before the script started.
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

// wasApproved reports whether the same was approved for this request or for the session. An approval for the
// session is recorded once a request.
func (p *gateRun) wasApproved(what approvalKey, v policy.Verdict) (bool, error) {
	if p.isApproved(what) {
		return true, nil
	}
	if !p.gate.isGranted(what) {
		return false, nil
	}
	p.approve(what, Once)
	return true, p.append(audit.Event{What: audit.Approved, Argv: v.Argv, Rule: v.Where,
		Reason: "approved earlier in this session"})
}

// isApproved reports whether something was approved for this request.
func (p *gateRun) isApproved(what approvalKey) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	here := !p.started || what.dir == p.startDir
	return p.approved[what] != No || p.approved[approvalKey{anywhere, what.words}] != No || here &&
		p.approved[approvalKey{atStart, what.words}] != No
}

// approve stores an approval. One that was given before the directory of the script was known is valid there.
func (p *gateRun) approve(what approvalKey, a Answer) {
	p.mu.Lock()
	later := !p.started && !p.opaque && what.dir != anywhere && !isAbs(what.dir)
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

func (g *Gate) isGranted(what approvalKey) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.granted[what]
}

// setDir stores the working directory of the runner after a request.
func (g *Gate) setDir(dir string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if dir != "" {
		g.dir = dir
	}
}
