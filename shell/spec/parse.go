package spec

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// An Error is a mistake in the text of a spec.
type Error struct {
	Line int // counted from 1
	Why  string
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Why) }

// parse reads a text of one or more specs. After a mistake it returns an [*Error] and
// no spec.
func parse(text string) ([]*Spec, error) { return Dialect{}.Parse(text) }

// parse is the function [parse] for a dialect.
func (d Dialect) Parse(text string) (all []*Spec, err error) {
	p := parser{dialect: d}
	defer func() {
		switch e := recover().(type) {
		case nil:
		case *Error:
			all, err = nil, e
		default:
			panic(e)
		}
	}()
	for line := range strings.Lines(text) {
		p.line++
		p.read(strings.TrimRight(line, "\n"))
	}
	p.end()
	if len(p.all) == 0 {
		p.fail("there is no spec: begin with name: NAME")
	}
	return p.all, nil
}

// MustParse is Parse for the text of one spec in a program. It panics if the text is
// wrong.
func MustParse(text string) *Spec {
	list, err := parse(text)
	if err != nil {
		panic("spec: " + err.Error())
	}
	if len(list) != 1 {
		panic("spec: more than one spec")
	}
	return list[0]
}

type parser struct {
	dialect Dialect

	all    []*Spec
	line   int
	s      *Spec
	fields map[string]field
	refuse []field
	last   *field // that the next line may continue
	help   bool   // the fields are over
	blank  int    // empty lines at the end of the help so far
}

type field struct {
	key, text string
	line      int
}

// fail ends [Dialect.Parse] with an error.
func (p *parser) fail(format string, args ...any) {
	panic(&Error{p.line, fmt.Sprintf(format, args...)})
}

// read reads one line.
func (p *parser) read(line string) {
	name, isName := strings.CutPrefix(line, "name:")
	switch {
	case strings.ContainsRune(line, 0):
		p.fail("a NUL byte")
	case isName:
		p.begin(strings.TrimSpace(name))
	case p.help:
		p.addHelp(line)
	case strings.HasPrefix(line, "#"):
	case strings.TrimSpace(line) == "":
		p.help = p.s != nil && !p.dialect.Host
		p.endField()
	case p.s == nil:
		p.fail("a spec begins with name: NAME")
	case line[0] != ' ' && line[0] != '\t':
		p.beginField(line)
	case p.last == nil:
		p.fail("unexpected white space: the line continues no field")
	default:
		p.last.text += " " + strings.TrimSpace(line)
	}
}

// begin starts a spec.
func (p *parser) begin(name string) {
	p.end()
	if !p.isName(name) {
		p.fail("%q is not the name of a command", name)
	}
	p.s, p.fields = &Spec{Name: name, Line: p.line, Status: 1}, map[string]field{}
	p.refuse, p.help, p.blank = nil, false, 0
}

// isName reports whether text is the name of a command or of a subcommand.
func (p *parser) isName(text string) bool {
	words := strings.Fields(text)
	two := len(words) == 2 && p.dialect.Host
	return (len(words) == 1 || two) && strings.Join(words, " ") == text && !strings.Contains(text, "/")
}

func (p *parser) addHelp(line string) {
	if line == "" {
		p.blank++
		return
	}
	if p.s.Help != "" {
		p.s.Help += strings.Repeat("\n", p.blank+1)
	}
	p.blank = 0
	p.s.Help += line
}

const fieldNames = " also usage summary like options more operands host-operands given host order status judged execute refuse "

func (p *parser) beginField(line string) {
	p.endField()
	key, value, ok := strings.Cut(line, ":")
	if !ok {
		p.fail("%q is not a field: write FIELD: VALUE, or an empty line before the help", line)
	}
	if known := append(strings.Fields(fieldNames), p.dialect.Fields...); !slices.Contains(known, key) {
		p.fail("there is no field %q: known are name, %s", key, strings.Join(known, ", "))
	}
	if _, twice := p.fields[key]; twice {
		p.fail("the field %s is there twice", key)
	}
	p.last = &field{key, strings.TrimSpace(value), p.line}
}

func (p *parser) endField() {
	switch {
	case p.last == nil:
	case p.last.key == "refuse":
		p.refuse = append(p.refuse, *p.last)
	default:
		p.fields[p.last.key] = *p.last
	}
	p.last = nil
}

// end finishes a spec: it applies the fields and checks what depends on several of them.
func (p *parser) end() {
	if p.s == nil {
		return
	}
	p.endField()
	s, at := p.s, p.line
	p.inherit()
	for _, f := range []struct {
		key string
		set func(string)
	}{
		{"usage", func(v string) { s.Usage = v }},
		{"summary", func(v string) { s.Summary = v }},
		{"given", func(v string) { s.Given = strings.Fields(v) }},
		{"order", func(v string) { p.word(&s.POSIX, v, "posix") }},
		{"judged", func(v string) { p.word(&s.Judged, v, "code") }},
		{"host", func(v string) { p.word(&s.OffHost, v, "no") }},
		{"execute", func(v string) { p.word(&s.Execute, v, "yes") }},
		{"status", p.status},
		{"options", func(v string) { s.Options, s.Number, s.Any = nil, false, false; p.options(v) }},
		{"more", p.options},
		{"also", p.also},
		{"operands", func(v string) { s.Operands = p.operands(v); s.Host = s.Operands }},
		{"host-operands", func(v string) { s.Host = p.operands(v) }},
	} {
		if v, ok := p.fields[f.key]; ok {
			p.line = v.line
			f.set(v.text)
		}
	}
	s.extra = make(map[string]string)
	for _, key := range p.dialect.Fields {
		if f, ok := p.fields[key]; ok {
			s.extra[key] = f.text
		}
	}
	p.index()
	for _, f := range p.refuse {
		p.line = f.line
		p.refused(f.text)
	}
	if slices.ContainsFunc(p.all, func(other *Spec) bool { return other.Name == s.Name }) {
		p.fail("%s is there twice", s.Name)
	}
	p.all = append(p.all, s)
	p.s, p.line = nil, at
}

