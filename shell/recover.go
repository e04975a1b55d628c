package shell

import (
	"fmt"

	"hako/run/fault"
)

// guard runs a part of the interpreter. A bug in it ends the script, and not
// the process either; then it answers false.
func (p *proc) guard(part func()) (whole bool) {
	defer func() {
		if r := recover(); r != nil {
			p.stop(bug{broken("script", r)})
		}
	}()
	part()
	return true
}

// bug is why the interpreter itself broke. It ends the script, even if a command
// such as xargs has met it in what it ran.
type bug struct{ error }

func (b bug) Unwrap() error { return b.error }

func broken(what string, why any) error {
	return &fault.Error{Op: "run", Subject: what, Why: fmt.Sprintf("it broke: %v", why),
		Hint: "this is a bug in hako; please report the command"}
}
