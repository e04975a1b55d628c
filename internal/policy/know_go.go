package policy

import "strings"

// goFlags are the flags of the go command that neither run a program of the
// caller's choice nor write outside of what they name.
const goFlags = "v x n a i race msan asan short json run: bench: benchmem benchtime: count: cover coverprofile@ covermode: coverpkg: timeout: parallel: p: tags: " +
	"ldflags: gcflags: o@ mod: modfile@ trimpath list: failfast cpu: vet: shuffle: skip: fuzz: fuzztime: fuzzminimizetime: cpuprofile@ memprofile@ blockprofile@ mutexprofile@ trace@ outputdir@ " +
	"buildvcs: work m f: u t e deps test compiled find export compat: go: C@ all src cmd c short: versions retracted reuse@ require: droprequire: replace: json print fmt s w d l r: e: pgo: buildmode: dropreplace: h help race=: "

// goTool judges the go command. Its flags have one dash or two.
func (c *command) goTool(args []word) *finding {
	if len(args) == 0 {
		return nil
	}
	sub := args[0].text
	rest := args[1:]
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
	val := word{text, w.late, w.loose, w.src}
	if kind != 0 && !given && len(rest) > 0 && !valueless(sub, name) {
		val, took, given = rest[0], true, true
	}
	switch {
	case (name == "ldflags" || name == "gcflags") && strings.Contains(val.text, "ext"):
		return took, c.refused("-"+name, "the linker could run another program", "use -s, -w and -X only")
	case kind == '@' && given:
		return took, c.file(val, true)
	}
	return took, nil
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
