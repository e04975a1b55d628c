package policy

import (
	"slices"
	"strings"
)

// cargo refuses a linker, and a toolchain, that is a program of the caller's choice.
func (c *command) cargo(args []word) *finding {
	if len(args) > 0 && args[0].text == "watch" &&
		(hasAny(args, "-s", "--shell") ||
			slices.ContainsFunc(args, func(w word) bool { return strings.HasPrefix(w.text, "--shell=") })) {
		return c.refused("watch -s", "what it gives to a shell is never judged", "use cargo watch -x")
	}
	for i, w := range args {
		joined := i > 0 && inList(" -C --codegen ", args[i-1].text) && loadsCode(args[i-1].text+" "+w.text)
		if strings.Contains(w.text, "linker=") || joined || strings.HasPrefix(w.text, "-C") && loadsCode(w.text) || i == 0 &&
			strings.HasPrefix(w.text, "+") && strings.Contains(w.text, "/") {
			return c.refused(w.text, "it can make another program run", "leave it out")
		}
	}
	return nil
}

// jvm refuses what the virtual machine of Java runs when it breaks down.
func (c *command) jvm(args []word) *finding {
	for _, w := range args {
		key, _, _ := strings.Cut(strings.TrimPrefix(w.text, "-J"), "=")
		if breaksDown(key) || strings.Contains(w.text, "-XX:OnError") || strings.Contains(w.text, "-XX:OnOutOfMemoryError") {
			return c.refused(key, "it names a command that runs when the program breaks down", "leave it out")
		}
	}
	return nil
}

// nestedInJava judges what the virtual machine of Java runs when it breaks down.
func (c *command) nestedInJava(args []word) *finding {
	for _, w := range args {
		if key, text, ok := strings.Cut(strings.TrimPrefix(w.text, "-J"), "="); ok && breaksDown(key) {
			return c.nestedScript(word{value: value{text: text, late: w.late}})
		}
	}
	return nil
}

func breaksDown(option string) bool {
	return option == "-XX:OnError" || option == "-XX:OnOutOfMemoryError"
}

// goals refuses the goals of mvn and the tasks of gradle that publish or run a
// program that is named to them. They may stand anywhere.
func (c *command) goals(name string, args []word) *finding {
	for _, w := range args {
		if name == "mvn" && mavenReaches(w.text) || name == "gradle" && gradleReaches(w.text) {
			return c.refused(w.text, "it publishes, or runs a program of the caller's choice", "build and test only")
		}
	}
	return nil
}

func mavenReaches(goal string) bool {
	plugin, task, _ := strings.Cut(goal, ":")
	return plugin == "deploy" || plugin == "exec" && task == "exec" || strings.Contains(goal, "maven-deploy-plugin") ||
		strings.Contains(goal, "exec-maven-plugin") && strings.HasSuffix(goal, ":exec")
}

func gradleReaches(path string) bool {
	task := path[strings.LastIndexByte(path, ':')+1:]
	return task == "publish" || task == "uploadArchives" || strings.HasPrefix(task, "publish") &&
		strings.HasSuffix(task, "Repository")
}

// nestedInMaven judges what exec:exec runs.
func (c *command) nestedInMaven(args []word) *finding {
	program, words := "", ""
	for _, w := range args {
		if text, ok := strings.CutPrefix(w.text, "-Dexec.executable="); ok {
			program = text
		} else if text, ok := strings.CutPrefix(w.text, "-Dexec.args="); ok {
			words = text
		}
	}
	return c.nestedWords(fieldsOf(program + " " + words))
}

// ctest refuses what is sent elsewhere, and judges the command that it is told
// to test with.
func (c *command) ctest(args []word) *finding {
	for i, w := range args {
		if w.text == "--test-command" {
			return c.toolOrNil(args[min(i+1, len(args)):])
		}
		if w.text == "--build-makeprogram" && i+1 < len(args) {
			if f := c.buildTool("ctest: "+w.text, fieldsOf(args[i+1].text)); f != nil {
				return f
			}
		}
		if strings.HasSuffix(strings.ToLower(w.text), "submit") {
			return c.refused(w.text, "it sends the results to another machine", "leave it out")
		}
	}
	return nil
}

// nestedInCtest judges the command that ctest is told to test with.
func (c *command) nestedInCtest(args []word) *finding {
	for i, w := range args {
		if w.text == "--test-command" {
			return c.nestedWords(args[i+1:])
		}
	}
	return nil
}

// tox judges the command that tox is told to run, and settings that are commands.
func (c *command) tox(args []word) *finding {
	for i, w := range args {
		key, _, _ := strings.Cut(w.text, "=")
		if inList(" -x --override ", key) || strings.HasPrefix(key, "-x") {
			return c.refused(key, "a setting of tox may be a command", "change tox.ini instead")
		}
		if w.text == "--" && i+1 < len(args) && hasAny(args[:i], "exec", "e") {
			return c.toolOrNil(args[i+1:])
		}
	}
	return nil
}

// dotnetProperties refuses the properties that are commands of the build.
func (c *command) dotnetProperties(args []word) *finding {
	for _, w := range args {
		low := strings.ToLower(w.text)
		if strings.Contains(low, "buildevent=") || strings.Contains(low, "customcommands=") ||
			strings.Contains(low, "csctoolexe=") || strings.Contains(low, "csctoolpath=") {
			return c.refused(w.text, "the property is a command that the build runs", "set it in the project file")
		}
	}
	return nil
}
