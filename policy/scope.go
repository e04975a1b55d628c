package policy

import (
	"maps"
	"slices"
)

// A pipeInput is what is known about the text that a command reads or writes.
type pipeInput struct {
	kind   inputKind
	text   string // for inputKnown
	sure   bool   // for inputConfined: there is at least one name
	number bool   // for inputConfined: it is a number
	blanks bool   // for inputConfined: a name may contain blanks
	dashes bool   // for inputConfined: a name may begin with a dash
	git    string // for inputConfined: paths in .git that may be among the names, one a line
	file   bool   // for inputUnknown: it comes from a file named with <
}

type inputKind uint8

const (
	inputCaller   inputKind = iota // from the caller
	inputConfined                  // names inside the root, one per line
	inputKnown                     // exactly text
	inputUnknown
)

// confinedInput is the input that Call assumes: a command that reads names from a pipe was judged with its source
// by Script.
var confinedInput = pipeInput{kind: inputConfined}

var unknownInput = pipeInput{kind: inputUnknown}

// A scope is what is known at one point of the script. The maps are shared between copies, and copied on write.
type scope struct {
	cost   *costMeter
	vars   map[string]value
	arrays map[string][]value
	funcs  map[string]*fn
	shared bool
	lost   bool     // too many variables: those not in vars are unknown
	dirs   []string // possible working directories; nil means any inside the root
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

// copyCost is the cost of copying or comparing the scope.
func (s *scope) copyCost() int {
	return costEntry * (2 + len(s.vars) + len(s.arrays) + len(s.funcs))
}

// forget makes every value unknown, since an unknown command runs.
func (s *scope) forget() {
	s.copyMaps()
	s.cost.spend(s.copyCost())
	for name := range s.vars {
		s.vars[name] = anything
	}
	s.arrays, s.dirs, s.lost = nil, nil, true
}

// merge makes s the scope after either s or o.
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

// mergeArgs merges the positional parameters, which set -- may have changed in one branch.
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

// same reports whether two scopes are equal.
func (s *scope) same(o *scope) bool {
	s.cost.spend(s.copyCost() + costSource*len(s.args))
	return maps.Equal(s.vars, o.vars) && maps.Equal(s.funcs, o.funcs) && slices.Equal(s.dirs, o.dirs) &&
		slices.Equal(s.args, o.args) && s.lost == o.lost && (s.dirs == nil) == (o.dirs == nil)
}

// setsIFS reports whether the script set IFS.
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

// either returns a value that is one or the other.
func either(a, b value, both bool) value {
	if !a.loose && (!both || !b.loose) && isNumberOrName(a) && (!both || isNumberOrName(b)) {
		return value{text: a.text, late: true}
	}
	return anything
}

// isNumberOrName reports whether a value is a number or an unknown name inside the root.
func isNumberOrName(v value) bool {
	for _, c := range v.text {
		if (c < '0' || c > '9') && string(c) != insideName {
			return false
		}
	}
	return true
}

// union returns the union of two sets of directories; nil stands for all directories.
func union(a, b []string) []string {
	if a == nil || b == nil || len(a) > 8 {
		return nil
	}
	out := slices.Clip(a)
	for _, d := range b {
		if !slices.Contains(a, d) {
			out = append(out, d)
		}
	}
	return out
}
