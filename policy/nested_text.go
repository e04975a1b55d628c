package policy

import (
	"regexp"
	"strings"
	"sync"
)

// nestedInSed judges the commands in a sed script.
func (c *command) nestedInSed(args []word) *finding {
	a := parseLoosely(c.p.find("sed").takes, args)
	script, ok := sedScript(a)
	if _, file := a.get("-f", "--file"); !ok && (file || len(a.operands) == 0) {
		return nil // a file of the project is its own
	}
	if !ok {
		script = a.operands[0]
	}
	for _, brackets := range [...]bool{true, false} {
		f := c.sedRead(script.text, brackets)
		if f != nil && (f.where != "sed: script" || !script.late) {
			return f
		}
	}
	return nil
}

// sedRuns judges the command e of sed: what follows it, or, if nothing does,
// whatever sed has read.
func (c *command) sedRuns(text string) *finding {
	if strings.TrimSpace(text) == "" {
		return refusal("sed: e", "it runs what sed has read, which nobody has judged", "use sed to change text only")
	}
	f := c.nestedScript(literal(text))
	if f != nil {
		f.where = "sed: e (" + f.where + ")"
	}
	return f
}

// awkCall finds calls of system; the text in them if it is plain.
var awkCall = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\bsystem\s*\((\s*"((?:[^"\\]|\\.)*)"\s*\))?`)
})

var awkHidden = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`@\s*load\b|@\s*[A-Za-z_]\w*\s*\(`)
})

// nestedInAwk judges the commands in an awk program.
func (c *command) nestedInAwk(args []word) *finding {
	a := parseLoosely(c.p.find("awk").takes, args)
	var texts []string
	_, file := a.get("-f", "--file", "-E", "--exec")
	for _, o := range a.options {
		if o.name == "-e" || o.name == "--source" {
			texts = append(texts, o.val.text)
			file = true
		}
	}
	if !file && len(a.operands) > 0 {
		texts = append(texts, a.operands[0].text)
	}
	for _, text := range texts {
		c.cost.spend(costAwk * len(text))
		if f := c.awkText(strings.NewReplacer("\\\r\n", " ", "\\\n", " ").Replace(text)); f != nil {
			return f
		}
	}
	return nil
}

func (c *command) awkText(text string) *finding {
	if m := awkHidden().FindString(text); m != "" {
		return refusal("awk: "+strings.TrimRight(m, "( "), "it calls what nobody has judged", "write the function's name out")
	}
	for _, m := range awkCall().FindAllStringSubmatch(text, -1) {
		if f := c.awkRuns("system", m[2], m[1] != ""); f != nil {
			return f
		}
	}
	for _, r := range [...]awkReader{{}, {parenRule: true}, {brackets: true}, {parenRule: true, brackets: true}} {
		r.s = text
		if f := c.awkRead(&r); f != nil {
			return f
		}
	}
	return nil
}

// awkRuns judges a command that an awk program holds as one plain string.
func (c *command) awkRuns(how, text string, plain bool) *finding {
	if !plain {
		return refusal("awk: "+how, "the command it runs is put together at run time",
			"write the command as one string, or use a pipe of the shell")
	}
	f := c.nestedScript(literal(ansiC(strings.ReplaceAll(text, `\/`, "/"))))
	if f != nil {
		f.where = "awk: " + how + " (" + f.where + ")"
	}
	return f
}

// pipe judges a pipe of awk: print | "command" and "command" | getline.
func (r *awkReader) pipe(c *command) *finding {
	rest := strings.TrimLeft(strings.TrimPrefix(r.s[r.i+1:], "&"), " \t\n")
	if strings.HasPrefix(rest, "getline") {
		r.i = len(r.s) - len(rest)
		return c.awkRuns("| getline", r.str, r.plain && r.last == '"')
	}
	to := awkReader{s: rest}
	if !strings.HasPrefix(rest, `"`) {
		return c.awkRuns("|", "", false)
	}
	to.skip('"')
	after := strings.TrimLeft(rest[to.i:], " \t\r")
	ends := after == "" || strings.IndexByte(";}\n#)", after[0]) >= 0
	r.i = len(r.s) - len(rest) + to.i
	r.operand, r.last = true, '"'
	return c.awkRuns("|", strings.TrimSuffix(rest[1:to.i], `"`), ends)
}
