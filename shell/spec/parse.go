package spec

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// An Error is what is wrong with the text of a spec.
type Error struct {
	Line int // counted from 1
	Why  string
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Why) }

// Parse reads a text of one or more specs. If anything in it is wrong, it
// returns an [*Error] and no spec.
func Parse(text string) ([]*Spec, error) { return Dialect{}.Parse(text) }

// Parse is the function [Parse] for a dialect.
func (d Dialect) Parse(text string) ([]*Spec, error) {
	p := parser{dialect: d}
	for line := range strings.Lines(text) {
		p.line++
		if err := p.take(strings.TrimRight(line, "\n")); err != nil {
			return nil, err
		}
	}
	if err := p.end(); err != nil {
		return nil, err
	}
	if len(p.all) == 0 {
		return nil, p.wrong("there is no spec: begin with name: NAME")
	}
	return p.all, nil
}

// MustParse is Parse for the text of one spec that is known to be right, as in a
// program. It panics otherwise.
func MustParse(text string) *Spec {
	list, err := Parse(text)
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
	last   string // the field that the next line may continue
	help   bool   // the fields are over
	blank  int    // empty lines of the help that may be its last
}

type field struct {
	text string
	line int
}

func (p *parser) wrong(format string, args ...any) error {
	return &Error{p.line, fmt.Sprintf(format, args...)}
}

// take reads one line.
func (p *parser) take(line string) error {
	if strings.ContainsRune(line, 0) {
		return p.wrong("a NUL byte")
	}
	if name, ok := strings.CutPrefix(line, "name:"); ok {
		return p.begin(strings.TrimSpace(name))
	}
	switch {
	case p.help:
		p.addHelp(line)
		return nil
	case strings.HasPrefix(line, "#"):
		return nil
	case strings.TrimSpace(line) == "":
		p.help = p.s != nil && !p.dialect.Host
		p.last = ""
		return nil
	case p.s == nil:
		return p.wrong("a spec begins with name: NAME")
	case line[0] == ' ' || line[0] == '\t':
		return p.goOn(strings.TrimSpace(line))
	}
	key, value, ok := strings.Cut(line, ":")
	if !ok {
		return p.wrong("%q is no field: write FIELD: VALUE, or an empty line before the help", line)
	}
	return p.field(key, strings.TrimSpace(value))
}

