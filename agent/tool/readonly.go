package tool

import (
	"slices"
	"strings"
	"sync"

	"hako/shell/spec"
)

// A reader is a read-only command of execute. Its spec says which options are allowed: those that are listed, do not
// write a file and are not marked as refused.
type reader struct {
	*spec.Spec
	join     []string // options whose value must be in the same word
	sandbox  bool     // always gets the option --sandbox
	measures string   // the only option with which it shows nothing of a file, so that the file need not be text
}

// readerOf returns the reader of a name. Only commands whose spec allows it are.
func readerOf(name string) (reader, bool) {
	r := reader{Spec: spec.Lookup(name)}
	switch name {
	case "curl":
		r.Spec = curlSpec()
	case "awk", "sed":
		r.sandbox = true
	case "diff":
		r.join = []string{"-U", "-C"}
	case "wc":
		r.measures = "c"
	}
	return r, r.Spec != nil && r.Execute
}

// textsOnly reports whether no operand is a file.
func (r reader) textsOnly() bool {
	return !slices.ContainsFunc(r.Operands.Kinds, func(k spec.Kind) bool { return k != spec.KindText })
}

// maxOperands is how many operands are allowed: those before one that would be written. 0 means any number.
func (r reader) maxOperands() int {
	if r.Operands.Repeated || r.textsOnly() {
		return 0
	}
	if i := slices.Index(r.Operands.Kinds, spec.KindWrite); i >= 0 {
		return i
	}
	return len(r.Operands.Kinds)
}

// Names lists the commands that execute knows, sorted.
func Names() []string { return slices.Clone(readerNames()) }

var readerNames = sync.OnceValue(func() []string {
	return slices.Sorted(slices.Values(append(spec.Executable(), "curl")))
})

// allowed is the hint of every refusal that is about the command's form.
func allowed() string {
	return "allowed are simple commands joined by |, of " + strings.Join(Names(), ", ")
}
