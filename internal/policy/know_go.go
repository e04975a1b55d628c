package policy

import "strings"

// goFlags are the flags of the go command that neither run a program of the
// caller's choice nor write outside of what they name.
const goFlags = "v x n a i race msan asan short json run: bench: benchmem benchtime: count: cover coverprofile@ covermode: coverpkg: timeout: parallel: p: tags: " +
	"ldflags: gcflags: o@ mod: modfile@ trimpath list: failfast cpu: vet: shuffle: skip: fuzz: fuzztime: fuzzminimizetime: cpuprofile@ memprofile@ blockprofile@ mutexprofile@ trace@ outputdir@ " +
	"buildvcs: work m f: u t e deps test compiled find export compat: go: C@ all src cmd c short: versions retracted reuse@ require: droprequire: replace: json print fmt s w d l r: e: pgo@ buildmode: dropreplace: h help race=: "

// goTool judges the go command. Its flags have one dash or two.
func (c *command) goTool(args []word) *finding {
	if len(args) == 0 {
		return nil
	}
	if len(args) > 2 && args[0].text == "-C" {
		if f := c.file(args[1], false); f != nil {
			return f
		}
		c.goTo(args[1])
		args = args[2:]
	}
	sub := args[0].text
	rest := args[1:]
	for i, w := range rest {
		if w.text == "-C" && i+1 < len(rest) {
			c.alsoAt(rest[i+1])
		} else if dir, ok := strings.CutPrefix(w.text, "-C="); ok {
			c.alsoAt(word{text: dir, late: w.late})
		}
	}
	for i := 0; i < len(rest); i++ {
		t := rest[i].text
		if t == "-args" || t == "--args" || t == "--" {
			return c.anyProgram(rest[i+1:])
		}
		if len(t) < 2 || t[0] != '-' {
			if sub == "run" && i > 0 && !strings.HasPrefix(rest[i-1].text, "-") {
				return c.anyProgram(rest[i:]) // the program's own arguments
			}
			if f := c.anyWord(rest[i]); f != nil {
				return f
			}
			continue
		}
		took, f := c.goFlag(sub, rest[i], rest[i+1:])
		if f != nil {
			return f
		}
		if took {
			i++
		}
	}
	return nil
}

func (c *command) goFlag(sub string, w word, rest []word) (took bool, f *finding) {
	name, text, given := strings.Cut(strings.TrimLeft(w.text, "-"), "=")
	kind, ok := findLong(goFlags, strings.TrimPrefix(name, "test."))
	if !ok || sub == "env" && (name == "w" || name == "u") {
		return false, c.refused("-"+name, "the flag is not on the list of flags known to be safe", "leave it out")
	}
	val := word{text: text, late: w.late, loose: w.loose, src: w.src}
	if kind != 0 && !given && len(rest) > 0 && !valueless(sub, name) {
		val, took, given = rest[0], true, true
	}
	switch {
	case (name == "ldflags" || name == "gcflags") && !harmlessToolFlags(name, val):
		return took, c.refused("-"+name, "the compiler or linker could run another program or write a file", "use -s, -w and -X, or -N, -l and -m only")
	case kind == '@' && given:
		return took, c.file(val, true)
	case name == "replace":
		return took, c.anyWord(val)
	}
	return took, nil
}

// harmlessToolFlags allows by list what is handed to the compiler and the
// linker: -memprofile=x writes a file, -extld runs a program.
func harmlessToolFlags(name string, val word) bool {
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
		case val.loose || !inList(allowed, field):
			return false
		}
	}
	return true
}

// valueless knows the flags that take a value with some subcommands only.
func valueless(sub, name string) bool {
	switch name {
	case "short", "json", "m", "e", "r":
		return true
	case "list":
		return sub != "test"
	}
	return false
}