// begin starts a spec.
func (p *parser) begin(name string) error {
	if err := p.end(); err != nil {
		return err
	}
	if !p.isName(name) {
		return p.wrong("%q is no name of a command", name)
	}
	p.s, p.fields = &Spec{Name: name, Line: p.line, Status: 1}, map[string]field{}
	p.refuse, p.last, p.help, p.blank = nil, "", false, 0
	return nil
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

// goOn adds a line to the field before.
func (p *parser) goOn(text string) error {
	switch p.last {
	case "":
		return p.wrong("nothing goes on here: the line begins with white space")
	case "refuse":
		p.refuse[len(p.refuse)-1].text += " " + text
	default:
		f := p.fields[p.last]
		f.text += " " + text
		p.fields[p.last] = f
	}
	return nil
}

const fieldNames = " also usage summary like options more operands host-operands given host order status judged execute refuse "

func (p *parser) field(key, value string) error {
	known := append(strings.Fields(fieldNames), p.dialect.Fields...)
	if !slices.Contains(known, key) {
		return p.wrong("there is no field %q: known are name, %s", key, strings.Join(known, ", "))
	}
	p.last = key
	if key == "refuse" {
		p.refuse = append(p.refuse, field{value, p.line})
		return nil
	}
	if _, twice := p.fields[key]; twice {
		return p.wrong("the field %s is there twice", key)
	}
	p.fields[key] = field{value, p.line}
	return nil
}

// end finishes the spec that was begun.
func (p *parser) end() error {
	if p.s == nil {
		return nil
	}
	s, at := p.s, p.line
	defer func() { p.line = at }()
	if err := p.inherit(); err != nil {
		return err
	}
	for _, f := range []struct {
		key string
		set func(string) error
	}{
		{"usage", func(v string) error { s.Usage = v; return nil }},
		{"summary", func(v string) error { s.Summary = v; return nil }},
		{"given", func(v string) error { s.Given = strings.Fields(v); return nil }},
		{"order", func(v string) error { return p.word(&s.POSIX, v, "posix") }},
		{"judged", func(v string) error { return p.word(&s.Judged, v, "code") }},
		{"host", func(v string) error { return p.word(&s.OffHost, v, "no") }},
		{"execute", func(v string) error { return p.word(&s.Execute, v, "yes") }},
		{"status", p.status},
		{"options", p.options},
		{"more", p.more},
		{"also", p.also},
		{"operands", func(v string) error { err := p.operands(v, &s.Operands); s.Host = s.Operands; return err }},
		{"host-operands", func(v string) error { return p.operands(v, &s.Host) }},
	} {
		if v, ok := p.fields[f.key]; ok {
			p.line = v.line
			if err := f.set(v.text); err != nil {
				return err
			}
		}
	}
	s.extra = nil
	for _, key := range p.dialect.Fields {
		if f, ok := p.fields[key]; ok {
			s.setExtra(key, f)
		}
	}
	return p.finish()
}

func (s *Spec) setExtra(key string, f field) {
	if s.extra == nil {
		s.extra = make(map[string]field)
	}
	s.extra[key] = f
}

func (p *parser) also(value string) error {
	p.s.Also = strings.Fields(value)
	if slices.ContainsFunc(p.s.Also, func(name string) bool { return !p.isName(name) }) {
		return p.wrong("%q are not names of commands", value)
	}
	return nil
}

// inherit takes over what another spec has. The fields of this one follow.
func (p *parser) inherit() error {
	p.s.Operands = Operands{[]Kind{KindRead}, true}
	p.s.Host = p.s.Operands
	f, ok := p.fields["like"]
	if !ok {
		return nil
	}
	p.line = f.line
	if f.text == p.s.Name && !p.dialect.Host {
		return p.wrong("%s is like itself", f.text)
	}
	other := p.find(f.text)
	if other == nil {
		return p.wrong("there is no spec %q to be like", f.text)
	}
	s := *other
	s.Name, s.Line, s.Also, s.Help = p.s.Name, p.s.Line, nil, cmp.Or(p.s.Help, s.Help)
	s.refuse, s.Execute = maps.Clone(other.refuse), false
	*p.s = s
	return nil
}

// find returns a spec that another one is like.
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

func (p *parser) word(to *bool, value, want string) error {
	if *to = value == want; !*to {
		return p.wrong("%q is not understood: the only value is %s", value, want)
	}
	return nil
}

func (p *parser) status(value string) error {
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 || n > 125 {
		return p.wrong("%q is no exit status from 1 to 125", value)
	}
	p.s.Status = n
	return nil
}

// options reads the list of options.
func (p *parser) options(value string) error {
	p.s.Options, p.s.Number, p.s.Any = nil, false, false
	return p.more(value)
}

// more adds to the list of options.
func (p *parser) more(value string) error {
	s := p.s
	s.Options = slices.Clip(s.Options) // it may be that of another spec
	for word := range strings.FieldsSeq(value) {
		switch word {
		case "#":
			s.Number = true
			continue
		case "*":
			s.Any = true
			continue
		}
		o, err := p.option(word)
		if err != nil {
			return err
		}
		s.Options = append(s.Options, o)
	}
	return nil
}

func (p *parser) option(word string) (o Option, err error) {
	rest := word
	if cut, ok := strings.CutSuffix(rest, "~"); ok {
		rest, o.HostOnly = cut, true
	} else if cut, ok := strings.CutSuffix(rest, "^"); ok {
		rest, o.OwnOnly = cut, true
	}
	names := strings.TrimRight(rest, ":?@>")
	if o.Values = rest[len(names):]; names == "" && len(o.Values) == 1 {
		return Option{[]string{o.Values}, "", o.HostOnly, o.OwnOnly}, nil // zip -@
	}
	o.Names = strings.Split(names, ",")
	for _, name := range o.Names {
		if name == "" || name[0] == '-' && len(name) > 1 || strings.ContainsAny(name, ":?@>~^=#*") {
			return o, p.wrong("%q is no option: write its names, joined by commas, and marks", word)
		}
	}
	if strings.IndexByte(o.Values, Optional) >= 0 && len(o.Values) > 1 {
		return o, p.wrong("%q: an optional value is the only one", word)
	}
	return o, nil
}

// operands reads the kinds of operands.
func (p *parser) operands(value string, to *Operands) error {
	*to = Operands{}
	if value == "none" {
		return nil
	}
	for word := range strings.FieldsSeq(value) {
		if to.Repeated {
			return p.wrong("%q comes after an operand that stands for any number", word)
		}
		word, to.Repeated = strings.CutSuffix(word, "...")
		switch k := Kind(word); k {
		case KindText, KindRead, KindWrite, KindURL, KindCommand:
			to.Kinds = append(to.Kinds, k)
		default:
			return p.wrong("%q is no kind of operand: there are text, read, write, url, command and none", word)
		}
	}
	if len(to.Kinds) == 0 {
		return p.wrong("a command without operands has operands: none")
	}
	return nil
}

// finish checks what depends on several fields, and puts the spec to the others.
func (p *parser) finish() error {
	s := p.s
	s.own, s.host = make(map[string]*Option, 2*len(s.Options)), make(map[string]*Option, 2*len(s.Options))
	for i := range s.Options {
		if err := p.index(&s.Options[i]); err != nil {
			return err
		}
	}
	for _, name := range s.Given {
		if s.own[name] == nil && s.host[name] == nil {
			return p.wrong("given: %s has no option %s", s.Name, name)
		}
	}
	for _, f := range p.refuse {
		p.line = f.line
		if err := p.refused(f.text); err != nil {
			return err
		}
	}
	for _, other := range p.all {
		if other.Name == s.Name {
			return p.wrong("%s is there twice", s.Name)
		}
	}
	p.all = append(p.all, s)
	p.s = nil
	return nil
}

// index makes an option known by its names.
func (p *parser) index(o *Option) error {
	for _, name := range o.Names {
		for _, side := range []struct {
			of   map[string]*Option
			skip bool
		}{{p.s.own, o.HostOnly}, {p.s.host, o.OwnOnly}} {
			if side.skip {
				continue
			}
			if side.of[name] != nil {
				return p.wrong("the option %s of %s is there twice", name, p.s.Name)
			}
			side.of[name] = o
		}
	}
	return nil
}

func (p *parser) refused(text string) error {
	names, why, _ := strings.Cut(text, ":")
	if p.s.refuse == nil {
		p.s.refuse = map[string]string{}
	}
	for name := range strings.FieldsSeq(names) {
		name, elsewhere := strings.CutSuffix(name, "~")
		if p.s.own[name] == nil && !elsewhere {
			return p.wrong("refuse: %s has no option %s", p.s.Name, name)
		}
		p.s.refuse[name] = strings.TrimSpace(why)
	}
	return nil
}
