package shell

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"hako/shell/vfs"
)

// flowCommand returns the commands that change what runs next.
func (p *proc) flowCommand(name string) func([]string) error {
	switch name {
	case "exit":
		return p.exit
	case "return":
		return p.returnCmd
	case "break", "continue":
		return func(args []string) error { return p.leaveLoop(name, args) }
	case "eval":
		return func(args []string) error { return p.evalCmd(strings.Join(afterDashes(args), " ")) }
	case ".", "source":
		return p.source
	case "exec":
		return p.execCmd
	case "command":
		return p.commandCmd
	case "builtin":
		return p.builtinCmd
	case "type":
		return p.typeCmd
	case "trap":
		return p.trapCmd
	case "sh", "bash", "llmsh":
		return func(args []string) error { return p.shell(name, args) }
	case "alias":
		return func([]string) error { return errors.New("aliases do not exist in scripts; write a function") }
	case "umask":
		return p.umaskCmd
	case "ulimit":
		return func([]string) error { return p.write(1, []byte("unlimited\n")) }
	}
	return nil
}

// umaskCmd remembers the mask that scripts like to set. All files belong to
// the same user here, so it changes nothing else.
func (p *proc) umaskCmd(args []string) error {
	for len(args) > 0 && (args[0] == "-p" || args[0] == "-S") {
		args = args[1:]
	}
	if len(args) == 0 {
		p.print(fmt.Sprintf("%04o", p.mask))
		return nil
	}
	n, err := strconv.ParseUint(args[0], 8, 9)
	switch {
	case err == nil:
		p.mask = n
	case args[0] == "" || args[0][0] <= '9':
		return fmt.Errorf("%s: octal number out of range", args[0])
	}
	return nil
}

// statusArg reads the status given to exit and return.
func (p *proc) statusArg(name string, args []string) int {
	if len(args) == 0 {
		return p.status
	}
	n, err := strconv.ParseInt(strings.TrimSpace(args[0]), 10, 64)
	if err != nil {
		p.errorf("%s: %s: numeric argument required", name, args[0])
		return 2
	}
	return int(uint8(n))
}

func (p *proc) exit(args []string) error {
	p.status = p.statusArg("exit", args)
	p.flow = exiting
	return asStatus(p.status)
}

func asStatus(n int) error {
	if n == 0 {
		return nil
	}
	return Status(n)
}

func (p *proc) returnCmd(args []string) error {
	if len(p.frames) == 0 && p.sourced == 0 {
		p.errorf("return: can only `return' from a function or sourced script")
		return Status(2)
	}
	n := p.statusArg("return", args)
	p.flow = returning
	return asStatus(n)
}

func (p *proc) leaveLoop(name string, args []string) error {
	if p.loops == 0 {
		p.errorf("%s: only meaningful in a `for', `while', or `until' loop", name)
		return nil
	}
	n := 1
	if len(args) > 0 {
		var err error
		if n, err = strconv.Atoi(args[0]); err != nil || n < 1 {
			p.errorf("%s: %s: loop count out of range", name, args[0])
			p.levels, p.flow = p.loops, breaking
			return Status(1)
		}
	}
	p.levels = min(n, p.loops)
	p.flow = breaking
	if name == "continue" {
		p.flow = continuing
	}
	return nil
}

// eval runs text in this shell.
func (p *proc) eval(src string) {
	if size := int64(min(len(src), 1<<20)) * perSourceByte; size > checkFrom { // longer ones are not parsed
		if err := p.ses.Limiter.Hold(size); err != nil {
			p.stop(err)
			return
		}
		defer func() { _ = p.ses.Limiter.Hold(-size) }()
	}
	prog, err := p.ses.Parse(src)
	if err != nil {
		p.errorf("eval: %v", err)
		p.status = 2
		return
	}
	if err := p.tooDeep(); err != nil {
		p.stop(err)
		return
	}
	if len(prog.Stmts) == 0 {
		p.status = 0
	}
	p.depth++
	p.stmts(prog.Stmts)
	p.depth--
}

// afterDashes drops the "--" that ends options.
func afterDashes(args []string) []string {
	if len(args) > 0 && args[0] == "--" {
		return args[1:]
	}
	return args
}

func (p *proc) evalCmd(src string) error {
	p.eval(src)
	return asStatus(p.status)
}

