package policy

import (
	"path"
	"slices"
	"strings"

	"hako/internal/lazyregexp"
)

// makeTools are the variables that name the programs of make's built-in rules.
func makeTools() string { return builtin("make").words("tools") }

// controlsMake reports whether a variable controls make, its shell or the programs that it runs.
func controlsMake(name string) bool {
	return hasWord(builtin("make").words("orders"), name) || hasPrefixIn(name, "order-prefixes")
}

// hasPrefixIn reports whether text begins with a word of a list.
func hasPrefixIn(text, list string) bool {
	for word := range strings.FieldsSeq(wordList(list)) {
		if strings.HasPrefix(text, word) {
			return true
		}
	}
	return false
}

// judgeMake judges targets and variables given to make.
func (c *command) judgeMake(a *arguments) *finding {
	if f := c.judgeFromDir(a, "-C", "--directory"); f != nil {
		return f
	}
	for _, w := range a.operands {
		name, text, isVar := strings.Cut(w.text, "=")
		if !isVar {
			continue
		}
		if f := c.judgeMakeVariable(name, w.with(text)); f != nil {
			return f
		}
	}
	return c.judgeUnknownProgram(a.operands)
}

func (c *command) judgeMakeVariables(args []word) *finding {
	for _, w := range args {
		if name, text, ok := strings.Cut(w.text, "="); ok && !strings.HasPrefix(name, "-") {
			if f := c.judgeMakeVariable(name, w.with(text)); f != nil {
				return f
			}
		} else if strings.HasPrefix(w.text, "--eval") || strings.HasPrefix(w.text, "-E") {
			return c.refuseOption("--eval", "make would run what it is given", "put it into the Makefile")
		}
	}
	return nil
}

// judgeMakeVariable judges NAME=value given to make. A shell reads the value in recipes, and some values are
// commands.
func (c *command) judgeMakeVariable(name string, val word) *finding {
	runs := strings.HasSuffix(name, "!") // X!=id runs id
	name = strings.TrimRight(name, ":?+")
	if runs || !isName(name) || controlsMake(name) || name == "ENV" && strings.Contains(val.text, "/") ||
		strings.ContainsAny(val.text, "$`;|&<>\n") {
		return refusal("make: "+name+"=", "the variable could run another program", "set it in the Makefile")
	}
	fields := literalFields(val.text)
	if isCompilerFlags(name) {
		if f := c.judgeCompilerFlags("make: "+name+"=", fields, val.late); f != nil {
			return f
		}
	}
	for _, w := range fields {
		if strings.HasPrefix(w.text, "-wrapper") || strings.HasPrefix(w.text, "-fplugin=") ||
			strings.HasPrefix(w.text, "-specs=") {
			return refusal("make: "+name+"=", "the compiler would run or load what "+w.text+" names", "leave it out")
		}
		if f := c.judgeUnknownWord(word{value: value{text: w.text, late: val.late}}); f != nil {
			return f
		}
	}
	if isToolVariable(name) || name == "CROSS_COMPILE" && strings.Contains(val.text, "/") || c.isCommandLine(fields) {
		return c.judgeBuildTool("make: "+name+"=", fields)
	}
	return nil
}

// nestedInMake judges the variables whose value make runs.
func (c *command) nestedInMake(args []word) *finding {
	for _, w := range args {
		name, text, ok := strings.Cut(w.text, "=")
		if strings.HasSuffix(name, "!") && !strings.HasPrefix(name, "-") {
			if f := c.nestedScript(word{value: value{text: text, late: w.late}}); f != nil {
				return f // X!=id runs id
			}
		}
		name = strings.TrimRight(name, ":?+!")
		shell := name == "SHELL" && !hasWord(" sh bash dash ", text[strings.LastIndexByte(text, '/')+1:])
		if !ok || w.late || !shell && !hasWord(makeTools(), name) {
			continue
		}
		if f := c.nestedScript(literal(text)); f != nil {
			f.where = "make: " + name + "= (" + f.where + ")"
			return f
		}
	}
	return nil
}

