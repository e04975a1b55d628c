package policy

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// ownJob stands for $!: a number that is only known at run time, but surely
// that of a job of this script.
const ownJob = "%!"

// mayStart reports whether a statement may run in the background. Inside eval
// and sh -c it may not: the script around them could not know of it.
func (w *walker) mayStart() bool { return w.p.checks.jobs && w.wrapped == 0 }

// job walks a statement that runs beside those after it, in a subshell of its
// own: its cd and its variables are gone when it ends.
func (w *walker) job(s *syntax.Stmt) {
	w.concurrent = true
	w.jobs++
	w.apart(func() { w.statement(s) })
	w.jobs--
	w.made = unknownInput
}

// kill judges the shell's own kill, which knows the jobs of its script and no
// other process. A number may be any process's; only where it is $! is it known
// for a job's. Call sees the number alone and relies on Script.
func (c *command) kill(args []word) *finding {
	if c.depth > 0 {
		return c.notOwn(c.words[0], "write kill %1 or kill $! as a command of its own")
	}
	if len(args) == 1 && args[0].text == "-l" {
		return nil
	}
	for _, w := range afterSignal(args) {
		number := c.expanded && w.text != "" && strings.Trim(w.text, "0123456789") == "" && strings.Trim(w.text, "0") != ""
		if w.loose || !strings.HasPrefix(w.text, "%") && !number {
			return c.notOwn(w, "use kill %1 or kill $!; a command that takes too long is ended by the time limit")
		}
	}
	return nil
}

func (c *command) notOwn(w word, hint string) *finding {
	f := refusal("kill: "+w.String(), "only the script's own jobs can be ended", hint)
	f.final = true
	return f
}

// afterSignal skips which signal to send: -9, -TERM, -s TERM or -n 9.
func afterSignal(args []word) []word {
	if len(args) > 0 && !args[0].late && len(args[0].text) > 1 && args[0].text[0] == '-' && args[0].text != "--" {
		takes := args[0].text == "-s" || args[0].text == "-n"
		args = args[1:]
		if takes && len(args) > 0 {
			args = args[1:]
		}
	}
	if len(args) > 0 && args[0].text == "--" {
		args = args[1:]
	}
	return args
}