// source runs a file in this shell.
func (p *proc) source(args []string) error {
	if len(args) == 0 {
		p.errorf("source: filename argument required")
		return Status(2)
	}
	src, err := p.readScript(args[0])
	if err != nil {
		if stops(err) {
			return err
		}
		p.errorf("%s: %s", args[0], vfs.Reason(err))
		return Status(1)
	}
	params, file, changed := p.params, p.file, p.newParams
	if len(args) > 1 {
		p.params = args[1:]
	}
	p.file, p.newParams = args[0], false
	p.sourced++
	p.eval(src)
	p.sourced--
	if len(args) > 1 && !p.newParams {
		p.params = params
	}
	p.trap("RETURN")
	p.file, p.newParams = file, changed || p.newParams
	if p.flow == returning {
		p.flow = next
	}
	return asStatus(p.status)
}

// execCmd runs a command in place of the rest of the script.
func (p *proc) execCmd(args []string) error {
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		named := strings.HasSuffix(args[0], "a") && len(args) > 1 // -a NAME, which nobody here would see
		if args = args[1:]; named {
			args = args[1:]
		}
	}
	if len(args) == 0 {
		return nil
	}
	p.dropTrap("EXIT") // there is no shell left to run it
	p.oneDeeper(func() { p.runWords(args) })
	if p.flow == next {
		p.flow = exiting
	}
	return asStatus(p.status)
}

// oneDeeper runs a command that another one is about: command, builtin and exec
// can be written in front of each other any number of times.
func (p *proc) oneDeeper(run func()) {
	if err := p.tooDeep(); err != nil {
		p.stop(err)
		return
	}
	p.depth++
	run()
	p.depth--
}

func (p *proc) commandCmd(args []string) error {
	verbose := ""
	for len(args) > 0 && strings.HasPrefix(args[0], "-") && len(args[0]) > 1 {
		if args[0] == "--" {
			args = args[1:]
			break
		}
		if strings.Trim(args[0], "-pvV") != "" {
			return ErrUsage
		}
		if strings.ContainsAny(args[0], "vV") {
			verbose = args[0][strings.LastIndexAny(args[0], "vV"):]
		}
		args = args[1:]
	}
	if len(args) == 0 {
		return nil
	}
	if verbose != "" {
		return p.describeNames(args, strings.Contains(verbose, "V"))
	}
	p.oneDeeper(func() { p.builtin(args) })
	return asStatus(p.status)
}

func (p *proc) builtinCmd(args []string) error {
	if len(args) == 0 {
		return nil
	}
	if _, ok := p.within(args[0]); !ok {
		return fmt.Errorf("%s: not a shell builtin", args[0])
	}
	p.oneDeeper(func() { p.builtin(args) })
	return asStatus(p.status)
}

// describeNames prints what names stand for, for command -v and -V. One name
// that is found is enough for success.
func (p *proc) describeNames(names []string, long bool) error {
	status := 1
	for _, name := range names {
		kind := p.kindOf(name)
		if kind != "" {
			status = 0
			p.print(description(name, kind, long))
		} else if long {
			p.errorf("command: %s: not found", name)
		}
	}
	return asStatus(status)
}

func description(name, kind string, long bool) string {
	switch {
	case long:
		return sentence(name, kind)
	case kind == "file":
		return BinDir + name
	}
	return name
}

func (p *proc) print(line string) { _ = p.write(1, []byte(line+"\n")) }

// BinDir is where every command says it is: scripts expect a path, though there
// is no such file.
const BinDir = "/usr/bin/"

// keywords are words with a meaning of their own.
const keywords = " if then else elif fi case esac for while until do done in function { } ! [[ ]] time select coproc "

func (p *proc) kindOf(name string) string {
	if strings.Contains(keywords, " "+name+" ") {
		return "keyword"
	}
	if _, ok := p.funcs[name]; ok {
		return "function"
	}
	if isShellCommand(name) && p.ses.has(name) {
		return "builtin"
	}
	if _, ok := p.find(name); ok {
		return "file"
	}
	return ""
}

func sentence(name, kind string) string {
	switch kind {
	case "keyword":
		return name + " is a shell keyword"
	case "builtin":
		return name + " is a shell builtin"
	case "function":
		return name + " is a function"
	}
	return name + " is " + BinDir + name
}

