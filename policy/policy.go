// Package policy decides whether a command may run, and says why.
//
// A policy is a list of rules, one per line: an effect, words of a command,
// and after # the reason that is shown to whoever asks.
//
//	allow cat            # show a file
//	ask   git push       # leaves this machine
//	deny  git push -f    # rewrites history that others rely on
//
// Inside are the rules and their profiles, the walk over a shell syntax tree,
// and what is known about programs that can run other programs or reach files
// outside the root. Not inside: running anything, asking anybody, or looking
// at the disk. The one rule to keep: what is not understood is denied.
package policy

import (
	"encoding/json"
	"path"
	"strings"
)

// An Effect is what a rule does. The zero Effect denies, so that a forgotten
// assignment can not let anything through.
type Effect uint8

// The effects, from strictest to most lenient.
const (
	Deny Effect = iota
	Ask
	Allow
)

var effectNames = [...]string{"deny", "ask", "allow"}

// String returns the effect as it is spelled in rules and in JSON.
func (e Effect) String() string {
	if int(e) >= len(effectNames) {
		return effectNames[Deny]
	}
	return effectNames[e]
}

// MarshalText spells the effect in JSON.
func (e Effect) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// A Verdict is a decision about one command, with its reason.
type Verdict struct {
	Effect Effect
	Argv   []string // the command judged, as far as it is known
	Why    string   // the reason, in words
	Where  string   // the rule (host.policy:12) or the knowledge (find: -exec) that decided
	Hint   string   // what to do instead; empty when allowed
	Late   bool     // part of it is only known at run time; Call has the last word

	// Sure says of what is allowed that it stays so whatever its late words turn
	// out to be, so that it may go to a runner that never calls Call.
	Sure bool

	// Unlisted says that the command was denied for what it is: no rule allows
	// it, or one denies it. A path, an option or a redirection is another matter.
	Unlisted bool
	Name     string // the unlisted command's name, which may be inside another: env NAME
}

// MarshalJSON spells a verdict the way people and models read it.
func (v Verdict) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Effect  Effect   `json:"effect"`
		Command string   `json:"command"`
		Argv    []string `json:"argv"`
		Reason  string   `json:"reason,omitempty"`
		Rule    string   `json:"rule,omitempty"`
		Hint    string   `json:"hint,omitempty"`
		Late    bool     `json:"late,omitempty"`

		Unlisted bool `json:"unlisted,omitempty"`
	}{v.Effect, strings.Join(v.Argv, " "), v.Argv, v.Why, v.Where, v.Hint, v.Late, v.Unlisted})
}

// Strictest returns the effect of a whole script: that of its strictest
// verdict. A script without any command harms nobody and is allowed.
func Strictest(vs []Verdict) Effect {
	worst := Allow
	for _, v := range vs {
		worst = min(worst, v.Effect)
	}
	return worst
}

// Options say where a policy stands.
type Options struct {
	Root string // absolute directory that paths must stay in; empty means that paths are not judged
	Dir  string // current directory; empty means Root
	Home string // what ~ and $HOME stand for; empty means a place outside the root

	// Resolve follows the symbolic links in an absolute path as far as it
	// exists; a last link that leads nowhere yet is followed, too, for whoever
	// writes to it makes what it leads to. Nil means that a path is judged by
	// its spelling alone and links are left to the runner.
	Resolve func(path string) string
}

// A Policy is a set of rules and the manner in which they are applied.
// A nil Policy denies everything. A Policy is never changed once it is made,
// so it may be shared.
type Policy struct {
	rules   ruleSet
	opts    Options
	checks  checks
	profile string

	programs *Programs // taught by the user; nil means none
}

// A checks is how much of a script besides its command names is judged.
type checks struct {
	strict     bool // options by list, paths inside the root, environment by list
	foreground bool // no background jobs, coprocesses, process substitution
	jobs       bool // background jobs nevertheless: the runner ends them with the script
	opaque     bool // the runner never calls Call, so late words are weighed at once
	callback   bool // what a command runs in its turn comes back to Call, so options need no second look
}

// At returns the same policy standing in another current directory.
func (p *Policy) At(dir string) *Policy {
	if p == nil || p.opts.Dir == dir {
		return p
	}
	q := *p
	q.opts.Dir = dir
	return &q
}

// Root returns the directory that paths must stay in, or "".
func (p *Policy) Root() string {
	if p == nil {
		return ""
	}
	return p.opts.Root
}

// Call judges one command by its expanded words. It has the last word on
// whatever Script could only judge in part.
func (p *Policy) Call(argv []string) Verdict {
	if p == nil {
		return Verdict{Argv: argv, Why: "there is no policy",
			Hint: "start with a profile: virtual, host, container or outside"}
	}
	if p.rules.everything != nil && len(argv) > 0 {
		r := p.rules.everything
		return Verdict{Effect: r.effect, Argv: argv, Why: r.why, Where: r.where}
	}
	words := make([]word, len(argv))
	for i, s := range argv {
		words[i] = literal(s)
	}
	c := command{p: p, cost: newCostMeter(), words: words, dirs: p.startDirs(), input: confinedInput, expanded: true}
	return c.bounded(c.judge)
}

// bounded returns the verdict of a judgement that may turn out to cost too much.
func (c *command) bounded(judge func() finding) (v Verdict) {
	defer func() {
		if f := overran(recover()); f != nil {
			v = f.verdict(c.words)
		}
	}()
	return judge().verdict(c.words)
}

// Redirect judges the file a redirection opens; op is the operator, such as
// ">" or "<". Descriptors ("2>&1") are not files and need no judging.
func (p *Policy) Redirect(op, file string) Verdict {
	v := Verdict{Argv: []string{op, file}}
	if p == nil {
		v.Why, v.Hint = "there is no policy", "start with a profile: virtual, host, container or outside"
		return v
	}
	words := literals(op, file)
	c := command{p: p, cost: newCostMeter(), words: words, dirs: p.startDirs(), expanded: true}
	return c.bounded(func() finding { return c.judgeRedirect(op, words[1]) })
}

func (p *Policy) startDirs() []string {
	dir := p.opts.Dir
	if dir == "" {
		dir = p.opts.Root
	}
	if dir == "" && p.checks.opaque {
		dir = "/workspace/project" // where a container's shell begins
	}
	if dir == "" {
		dir = "/"
	}
	if !path.IsAbs(dir) {
		dir = path.Join(p.opts.Root, dir)
	}
	return []string{dir}
}

// A finding is a verdict in the making; nil words are filled in at the end.
type finding struct {
	effect           Effect
	why, where, hint string
	late             bool
	final            bool   // Call would know no more, whatever is late
	lateSettled      bool   // its late words change nothing
	ruled            bool   // a rule, or the lack of one, said so
	unlisted         string // the name of the command that no rule allows, or that one denies
}

func (f finding) verdict(words []word) Verdict {
	v := Verdict{Effect: f.effect, Why: f.why, Where: f.where, Hint: f.hint, Late: f.late, Sure: f.lateSettled &&
		f.effect == Allow, Unlisted: f.unlisted != "", Name: f.unlisted}
	v.Argv = make([]string, len(words))
	for i, w := range words {
		v.Argv[i] = w.String()
		v.Late = (v.Late || w.late) && !f.final
	}
	return v
}

func refusal(where, why, hint string) *finding {
	return &finding{effect: Deny, why: why, where: where, hint: hint}
}
