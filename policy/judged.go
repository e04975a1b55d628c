package policy

import (
	"context"

	"mvdan.cc/sh/v3/syntax"

	"hako/run/fault"
)

// Judged is a script that was parsed and judged before anything is expanded.
type Judged struct {
	Program  *syntax.File // the tree that was judged; nil if that happened in another process
	Verdicts []Verdict

	// Text is the tree, printed anew for a runner that reads the text itself,
	// and Printed the verdict on that, see [Reprint]. Both are empty unless
	// they were wanted.
	Text    string
	Printed Verdict
}

// ScriptAt parses a script that begins in dir and judges it. An empty dir is
// where the policy itself stands. Reprinted wants the text for a runner that
// reads it itself.
func (p *Policy) ScriptAt(_ context.Context, dir, script string, reprinted bool) (Judged, error) {
	file, err := ParseScript(script)
	if err != nil {
		return Judged{}, err
	}
	j := Judged{Program: file, Verdicts: p.ProgramAt(dir, file)}
	if reprinted {
		j.Text, j.Printed = Reprint(file)
	}
	return j, nil
}

// UnmarshalText reads an effect as [Effect.MarshalText] spells it.
func (e *Effect) UnmarshalText(text []byte) error {
	for i, name := range effectNames {
		if name == string(text) {
			*e = Effect(i)
			return nil
		}
	}
	return &fault.Error{Kind: fault.Invalid, Op: "read effect", Subject: string(text), Why: "there is no such effect"}
}
