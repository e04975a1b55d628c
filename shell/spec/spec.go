// Package spec describes the options and operands of commands as data. One text per
// command determines its option parser, its help, which of its calls only read, and what
// the policy knows about the program of the same name.
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
// A line that begins with white space continues the field before it. A line that begins
// with # before the first empty line is a comment. The fields are:
//
//	name      begins a spec; required. "git push" is the subcommand push of git
//	also      other names with the same spec
//	usage     the usage line after the name
//	summary   one line, lower case, no period
//	like      the name of another spec, from which missing fields are inherited
//	options   one word for each option: its names, joined by commas, and marks
//	more      options in addition to the inherited ones
//	operands  one word for each operand; the last may end in "..." for any number
//	given     options that replace the first operand: grep -e
//	host      "no": the policy knows nothing about a program of that name on a host
//	host-operands  operands of the program on a host, if they differ
//	order     "posix": the first operand ends the options
//	status    the exit status of a usage error; the default is 1
//	judged    "code": the options follow no rule; a function of the policy judges them
//	execute   "yes": the read-only tool may call it; this is not inherited
//	refuse    options that the read-only tool refuses, a colon, and the reason; may be
//	          repeated. A ~ after an option means that only other specs have it
//
// A name of one character is a short option, a longer one a long option. Among the
// options, "#" stands for a number such as -5, and "*" allows unknown options. The marks
// after the names are the values that follow:
//
//	:  text                        ?  text, optional, in the same word
//	@  a file that is read         >  a file that is written
//
// and, after them, which side has the option, if not both. Two options may share a name,
// one for each side:
//
//	~  only the program of that name on a host
//	^  only hako's command; the option is not known to be safe on a host
//
// The kinds of operands are text, read (a file that is read), write (a file that may be
// written), url, command (the following words are another command) and none. By default
// every operand is a file that is read.
package spec

import (
	"cmp"
	"embed"
	"slices"
	"strings"
	"sync"
)

// A Value is the kind of an option's value.
type Value = byte

// The values of options.
const (
	Text     Value = ':' // text, in the same word or the next
	Optional Value = '?' // text in the same word, or none
	Read     Value = '@' // the name of a file that is read
	Write    Value = '>' // the name of a file that is written
)

// An Option is one option of a command.
type Option struct {
	Names    []string // without dashes; [Spec.Split] reports the first one
	Values   string   // the kinds of its values, in order; empty for a flag
	HostOnly bool     // only the program on a host has it
	OwnOnly  bool     // only hako's command is known to have it
}

// A Kind is the kind of an operand.
type Kind string

// The kinds of operands.
const (
	KindText    Kind = "text"
	KindRead    Kind = "read"
	KindWrite   Kind = "write"
	KindURL     Kind = "url"
	KindCommand Kind = "command"
)

// A Spec describes one command. It is immutable and safe for concurrent use.
type Spec struct {
	Name     string
	Line     int      // of its name in the text
	Also     []string // other names
	Usage    string   // the usage line after the name
	Summary  string
	Help     string // options and examples, plain text
	Operands Operands
	Host     Operands // of the program on a host
	OffHost  bool     // the policy knows nothing about a program of that name on a host
	Given    []string // options that replace the first operand
	Options  []Option
	Number   bool // takes -5
	Any      bool // accepts options that are not listed
	POSIX    bool // the first operand ends the options
	Judged   bool // a function of the policy judges its words
	Execute  bool // the read-only tool may call it
	Status   int  // of a usage error

	refuse map[string]string
	own    map[string]*Option // without the options of hosts
	extra  map[string]string
}

// Extra returns the words of a field that only a [Dialect] has. ok is false if the
// spec does not have it.
func (s *Spec) Extra(name string) (words []string, ok bool) {
	text, ok := s.extra[name]
	return strings.Fields(text), ok
}

// A Dialect is a variant of the form with more fields. [parse] uses the zero Dialect.
type Dialect struct {
	Fields []string                // names of further fields, see [Spec.Extra]
	Host   bool                    // for programs on a host: no help, comments anywhere, subcommands such as git push
	Like   func(name string) *Spec // finds an inherited spec that the text does not have; nil means [Lookup]
}

// Operands are the kinds of operands, in order. Without kinds there are no operands.
type Operands struct {
	Kinds    []Kind
	Repeated bool // the last kind stands for any number
}

// Find returns the option of hako's command with that name, without dashes, or nil.
func (s *Spec) Find(name string) *Option { return s.own[name] }

// Refused reports whether the read-only tool refuses an option, and why. Options that
// write are always refused, and so are unknown ones.
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

// At returns the kind of the n-th operand, counted from 0. ok is false if the command
// does not take so many.
func (o Operands) At(n int) (kind Kind, ok bool) {
	switch last := len(o.Kinds) - 1; {
	case n <= last:
		return o.Kinds[n], true
	case o.Repeated:
		return o.Kinds[last], true
	}
	return "", false
}

// UsageLine returns the first line of help and usage errors.
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

// files has one text for each of hako's commands.
//
//go:embed *.txt
var files embed.FS

// parsed caches the specs of Lookup, by name.
var parsed sync.Map

// Lookup returns the spec of one of hako's commands, or nil. It parses the spec on the
// first call.
func Lookup(name string) *Spec {
	if s, ok := parsed.Load(name); ok {
		return s.(*Spec)
	}
	text, err := files.ReadFile(fileName(name))
	if err != nil {
		return nil
	}
	list, err := parse(string(text))
	if err != nil || len(list) != 1 || list[0].Name != name {
		return nil // TestFiles checks that there is none
	}
	s, _ := parsed.LoadOrStore(name, list[0])
	return s.(*Spec)
}

// specialNames replaces names that cannot be names of files.
var specialNames = map[string]string{":": "colon", ".": "dot", "[": "bracket"}

// fileName returns the file of a command.
func fileName(name string) string { return cmp.Or(specialNames[name], name) + ".txt" }

// Executable lists hako's commands that the read-only tool may call, sorted. It searches
// for the field without parsing the specs.
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