// isToolVariable reports whether a variable names a program by convention.
func isToolVariable(name string) bool {
	ends := func(suffix string) bool { return strings.HasSuffix(name, suffix) }
	return hasWord(makeTools(), name) || slices.ContainsFunc([]string{"_WRAPPER", "_LAUNCHER", "_CC", "_CXX", "_FOR_BUILD"},
		ends)
}

// isCompilerFlags reports whether a variable is passed to a compiler or linker by convention.
func isCompilerFlags(name string) bool {
	return strings.HasSuffix(name, "FLAGS") || hasWord(" LDLIBS LOADLIBES LIBS DEFS INCLUDES ", name) ||
		hasWord(makeTools(), name)
}

// isCommandLine reports whether a value is a wrapper with a command, or git with options, rather than prose.
func (c *command) isCommandLine(words []word) bool {
	if len(words) < 2 {
		return false
	}
	name := path.Base(words[0].text)
	shell := hasWord(" sh bash dash zsh ksh env ", name)
	return shell || (c.p.wrapping(name) != nil || name == "git") && strings.HasPrefix(words[1].text, "-")
}

// judgeCompilerFlags refuses flags that load or run code, and judges the files in flags.
func (c *command) judgeCompilerFlags(where string, flags []word, late bool) *finding {
	for i, w := range flags {
		if loadsCode(w.text) || i > 0 && loadsCode(flags[i-1].text+" "+w.text) {
			return refusal(where, "the compiler would run or load what "+w.text+" names", "leave it out")
		}
		if f := c.judgeUnknownWord(word{value: value{text: fileInFlag(w.text), late: late}}); f != nil {
			return f
		}
		if f := c.judgeUnknownWord(word{value: value{text: w.text, late: late}}); f != nil {
			return f
		}
	}
	return nil
}

// loadsCode reports whether a flag of a compiler or linker loads or runs code, also behind -Wl, and -Xlinker or
// as rustc spells it.
func loadsCode(flag string) bool {
	flag = strings.TrimPrefix(strings.TrimPrefix(flag, "-Xlinker "), "-Xlinker=")
	if hasWord(" -fuse-ld=lld -fuse-ld=gold -fuse-ld=bfd -fuse-ld=mold ", flag) || strings.HasPrefix(flag, "-Bstatic") ||
		strings.HasPrefix(flag, "-Bdynamic") || strings.HasPrefix(flag, "-Bsymbolic") {
		return false
	}
	if rest, ok := strings.CutPrefix(flag, "-Wl,"); ok {
		return slices.ContainsFunc(strings.Split(rest, ","), loadsCode)
	}
	for _, codegen := range [...]string{"-C ", "-C", "--codegen ", "--codegen="} {
		rest, ok := strings.CutPrefix(flag, codegen)
		if key, value, _ := strings.Cut(rest, "="); ok && (key == "linker" || key == "linker-plugin-lto" &&
			strings.Contains(value, "/") || strings.HasPrefix(key, "link-arg") &&
			slices.ContainsFunc(strings.Fields(value), loadsCode)) {
			return true
		}
	}
	return hasPrefixIn(flag, "compiler-loads")
}

// fileInFlag returns the file in -include/etc/passwd, or "".
func fileInFlag(flag string) string {
	for p := range strings.FieldsSeq(wordList("compiler-files")) {
		if rest, ok := strings.CutPrefix(flag, p); ok {
			return strings.TrimPrefix(rest, "=")
		}
	}
	return ""
}

var buildToolName = lazyregexp.New(`^([a-z0-9_]+-)*(gcc|g\+\+|cc|c\+\+|clang|clang\+\+|clang-cl|tcc|cpp|icx|icpx|nvcc|gfortran|flang|rustc|ar|ranlib|nm|as|ld|lld|ld\.(lld|gold|bfd|mold)|mold|gold|strip|objcopy|flex|lex|bison|yacc|byacc|install|make|gmake|ninja)(-[0-9.]+)?$`)

