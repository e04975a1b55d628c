package policy

import (
	"context"
	"strings"

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

// ScriptAt judges a script that begins in dir. An empty dir is the directory of
// the policy. Program is the tree of the script, which must be one of
// [ParseScript]; nil means that the script is parsed here. Reprinted asks for the
// text of the tree, for a runner that reads the text itself.
func (p *Policy) ScriptAt(_ context.Context, dir, script string, program *syntax.File, reprinted bool) (Judged, error) {
	file := program
	if file == nil {
		parsed, err := ParseScript(script)
		if err != nil {
			return Judged{}, err
		}
		file = parsed
	}
	j := Judged{Program: file, Verdicts: p.ProgramAt(dir, file)}
	if reprinted {
		j.Text, j.Printed = Reprint(file)
	}
	return j, nil
}

// Source prints a tree as shell source, for records and for people.
func Source(program *syntax.File) string {
	var b strings.Builder
	if err := syntax.NewPrinter().Print(&b, program); err != nil {
		return ""
	}
	return b.String()
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
