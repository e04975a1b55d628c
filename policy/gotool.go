package policy

import (
	"slices"
	"strings"
)

// judgeGo judges the go command. Its flags have one dash or two.
func (c *command) judgeGo(args []word) *finding {
	if len(args) == 0 {
		return nil
	}
	if dir, rest, ok := goDir(args); ok {
		if f := c.file(dir, false); f != nil {
			return f
		}
		c.changeTo(dir)
		args = rest
	}
	if len(args) == 0 {
		return nil
	}
	sub := args[0].text
	if strings.HasPrefix(sub, "-") {
		return c.refuseOption(sub, "the option stands where the subcommand has to", "write the subcommand first")
	}
	rest := args[1:]
	for i := range rest {
		if dir, _, ok := goDir(rest[i:]); ok {
			c.addDir(dir)
		}
	}
	if sub == "tool" && opensBrowser(rest) {
		return c.refuseOption("-html", "without -o it opens a browser", "write the page to a file: -html=c.out -o c.html")
	}
	for i := 0; i < len(rest); i++ {
		t := rest[i].text
		if t == "-args" || t == "--args" || t == "--" {
			return c.judgeUnknownProgram(rest[i+1:])
		}
		if len(t) < 2 || t[0] != '-' {
			if sub == "run" && i > 0 && !strings.HasPrefix(rest[i-1].text, "-") {
				return c.judgeUnknownProgram(rest[i:]) // the program's own arguments
			}
			if f := c.judgeUnknownWord(rest[i]); f != nil {
				return f
			}
			continue
		}
		took, f := c.judgeGoFlag(sub, rest[i], rest[i+1:])
		if f != nil {
			return f
		}
		if took {
			i++
		}
	}
	return nil
}

// opensBrowser reports whether go tool cover opens a page in a browser.
func opensBrowser(args []word) bool {
	has := func(name string) bool {
		return slices.ContainsFunc(args, func(w word) bool {
			key, _, _ := strings.Cut(strings.TrimLeft(w.text, "-"), "=")
			return key == name && strings.HasPrefix(w.text, "-")
		})
	}
	return has("html") && !has("o")
}

// goDir splits off -C DIR, -C=DIR, --C DIR or --C=DIR.
func goDir(args []word) (dir word, rest []word, ok bool) {
	key, text, given := strings.Cut(args[0].text, "=")
	switch {
	case key != "-C" && key != "--C":
		return word{}, nil, false
	case given:
		return args[0].with(text), args[1:], true
	}
	return args[min(1, len(args)-1)], args[min(2, len(args)):], true
}

func (c *command) judgeGoFlag(sub string, w word, rest []word) (took bool, f *finding) {
	name, text, given := strings.Cut(strings.TrimLeft(w.text, "-"), "=")
	kind, ok := builtin("go").flags[strings.TrimPrefix(name, "test.")]
	if !ok || sub == "env" && (name == "w" || name == "u") {
		return false, c.refuseOption("-"+name, "the flag is not on the list of flags known to be safe", "leave it out")
	}
	val := w.with(text)
	if kind != 0 && !given && len(rest) > 0 && !takesNoValue(sub, name) {
		val, took, given = rest[0], true, true
	}
	switch {
	case (name == "ldflags" || name == "gcflags") && !areHarmlessToolFlags(name, val):
		return took, c.refuseOption("-"+name, "the compiler or linker could run another program or write a file",
			"use -s, -w and -X, or -N, -l and -m only")
	case kind == '@' && given:
		return took, c.file(val, true)
	case name == "replace":
		return took, c.judgeUnknownWord(val)
	}
	return took, nil
}

// areHarmlessToolFlags reports whether all flags for the compiler or linker are on a list: -memprofile=x writes a
// file, -extld runs a program.
func areHarmlessToolFlags(name string, val word) bool {
	text := val.text
	if pattern, rest, ok := strings.Cut(text, "="); ok && !strings.HasPrefix(strings.TrimLeft(pattern, " '\""), "-") {
		text = rest // all=-N
	}
	allowed := " -N -l -m -m=1 -m=2 -S -B -e "
	if name == "ldflags" {
		allowed = " -s -w -s=true -w=true -s=false -w=false -buildid= -compressdwarf=false "
	}
	for fields := strings.Fields(text); len(fields) > 0; fields = fields[1:] {
		field := strings.Trim(fields[0], `'"`)
		switch {
		case name == "ldflags" && field == "-X" && len(fields) > 1:
			fields = fields[1:]
		case name == "ldflags" && strings.HasPrefix(field, "-X="):
		case val.loose || !hasWord(allowed, field):
			return false
		}
	}
	return true
}

// takesNoValue reports whether a flag takes no value with a subcommand.
func takesNoValue(sub, name string) bool {
	switch name {
	case "short", "json", "m", "e", "r":
		return true
	case "list":
		return sub != "test"
	}
	return false
}

// nestedInGo judges the programs of -exec, -toolexec and -vettool.
func (c *command) nestedInGo(args []word) *finding {
	for i := 0; i < len(args); i++ {
		t := args[i].text
		if t == "-args" || t == "--args" || t == "--" {
			return nil
		}
		if len(t) < 2 || t[0] != '-' {
			if i > 0 && args[0].text == "run" {
				return nil // the program's own arguments
			}
			continue
		}
		key, text, given := strings.Cut(strings.TrimLeft(t, "-"), "=")
		val := word{value: value{text: text, late: args[i].late}}
		kind := builtin("go").flags[key]
		tells := hasWord(" exec toolexec vettool ", key)
		if !given && (tells || kind != 0 && !takesNoValue(args[0].text, key)) && i+1 < len(args) {
			i++
			val = args[i]
		}
		if !tells {
			continue
		}
		if f := c.nestedScript(val); f != nil {
			f.where = "go: -" + key + " (" + f.where + ")"
			return f
		}
	}
	return nil
}
