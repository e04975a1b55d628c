package policy

import (
	"maps"
	"slices"
)

// A pipeInput is what is known about the text a command reads or writes.
type pipeInput struct {
	kind   inputKind
	text   string // for fedKnown
	sure   bool   // for fedConfined: there is at least one name
	number bool   // for fedConfined: it is a number
	blanks bool   // for fedConfined: a name may hold blanks that the script put there
	dashes bool   // for fedConfined: a name may begin with a dash that the script put there
	git    string // for fedConfined: names in .git that may be among them, one a line
	file   bool   // for fedUnknown: it comes out of a file named with <
}

type inputKind uint8

const (
	inputCaller   inputKind = iota // whoever asked for the run provides it
	inputConfined                  // names inside the root, one per line
	inputKnown                     // exactly text
	inputUnknown
)

// confinedInput is the feed that Call assumes: the script was walked before, and a
// command that reads names from a pipe was judged with its source in sight.
var confinedInput = pipeInput{kind: inputConfined}

var unknownInput = pipeInput{kind: inputUnknown}

// A scope is what the walk knows at one point of the script. The maps are
// shared between copies and copied before they are changed.
type scope struct {
	cost   *costMeter
	vars   map[string]value
	arrays map[string][]value
	funcs  map[string]*fn
	shared bool
	lost   bool     // more was set than is kept: what is not in vars may be anything
	dirs   []string // where the script may stand; nil means anywhere inside the root
	args   []value  // positional parameters; nil means those of the request
	input  pipeInput
}

// share returns a copy; both copy their maps before they change them.
func (s *scope) share() scope {
	s.shared = true
	return *s
}

func (s *scope) copyMaps() {
	if s.shared {
		s.cost.spend(s.copyCost())
		s.vars, s.arrays, s.funcs = maps.Clone(s.vars), maps.Clone(s.arrays), maps.Clone(s.funcs)
		s.shared = false
	}
	if s.vars == nil {
		s.vars = make(map[string]value)
	}
}

// copyCost is what it costs to copy or to compare what is known.
func (s *scope) copyCost() int {
	return costEntry * (2 + len(s.vars) + len(s.arrays) + len(s.funcs))
}

// forget makes everything unknown, for what runs is unknown.
func (s *scope) forget() {
	s.copyMaps()
	s.cost.spend(s.copyCost())
	for name := range s.vars {
		s.vars[name] = anything
	}
	s.arrays, s.dirs, s.lost = nil, nil, true
}

// merge makes s what is known when either s or o may have happened.
func (s *scope) merge(o *scope) {
	s.copyMaps()
	s.cost.spend(s.copyCost() + o.copyCost())
	for name, v := range s.vars {
		if ov, ok := o.vars[name]; !ok || ov != v {
			s.vars[name] = either(v, ov, ok)
		}
	}
	for name, ov := range o.vars {
		if v, ok := s.vars[name]; !ok {
			s.vars[name] = either(ov, v, false)
		}
	}
	for name := range s.arrays {
		delete(s.arrays, name)
		s.vars[name] = anything
	}
	s.mergeFuncs(o)
	s.dirs = union(s.dirs, o.dirs)
	s.lost = s.lost || o.lost
	s.mergeArgs(o)
}

// mergeArgs knows that a branch may have said set -- other words.
func (s *scope) mergeArgs(o *scope) {
	if len(s.args) != len(o.args) || (s.args == nil) != (o.args == nil) {
		s.args = unknownArgs()
		return
	}
	s.cost.spend(costSource * len(s.args))
	args := s.args
	for i, v := range s.args {
		if o.args[i] == v {
			continue
		}
		if &args[0] == &s.args[0] {
			args = slices.Clone(s.args)
		}
		args[i] = either(v, o.args[i], true)
	}
	s.args = args
}

// same reports whether s knows what o knows, no more and no less.
func (s *scope) same(o *scope) bool {
	s.cost.spend(s.copyCost() + costSource*len(s.args))
	return maps.Equal(s.vars, o.vars) && maps.Equal(s.funcs, o.funcs) && slices.Equal(s.dirs, o.dirs) &&
		slices.Equal(s.args, o.args) && s.lost == o.lost && (s.dirs == nil) == (o.dirs == nil)
}

// setsIFS reports whether the script chose its own word separators.
func (s *scope) setsIFS() bool {
	v, set := s.vars["IFS"]
	return set && (v.late || v.text != " \t\n")
}

func (s *scope) mergeFuncs(o *scope) {
	for name, f := range s.funcs {
		if o.funcs[name] != f {
			f.maybe = true
		}
	}
	for name, f := range o.funcs {
		if _, ok := s.funcs[name]; !ok {
			f.maybe = true
			if s.funcs == nil {
				s.funcs = make(map[string]*fn)
			}
			s.funcs[name] = f
		}
	}
}

// either is a value that is one or the other.
func either(a, b value, both bool) value {
	if !a.loose && (!both || !b.loose) && isNumberOrName(a) && (!both || isNumberOrName(b)) {
		return value{text: a.text, late: true}
	}
	return anything
}

// isNumberOrName values are numbers and what stands for a name inside the root.
func isNumberOrName(v value) bool {
	for _, c := range v.text {
		if (c < '0' || c > '9') && string(c) != insideName {
			return false
		}
	}
	return true
}

// union of two sets of directories; nil, which is anywhere, swallows all.
func union(a, b []string) []string {
	if a == nil || b == nil || len(a) > 8 {
		return nil
	}
	out := a[:len(a):len(a)]
	for _, d := range b {
		known := false
		for _, have := range a {
			known = known || have == d
		}
		if !known {
			out = append(out, d)
		}
	}
	return out
}