func (p *proc) typeCmd(args []string) error {
	mode := ""
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		mode += args[0][1:]
		args = args[1:]
	}
	if strings.Trim(mode, "afptP-") != "" {
		return ErrUsage
	}
	status := 0
	for _, name := range args {
		kind := p.kindOf(name)
		switch {
		case kind == "":
			status = 1
			if !strings.ContainsAny(mode, "tpP") {
				p.errorf("type: %s: not found", name)
			}
		case strings.Contains(mode, "t"):
			p.print(kind)
		case strings.ContainsAny(mode, "pP"):
			if kind == "file" {
				p.print(BinDir + name)
			}
		default:
			p.print(sentence(name, kind))
			if kind == "function" {
				p.print(p.funcs[name].source())
			}
		}
	}
	return asStatus(status)
}

// source returns the text of a function.
func (f *function) source() string {
	body := strings.TrimRight(printNode(f.body), "\n")
	body = strings.ReplaceAll(body, "\t", "    ")
	return f.name + " () \n" + body
}

// shell runs sh, bash and llmsh: a script in a subshell of this one.
func (p *proc) shell(name string, args []string) error {
	if err := p.tooDeep(); err != nil {
		return err
	}
	c := p.sub(p.ctx)
	c.opts, c.top = options{extglob: true}, true
	c.frames, c.traps, c.quiet = nil, nil, 0
	c.funcs, c.shared = p.exportedFuncs(), false
	c.exportedOnly()
	var err error
	c.live(func() {
		var src string
		if src, err = c.shellArgs(name, args); err == nil {
			c.eval(src)
		}
	})
	if err != nil {
		return err
	}
	p.adopt(c)
	return asStatus(c.status)
}

// exportedOnly hides the variables that a new shell would not inherit.
func (p *proc) exportedOnly() {
	for _, name := range p.vars.names() {
		v := p.vars.get(name)
		if v.attrs&exported == 0 && name != "IFS" && name != "OPTIND" && name != "PS4" && name != "BASH_VERSION" {
			p.vars.unset(name)
		}
	}
	ifs := p.vars.own("IFS")
	ifs.str, ifs.set = " \t\n", true
}

// shellArgs reads the words after sh and returns the script.
func (p *proc) shellArgs(name string, args []string) (string, error) {
	command, stdin := false, false
	for len(args) > 0 && len(args[0]) > 1 && (args[0][0] == '-' || args[0][0] == '+') {
		word := args[0]
		args = args[1:]
		if word == "--" {
			break
		}
		if strings.HasPrefix(word, "--") {
			continue
		}
		command = command || strings.Contains(word, "c")
		stdin = stdin || strings.Contains(word, "s")
		letters := []string{strings.NewReplacer("c", "", "l", "", "i", "", "s", "").Replace(word)}
		if strings.HasSuffix(word, "o") && len(args) > 0 { // -euo pipefail
			letters = append(letters, args[0])
			args = args[1:]
		}
		if len(letters[0]) > 1 {
			_ = p.set(letters)
		}
	}
	p.params, p.argv0, p.file = nil, name, ""
	switch {
	case command && len(args) == 0:
		p.errorf("%s: -c: option requires an argument", name)
		return "", Status(2)
	case command:
		if len(args) > 1 {
			p.argv0, p.params = args[1], args[2:]
		}
		return args[0], nil
	case stdin:
		p.params = args
	case len(args) > 0 && args[0] != "-":
		p.params, p.argv0, p.file = args[1:], args[0], args[0]
		src, err := p.readScript(args[0])
		if err != nil && !stops(err) {
			p.errorf("%s: %s: %s", name, args[0], vfs.Reason(err))
			err = Status(127)
		}
		return src, err
	}
	return p.readScript("-")
}

// readScript reads a script from a file or from standard input.
func (p *proc) readScript(name string) (string, error) {
	if !IsStdin(name) {
		src, err := p.ses.FS.ReadFile(p.path(name))
		return string(src), err
	}
	g := &gathered{p: p}
	if d := p.fds.get(0); d != nil && d.r != nil {
		if _, err := d.r.WriteTo(g); err != nil {
			return "", err
		}
	}
	return string(g.b), nil
}
