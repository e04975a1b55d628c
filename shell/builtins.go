package shell

import "slices"

// shellCommands lists the commands of the shell itself, which need its state. What
// they do is in [proc.ownCommand], their texts in package spec; a test keeps the
// three in step.
var shellCommands = []string{
	":", ".", "source", "[", "test", "true", "false", "echo", "printf", "cd", "pwd", "pushd", "popd", "dirs",
	"exit", "return", "break", "continue", "export", "readonly", "declare", "typeset", "local", "unset", "set",
	"shift", "shopt", "eval", "exec", "command", "builtin", "type", "hash", "read", "mapfile", "readarray", "let",
	"getopts", "trap", "wait", "jobs", "kill", "alias", "unalias", "umask", "ulimit", "times", "sh", "bash",
	"llmsh",
}

func isShellCommand(name string) bool { return slices.Contains(shellCommands, name) }

// ownCommand returns the function behind a command of the shell itself.
func (p *proc) ownCommand(name string) func([]string) error {
	switch name {
	case ":", "true", "hash", "unalias", "times":
		return func([]string) error { return nil }
	case "wait", "jobs", "kill":
		return p.jobCommand(name)
	case "false":
		return func([]string) error { return Status(1) }
	case "echo":
		return p.echo
	case "printf":
		return p.printf
	case "[":
		return p.bracket
	case "test":
		return func(args []string) error { return p.testCommand("test", args) }
	case "cd":
		return p.cd
	case "pwd":
		return p.pwd
	case "pushd":
		return p.pushd
	case "popd":
		return p.popd
	case "dirs":
		return p.dirs
	case "read":
		return p.read
	case "mapfile", "readarray":
		return p.mapfile
	case "let":
		return p.let
	case "getopts":
		return p.getopts
	case "export", "readonly", "declare", "typeset", "local":
		return func(args []string) error { return p.declareWords(name, args) }
	case "unset":
		return p.unset
	case "set":
		return p.set
	case "shopt":
		return p.shopt
	case "shift":
		return p.shift
	}
	return p.flowCommand(name)
}
