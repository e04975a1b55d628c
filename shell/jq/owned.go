package jq

import (
	"slices"

	"github.com/itchyny/gojq"
)

// ownsState reports whether a step of reduce is a plain assignment whose
// right side cannot keep the state: then nothing else refers to the result of the step
// before, and it may be changed in place.
func ownsState(q *gojq.Query) bool {
	switch q.Op {
	case gojq.OpAssign, gojq.OpUpdateAdd, gojq.OpUpdateSub, gojq.OpUpdateMul, gojq.OpUpdateDiv, gojq.OpUpdateMod,
		gojq.OpUpdateAlt:
		return len(q.FuncDefs) == 0 && plainPath(q.Left) && closed(q.Right)
	}
	return false
}

// plainPath accepts .a[$x].b and the like.
func plainPath(q *gojq.Query) bool {
	if q.Term == nil || len(q.FuncDefs) > 0 || q.Term.Type != gojq.TermTypeIndex && q.Term.Type != gojq.TermTypeIdentity {
		return false
	}
	return plainIndex(q.Term.Index) && plainSuffixes(q.Term.SuffixList)
}

func plainIndex(x *gojq.Index) bool {
	return x == nil || x.Name != "" || x.Str != nil && closedText(x.Str) || !x.IsSlice && x.Start != nil && closed(x.Start)
}

func plainSuffixes(list []*gojq.Suffix) bool {
	for _, s := range list {
		if s.Iter || !plainIndex(s.Index) {
			return false
		}
	}
	return true
}

func closedText(s *gojq.String) bool {
	for _, q := range s.Queries {
		if !closed(q) {
			return false
		}
	}
	return true
}

// closed accepts expressions of variables and constants.
func closed(q *gojq.Query) bool {
	if len(q.FuncDefs) > 0 || len(q.Patterns) > 0 {
		return false
	}
	if q.Term == nil {
		switch q.Op {
		case gojq.OpAdd, gojq.OpSub, gojq.OpMul, gojq.OpDiv, gojq.OpMod, gojq.OpAlt:
			return closed(q.Left) && closed(q.Right)
		case gojq.OpPipe:
			return closed(q.Left) && q.Right.Term != nil && q.Right.Term.Type == gojq.TermTypeFunc &&
				slices.Contains([]string{"tostring", "tonumber", "tojson", "length", "floor", "ascii_downcase"},
					q.Right.Term.Func.Name)
		}
		return false
	}
	if !plainSuffixes(q.Term.SuffixList) {
		return false
	}
	switch t := q.Term; t.Type {
	case gojq.TermTypeNumber, gojq.TermTypeNull, gojq.TermTypeTrue, gojq.TermTypeFalse:
		return true
	case gojq.TermTypeString:
		return closedText(t.Str)
	case gojq.TermTypeFunc:
		return t.Func.Name[0] == '$'
	case gojq.TermTypeArray:
		return t.Array.Query == nil || closed(t.Array.Query)
	case gojq.TermTypeQuery:
		return closed(t.Query)
	case gojq.TermTypeObject:
		for _, kv := range t.Object.KeyVals {
			if kv.Val == nil || !closed(kv.Val) || kv.KeyQuery != nil || kv.KeyString != nil && kv.KeyString.Queries != nil {
				return false
			}
		}
		return true
	}
	return false
}
