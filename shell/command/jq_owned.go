package command

import (
	"slices"

	"github.com/itchyny/gojq"
)

// jqOwnsState reports whether a step of reduce is a plain assignment whose
// right side cannot keep the state: then nobody else can see what the step
// before made, and it may be changed in place.
func jqOwnsState(q *gojq.Query) bool {
	switch q.Op {
	case gojq.OpAssign, gojq.OpUpdateAdd, gojq.OpUpdateSub, gojq.OpUpdateMul, gojq.OpUpdateDiv, gojq.OpUpdateMod, gojq.OpUpdateAlt:
		return len(q.FuncDefs) == 0 && jqPlainPath(q.Left) && jqClosed(q.Right)
	}
	return false
}

// jqPlainPath accepts .a[$x].b and the like.
func jqPlainPath(q *gojq.Query) bool {
	if q.Term == nil || len(q.FuncDefs) > 0 || q.Term.Type != gojq.TermTypeIndex && q.Term.Type != gojq.TermTypeIdentity {
		return false
	}
	return jqPlainIndex(q.Term.Index) && jqPlainSuffixes(q.Term.SuffixList)
}

func jqPlainIndex(x *gojq.Index) bool {
	return x == nil || x.Name != "" || x.Str != nil && jqClosedText(x.Str) || !x.IsSlice && x.Start != nil && jqClosed(x.Start)
}

func jqPlainSuffixes(list []*gojq.Suffix) bool {
	for _, s := range list {
		if s.Iter || !jqPlainIndex(s.Index) {
			return false
		}
	}
	return true
}

func jqClosedText(s *gojq.String) bool {
	for _, q := range s.Queries {
		if !jqClosed(q) {
			return false
		}
	}
	return true
}

// jqClosed accepts expressions of variables and constants.
func jqClosed(q *gojq.Query) bool {
	if len(q.FuncDefs) > 0 || len(q.Patterns) > 0 {
		return false
	}
	if q.Term == nil {
		switch q.Op {
		case gojq.OpAdd, gojq.OpSub, gojq.OpMul, gojq.OpDiv, gojq.OpMod, gojq.OpAlt:
			return jqClosed(q.Left) && jqClosed(q.Right)
		case gojq.OpPipe:
			return jqClosed(q.Left) && q.Right.Term != nil && q.Right.Term.Type == gojq.TermTypeFunc &&
				slices.Contains([]string{"tostring", "tonumber", "tojson", "length", "floor", "ascii_downcase"}, q.Right.Term.Func.Name)
		}
		return false
	}
	if !jqPlainSuffixes(q.Term.SuffixList) {
		return false
	}
	switch t := q.Term; t.Type {
	case gojq.TermTypeNumber, gojq.TermTypeNull, gojq.TermTypeTrue, gojq.TermTypeFalse:
		return true
	case gojq.TermTypeString:
		return jqClosedText(t.Str)
	case gojq.TermTypeFunc:
		return t.Func.Name[0] == '$'
	case gojq.TermTypeArray:
		return t.Array.Query == nil || jqClosed(t.Array.Query)
	case gojq.TermTypeQuery:
		return jqClosed(t.Query)
	case gojq.TermTypeObject:
		for _, kv := range t.Object.KeyVals {
			if kv.Val == nil || !jqClosed(kv.Val) || kv.KeyQuery != nil || kv.KeyString != nil && kv.KeyString.Queries != nil {
				return false
			}
		}
		return true
	}
	return false
}
