package policy

import (
	"path"
	"strings"
)

// judgeShell judges sh -c 'script'. A shell that reads its script from a file or a pipe is refused.
func judgeShell(c *command, args []word) *finding {
	if c.p.checks.opaque {
		return c.judgeShellFile(args)
	}
	for i, w := range args {
		if strings.HasPrefix(w.text, "-") && !strings.HasPrefix(w.text, "--") && strings.Contains(w.text, "c") &&
			i+1 < len(args) {
			return c.judgeScript(args[i+1])
		}
	}
	if len(args) == 1 && args[0].text == "--version" || !c.p.checks.strict && len(args) > 0 {
		return nil
	}
	return refusal(c.words[0].text, "what the shell reads is never judged", "write the commands into the script itself")
}

// judgeEval judges the words of eval as a script.
func judgeEval(c *command, args []word) *finding {
	var text strings.Builder
	late := false
	for i, w := range args {
		if i > 0 {
			text.WriteByte(' ')
		}
		text.WriteString(w.text)
		late = late || w.late
	}
	return c.judgeScript(word{value: value{text: text.String(), late: late}})
}

func judgeTrap(c *command, args []word) *finding {
	if len(args) == 0 || strings.HasPrefix(args[0].text, "-") {
		return nil
	}
	return c.judgeScript(args[0])
}

// shellSwitches are the short options of a shell that change neither where it reads its script nor what it runs.
const shellSwitches = "abefhklmnpruvxBCEHPT"

// shellWords are the long options of that kind.
const shellWords = " --norc --noprofile --posix --verbose --login "

// judgeShellFile judges a shell for a runner that never calls Call: -c is judged as a script, a file of the
// project may run like its other programs, and a shell that reads from a pipe is refused.
func (c *command) judgeShellFile(args []word) *finding {
	inline := false
	for i := 0; i < len(args); i++ {
		w := args[i]
		switch t := w.text; {
		case w.mayBeAnything():
			return refuseUndecided(c.words[0].text, w, "write the commands into the script itself")
		case t == "--" || t == "-":
			return c.judgeShellScript(args[i+1:], inline)
		case !strings.HasPrefix(t, "-") && !strings.HasPrefix(t, "+"):
			return c.judgeShellScript(args[i:], inline)
		case t == "--version" || t == "--help":
			return nil
		case strings.HasPrefix(t, "--"):
			if !hasWord(shellWords, t) {
				return c.unknownSwitch(t)
			}
		default:
			takes := strings.HasSuffix(t, "o") || strings.HasSuffix(t, "O")
			letters := strings.TrimRight(t[1:], "oO")
			if strings.Trim(letters, shellSwitches+"c") != "" || takes && i+1 < len(args) && args[i+1].late {
				return c.unknownSwitch(t)
			}
			inline = inline || strings.Contains(letters, "c")
			if takes {
				i++
			}
		}
	}
	return c.judgeShellScript(nil, inline)
}

func (c *command) unknownSwitch(option string) *finding {
	return refusal(c.words[0].text+": "+option, "this option may change what the shell reads", "leave "+option+" out")
}

// judgeShellScript judges the operands of a shell, the first of which is its script.
func (c *command) judgeShellScript(operands []word, inline bool) *finding {
	if len(operands) == 0 {
		return refusal(c.words[0].text, "what the shell reads is never judged", "write the commands into the script itself")
	}
	script := operands[0]
	switch {
	case inline:
		return c.judgeScript(script)
	case script.late && (script.mayBeAnything() || strings.HasPrefix(script.head, "/")):
		return refuseUndecided(c.words[0].text, script, "name a script of the project, such as scripts/test.sh")
	case isStdinFile(path.Clean(script.text)):
		return refusal(c.words[0].text, "what the shell reads is never judged", "write the commands into the script itself")
	}
	return nil
}

// isStdinFile reports whether a file is an open descriptor of the process.
func isStdinFile(file string) bool {
	return file == "/dev/stdin" || strings.HasPrefix(file, "/dev/fd/") || strings.HasPrefix(file, "/proc/") &&
		strings.Contains(file, "/fd/")
}

// plainShell reports whether the text of this command goes to sh, which may not be bash.
func (c *command) plainShell() bool {
	return !hasWord(" bash eval trap ", path.Base(c.words[0].text))
}
