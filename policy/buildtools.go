package policy

import (
	"slices"
	"strings"
)

// cargo refuses a linker or a toolchain that is a program of the caller's choice.
func (c *command) cargo(args []word) *finding {
	if len(args) > 0 && args[0].text == "watch" &&
		slices.ContainsFunc(args, func(w word) bool { return w.text == "-s" || strings.HasPrefix(w.text+"=", "--shell=") }) {
		return c.refuseOption("watch -s", "what it gives to a shell is never judged", "use cargo watch -x")
	}
	for i, w := range args {
		joined := i > 0 && hasWord(" -C --codegen ", args[i-1].text) && loadsCode(args[i-1].text+" "+w.text)
		toolchain := i == 0 && strings.HasPrefix(w.text, "+") && strings.Contains(w.text, "/")
		if strings.Contains(w.text, "linker=") || joined || strings.HasPrefix(w.text, "-C") && loadsCode(w.text) || toolchain {
			return c.refuseOption(w.text, "it can make another program run", "leave it out")
		}
	}
	return nil
}

// nestedInJava judges the commands that a Java virtual machine runs when it crashes.
func (c *command) nestedInJava(args []word) *finding {
	for _, w := range args {
		key, text, ok := strings.Cut(strings.TrimPrefix(w.text, "-J"), "=")
		if ok && (key == "-XX:OnError" || key == "-XX:OnOutOfMemoryError") {
			return c.nestedScript(w.with(text))
		}
	}
	return nil
}

// nestedInMaven judges the command that exec:exec runs.
func (c *command) nestedInMaven(args []word) *finding {
	program, words := "", ""
	for _, w := range args {
		if text, ok := strings.CutPrefix(w.text, "-Dexec.executable="); ok {
			program = text
		} else if text, ok := strings.CutPrefix(w.text, "-Dexec.args="); ok {
			words = text
		}
	}
	return c.nestedWords(literalFields(program + " " + words))
}

// ctest judges the command that ctest runs as a test, and refuses to submit results.
func (c *command) ctest(args []word) *finding {
	for i, w := range args {
		if w.text == "--test-command" {
			return c.tool(args[i+1:])
		}
		if c.p.checks.opaque {
			continue
		}
		if w.text == "--build-makeprogram" && i+1 < len(args) {
			if f := c.judgeBuildTool("ctest: "+w.text, literalFields(args[i+1].text)); f != nil {
				return f
			}
		}
		if strings.HasSuffix(strings.ToLower(w.text), "submit") {
			return c.refuseOption(w.text, "it sends the results to another machine", "leave it out")
		}
	}
	return nil
}

// tox judges the command that tox runs.
func (c *command) tox(args []word) *finding {
	for i, w := range args {
		if w.text == "--" && i+1 < len(args) && hasAny(args[:i], "exec", "e") {
			return c.tool(args[i+1:])
		}
	}
	return nil
}