func (p *parser) also(value string) {
	p.s.Also = strings.Fields(value)
	if slices.ContainsFunc(p.s.Also, func(name string) bool { return !p.isName(name) }) {
		p.fail("%q are not names of commands", value)
	}
}

// inherit copies the spec that this one is like. The fields of this one follow.
func (p *parser) inherit() {
	p.s.Operands = Operands{[]Kind{KindRead}, true}
	p.s.Host = p.s.Operands
	f, ok := p.fields["like"]
	if !ok {
		return
	}
	p.line = f.line
	if f.text == p.s.Name && !p.dialect.Host {
		p.fail("%s is like itself", f.text)
	}
	other := p.find(f.text)
	if other == nil {
		p.fail("there is no spec %q to be like", f.text)
	}
	s := *other
	s.Name, s.Line, s.Also, s.Help = p.s.Name, p.s.Line, nil, cmp.Or(p.s.Help, s.Help)
	s.refuse, s.Execute = maps.Clone(other.refuse), false
	*p.s = s
}

// find returns the spec that another one is like.
func (p *parser) find(name string) *Spec {
	if name == p.s.Name {
		return Lookup(name) // hako has a command of that name
	}
	for _, s := range p.all {
		if s.Name == name {
			return s
		}
	}
	if p.dialect.Like != nil {
		return p.dialect.Like(name)
	}
	return Lookup(name)
}

func (p *parser) word(to *bool, value, want string) {
	if *to = value == want; !*to {
		p.fail("%q is not understood: the only value is %s", value, want)
	}
}

func (p *parser) status(value string) {
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 || n > 125 {
		p.fail("%q is not an exit status from 1 to 125", value)
	}
	p.s.Status = n
}

// options adds to the list of options.
func (p *parser) options(value string) {
	s := p.s
	s.Options = slices.Clip(s.Options) // it may be that of another spec
	for word := range strings.FieldsSeq(value) {
		switch word {
		case "#":
			s.Number = true
		case "*":
			s.Any = true
		default:
			s.Options = append(s.Options, p.option(word))
		}
	}
}

func (p *parser) option(word string) (o Option) {
	rest := word
	if rest, o.HostOnly = strings.CutSuffix(rest, "~"); !o.HostOnly {
		rest, o.OwnOnly = strings.CutSuffix(rest, "^")
	}
	names := strings.TrimRight(rest, ":?@>")
	if o.Values = rest[len(names):]; names == "" && len(o.Values) == 1 {
		return Option{[]string{o.Values}, "", o.HostOnly, o.OwnOnly} // zip -@
	}
	o.Names = strings.Split(names, ",")
	for _, name := range o.Names {
		if name == "" || name[0] == '-' && len(name) > 1 || strings.ContainsAny(name, ":?@>~^=#*") {
			p.fail("%q is not an option: write its names, joined by commas, and marks", word)
		}
	}
	if strings.IndexByte(o.Values, Optional) >= 0 && len(o.Values) > 1 {
		p.fail("%q: an optional value is the only one", word)
	}
	return o
}

// operands reads the kinds of operands.
func (p *parser) operands(value string) (o Operands) {
	if value == "none" {
		return o
	}
	for word := range strings.FieldsSeq(value) {
		if o.Repeated {
			p.fail("%q comes after an operand that stands for any number", word)
		}
		word, o.Repeated = strings.CutSuffix(word, "...")
		switch k := Kind(word); k {
		case KindText, KindRead, KindWrite, KindURL, KindCommand:
			o.Kinds = append(o.Kinds, k)
		default:
			p.fail("%q is not a kind of operand: there are text, read, write, url, command and none", word)
		}
	}
	if len(o.Kinds) == 0 {
		p.fail("a command without operands has operands: none")
	}
	return o
}

// index indexes the options by name.
func (p *parser) index() {
	s, host := p.s, map[string]*Option{}
	s.own = make(map[string]*Option, 2*len(s.Options))
	for i := range s.Options {
		o := &s.Options[i]
		for _, name := range o.Names {
			if !o.HostOnly && s.own[name] != nil || !o.OwnOnly && host[name] != nil {
				p.fail("the option %s of %s is there twice", name, s.Name)
			}
			if !o.HostOnly {
				s.own[name] = o
			}
			if !o.OwnOnly {
				host[name] = o
			}
		}
	}
	for _, name := range s.Given {
		if s.own[name] == nil && host[name] == nil {
			p.fail("given: %s has no option %s", s.Name, name)
		}
	}
}

func (p *parser) refused(text string) {
	names, why, _ := strings.Cut(text, ":")
	if p.s.refuse == nil {
		p.s.refuse = map[string]string{}
	}
	for name := range strings.FieldsSeq(names) {
		name, elsewhere := strings.CutSuffix(name, "~")
		if p.s.own[name] == nil && !elsewhere {
			p.fail("refuse: %s has no option %s", p.s.Name, name)
		}
		p.s.refuse[name] = strings.TrimSpace(why)
	}
}