// judgeBuildTool judges the program that a build uses, also behind ccache and the like.
func (c *command) judgeBuildTool(where string, words []word) *finding {
	for len(words) > 0 && hasWord(" ccache sccache distcc icecc ", words[0].text) {
		words = words[1:]
	}
	switch {
	case len(words) == 0:
		return nil
	case strings.Contains(words[0].text, "/"):
		return refusal(where, "programs are run by name, not by path", "use the name of an installed program")
	case buildToolName.Get().MatchString(words[0].text):
		return nil
	}
	return notAllowed(c.judgeInner(words))
}

// judgeCmake judges cmake -E, which has commands of its own and runs others, variables, and the arguments of
// --build for make.
func (c *command) judgeCmake(args []word) *finding {
	for i, w := range args {
		switch w.text {
		case "-E":
			return c.judgeCmakeCommand(args[i+1:])
		case "--":
			return c.judgeMakeVariables(args[i+1:])
		}
		if name, text, ok := strings.Cut(strings.TrimPrefix(w.text, "-D"), "="); ok {
			name, _, _ = strings.Cut(name, ":")
			if f := c.judgeCmakeVariable(name, literalFields(strings.ReplaceAll(text, ";", " ")), w.late); f != nil {
				return f
			}
		}
	}
	return nil
}

var cmakeToolVariable = lazyregexp.New(`_(COMPILER|LAUNCHER|LINKER|EMULATOR|CLANG_TIDY|CPPCHECK|CPPLINT|INCLUDE_WHAT_YOU_USE|LINK_WHAT_YOU_USE|AR|RANLIB|NM|STRIP|OBJCOPY|OBJDUMP|MAKE_PROGRAM|HOST_COMPILER)$|RULE_LAUNCH_`)

// judgeCmakeVariable judges -DNAME=value where the value is a program or compiler flags.
func (c *command) judgeCmakeVariable(name string, words []word, late bool) *finding {
	where := "cmake: -D" + name
	switch {
	case strings.Contains(name, "_FLAGS"):
		return c.judgeCompilerFlags(where, words, late)
	case !cmakeToolVariable.Get().MatchString(name) || len(words) > 0 && hasWord(wordList("cmake-checkers"), words[0].text):
		return nil
	}
	return c.judgeBuildTool(where, words)
}

func (c *command) judgeCmakeCommand(args []word) *finding {
	if len(args) == 0 || hasWord(" capabilities echo true false sleep make_directory touch compare_files environment ",
		args[0].text) {
		return nil
	}
	rest := args[1:]
	switch args[0].text {
	case "time":
		return c.judgeInner(rest)
	case "env":
		for len(rest) > 0 && (strings.HasPrefix(rest[0].text, "-") || strings.Contains(rest[0].text, "=")) {
			if name, _, ok := strings.Cut(rest[0].text, "="); !ok || strings.HasPrefix(name, "-") || c.p.checks.strict &&
				judgeVariable(name, true) != nil {
				return c.refuseOption("-E env", "the environment controls programs", "leave the environment as it is")
			}
			rest = rest[1:]
		}
		return c.judgeInner(rest)
	}
	return refusal("cmake: -E "+args[0].text, "it is one of cmake's own commands, whose words are not known",
		"use the command of that name, such as cp or rm")
}

// nestedInCmake judges the commands of cmake -E, compiler launchers, and the arguments of --build for make.
func (c *command) nestedInCmake(args []word) *finding {
	for len(args) > 0 && args[0].text != "-E" {
		if args[0].text == "--" {
			return c.nestedInMake(args[1:])
		}
		if name, text, ok := strings.Cut(args[0].text, "="); ok && !args[0].late && strings.Contains(name, "_LAUNCHER") {
			if f := c.nestedWords(literalFields(strings.ReplaceAll(text, ";", " "))); f != nil {
				return f
			}
		}
		args = args[1:]
	}
	if len(args) < 2 {
		return nil
	}
	rest := args[2:]
	switch args[1].text {
	case "rm":
		return c.nestedWords(args[1:])
	case "time":
		return c.nestedWords(rest)
	case "chdir":
		return c.nestedWords(rest[min(1, len(rest)):])
	case "env":
		for len(rest) > 0 && (strings.HasPrefix(rest[0].text, "-") || strings.Contains(rest[0].text, "=")) {
			rest = rest[1:]
		}
		return c.nestedWords(rest)
	}
	return nil
}
