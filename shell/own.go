package shell

// own is a command that needs the state of the shell itself.
type own struct {
	args, summary string
}

// Usage returns its usage line.
func (c own) Usage(name string) string { return Command{Name: name, Usage: c.args}.UsageLine() }

// shellCommands lists the commands of the shell itself. What they do is in
// [proc.ownCommand]; a test keeps the two in step.
var shellCommands = map[string]own{
	":":         {"[word...]", "do nothing"},
	".":         {"file [word...]", "run the commands of a file in this shell"},
	"source":    {"file [word...]", "run the commands of a file in this shell"},
	"[":         {"expression ]", "test a condition"},
	"test":      {"expression", "test a condition"},
	"true":      {"", "succeed"},
	"false":     {"", "fail"},
	"echo":      {"[-neE] [word...]", "print words"},
	"printf":    {"[-v name] format [word...]", "print words by a format"},
	"cd":        {"[dir]", "change the current directory"},
	"pwd":       {"[-LP]", "print the current directory"},
	"pushd":     {"[dir]", "change the directory and remember the old one"},
	"popd":      {"", "go back to the directory remembered last"},
	"dirs":      {"", "list the remembered directories"},
	"exit":      {"[status]", "end the script"},
	"return":    {"[status]", "end a function"},
	"break":     {"[levels]", "end a loop"},
	"continue":  {"[levels]", "go on with the next turn of a loop"},
	"export":    {"[-np] [name[=value]...]", "make variables visible to commands"},
	"readonly":  {"[-ap] [name[=value]...]", "make variables unchangeable"},
	"declare":   {"[-aAfFgilnprux] [name[=value]...]", "declare variables"},
	"typeset":   {"[-aAfFgilnprux] [name[=value]...]", "declare variables"},
	"local":     {"[name[=value]...]", "declare variables of a function"},
	"unset":     {"[-fvn] name...", "forget variables or functions"},
	"set":       {"[-abefhkmnptuvxBCEHPT] [-o option] [word...]", "set options and positional parameters"},
	"shift":     {"[n]", "drop positional parameters"},
	"shopt":     {"[-pqsu] [option...]", "set shell options"},
	"eval":      {"[word...]", "run words as a script"},
	"exec":      {"[command [word...]]", "run a command instead of the rest, or keep redirections"},
	"command":   {"[-pvV] name [word...]", "run a command, passing over functions"},
	"builtin":   {"name [word...]", "run a builtin, passing over functions"},
	"type":      {"[-afptP] name...", "say what a name stands for"},
	"hash":      {"", "do nothing: there are no programs to remember"},
	"read":      {"[-ers] [-a array] [-d delim] [-n count] [-N count] [-p prompt] [-t seconds] [-u fd] [name...]", "read a line into variables"},
	"mapfile":   {"[-d delim] [-n count] [-O origin] [-s skip] [-t] [-u fd] [array]", "read lines into an array"},
	"readarray": {"[-d delim] [-n count] [-O origin] [-s skip] [-t] [-u fd] [array]", "read lines into an array"},
	"let":       {"expression...", "evaluate arithmetic"},
	"getopts":   {"optstring name [word...]", "read options"},
	"trap":      {"[action signal...]", "run an action at EXIT, ERR or RETURN"},
	"wait":      {"[-n] [id...]", "wait for background jobs, if there are any"},
	"jobs":      {"[-lpr]", "list background jobs, if there are any"},
	"kill":      {"[-s signal | -signal] id...", "end background jobs"},
	"alias":     {"", "refused: aliases do not exist in scripts"},
	"unalias":   {"", "do nothing: there are no aliases"},
	"umask":     {"[mask]", "print the file mode mask"},
	"ulimit":    {"", "print that the session has limits of its own"},
	"times":     {"", "print used time"},
	"sh":        {"[-ceux] [script [word...]]", "run a script in a subshell"},
	"bash":      {"[-ceux] [script [word...]]", "run a script in a subshell"},
	"llmsh":     {"[-ceux] [script [word...]]", "run a script in a subshell"},
}

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
