// Package spec describes the options and operands of commands as data. The
// option parser of a command, its help, which of its calls only read, and what
// the policy knows about the program of the same name are derived from one text.
//
// # Form
//
// A text holds one or more specs. Each is a list of fields, an empty line, and
// the help that people read:
//
//	name: sort
//	usage: [-nru] [-k KEY]... [-o FILE] [file...]
//	summary: sort lines
//	options: n,numeric-sort r,reverse u,unique k,key: o,output> T,temporary-directory@~
//	operands: read...
//
//	  -k KEY  sort by a key ...
//
// A field goes on in the next line if that begins with white space. A line that
// begins with # before the first empty line is a comment. The fields are:
//
//	name      begins a spec; required. "git push" is the subcommand push of git
//	also      other names that the same spec is for
//	usage     the usage line after the name
//	summary   one line, lower case, no period
//	like      the name of a spec of hako's that gives what this one leaves out
//	options   one word for each option: its names, joined by commas, and marks
//	more      options besides those of the spec that this one is like
//	operands  one word for each operand; the last may end in "..." for any number
//	given     options that stand for the first operand: grep -e
//	host      "no": nothing is known about a program of that name on a host
//	host-operands  the same as operands for the program on a host, if the policy
//	          takes them for something else
//	order     "posix": the first operand ends the options
//	status    the exit status of a usage error, if it is not 1
//	judged    "code": the options follow no rule, and a function has to judge them
//	execute   "yes": it may be called by the read-only tool; what a spec is like
//	          gives this to no other
//	refuse    options that the read-only tool refuses, a colon, and why; may be
//	          repeated. A ~ behind an option says that only others have it
//
// A name of one character is a short option, a longer one a long option. "#"
// among the options stands for -5, "*" for options that are not known. The
// marks behind the names are the values that follow:
//
//	:  a text                      ?  a text, optional, in the same word
//	@  a file that is read         >  a file that is written
//
// and, behind them, who has the option, if not both. Two options of one name may
// stand side by side, one for each:
//
//	~  only the program of that name on a host
//	^  only hako's command; it is not known to be safe on a host
//
// The kinds of operands are text, read (a file that is read), write (a file that
// may be written), url, command (the words that follow are another command) and
// none. Without the field every operand is a file that is read.
package spec

import (
	"slices"
	"strings"
	"sync"
)

// A Value is what an option takes.
type Value = byte

// The values of options.
const (
	Text     Value = ':' // a text, in the same word or the next
	Optional Value = '?' // a text in the same word, or none
	Read     Value = '@' // the name of a file that is read
	Write    Value = '>' // the name of a file that is written
)

// An Option is one option of a command.
type Option struct {
	Names    []string // without dashes; the first one is the name that parsers report
	Values   string   // the kinds of its values, in order; empty for a flag
	HostOnly bool     // the program on a host has it, hako's command does not
	OwnOnly  bool     // hako's command has it, the program on a host is not known to
}

// A Kind says what an operand is.
type Kind string

// The kinds of operands.
const (
	KindText    Kind = "text"
	KindRead    Kind = "read"
	KindWrite   Kind = "write"
	KindURL     Kind = "url"
	KindCommand Kind = "command"
)

// A Spec describes one command. It is not changed once it is made, and safe for
// concurrent use.
type Spec struct {
	Name     string
	Line     int      // of its name in the text
	Also     []string // other names
	Usage    string   // the usage line after the name
	Summary  string
	Help     string // options and examples, plain text
	Operands Operands
	Host     Operands // of the program on a host
	OffHost  bool     // nothing is known about a program of that name on a host
	Given    []string // options that stand for the first operand
	Options  []Option
	Number   bool // takes -5
	Any      bool // takes options that are not listed
	POSIX    bool // the first operand ends the options
	Judged   bool // a function judges its words
	Execute  bool // the read-only tool may call it
	Status   int  // of a usage error

	refuse    map[string]string
	own, host map[string]*Option
	extra     map[string]field
}

// Extra returns the words of a field that only a [Dialect] has. ok is false if the
// spec does not have it.
func (s *Spec) Extra(name string) (words []string, ok bool) {
	f, ok := s.extra[name]
	return strings.Fields(f.text), ok
}

// A Dialect is the form with more fields. The zero Dialect is that of [Parse].
type Dialect struct {
	Fields []string                // names of further fields, see [Spec.Extra]
	Host   bool                    // of programs on a host: without help, with comments anywhere, and subcommands such as git push
	Like   func(name string) *Spec // finds what like names if the text does not have it; nil means [Lookup]
}

// Operands are the kinds of operands, in order. No kinds mean none.
type Operands struct {
	Kinds    []Kind
	Repeated bool // the last kind stands for any number
}

// Find returns the option of hako's command that has a name, without dashes. It is
// nil if there is none.
func (s *Spec) Find(name string) *Option { return s.own[name] }

// FindHost is Find for the program of that name on a host.
func (s *Spec) FindHost(name string) *Option { return s.host[name] }

// Refused reports whether the read-only tool refuses an option, and why. Options
// that write are always refused, and so is whatever is not offered.
func (s *Spec) Refused(name string) (why string, refused bool) {
	if why, refused = s.refuse[name]; refused {
		return why, true
	}
	o := s.Find(name)
	switch {
	case o == nil:
		return "", true
	case strings.IndexByte(o.Values, Write) >= 0:
		return "it writes a file", true
	}
	return "", false
}

// At returns the kind of the n-th operand, counted from 0. ok is false if there
// may not be so many.
func (o Operands) At(n int) (kind Kind, ok bool) {
	switch last := len(o.Kinds) - 1; {
	case n <= last:
		return o.Kinds[n], true
	case o.Repeated:
		return o.Kinds[last], true
	}
	return "", false
}

// UsageLine is the line that help and usage errors begin with.
func (s *Spec) UsageLine() string { return strings.TrimRight("usage: "+s.Name+" "+s.Usage, " ") }

// Long lists the long options, sorted, with their dashes.
func (s *Spec) Long() (names []string) {
	for _, o := range s.Options {
		for _, name := range o.Names {
			if len(name) > 1 && !o.HostOnly {
				names = append(names, "--"+name)
			}
		}
	}
	slices.Sort(names)
	return names
}

// parsed keeps what Lookup made, by name.
var parsed sync.Map

// Lookup returns the spec of one of hako's commands, nil if there is none of that
// name. It is parsed when it is first asked for.
func Lookup(name string) *Spec {
	if s, ok := parsed.Load(name); ok {
		return s.(*Spec)
	}
	text, err := files.ReadFile(fileName(name))
	if err != nil {
		return nil
	}
	list, err := Parse(string(text))
	if err != nil || len(list) != 1 || list[0].Name != name {
		return nil // TestFiles sees to it that there is none such
	}
	s, _ := parsed.LoadOrStore(name, list[0])
	return s.(*Spec)
}

// fileName is the file of a command. Some names cannot be those of files.
func fileName(name string) string {
	switch name {
	case ":":
		name = "colon"
	case ".":
		name = "dot"
	case "[":
		name = "bracket"
	}
	return name + ".txt"
}

// Executable lists hako's commands that the read-only tool may call, sorted. It
// looks for the field alone and parses nothing.
func Executable() (names []string) {
	entries, _ := files.ReadDir(".")
	for _, e := range entries {
		text, _ := files.ReadFile(e.Name())
		if head, _, _ := strings.Cut(string(text), "\n\n"); strings.Contains(head+"\n", "\nexecute: yes\n") {
			names = append(names, strings.TrimSuffix(e.Name(), ".txt"))
		}
	}
	return names
}
