package policy

import (
	"embed"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"hako/shell/spec"
)

// knowFiles have the specs of programs, by topic; docs/policy.md describes their
// form. lists.txt has lists of words that belong to no single program.
//
//go:embed know/*.txt
var knowFiles embed.FS

const listsFile = "know/lists.txt"

// programForm is the form of the files: that of package spec with these fields.
//
//	reads                  "always": it only reads, whatever its words are;
//	                       "checked": it only reads if its words are the right ones
//	takes                  options that take a value, where any option may be given
//	runs                   those of them whose value is a command
//	forbidden-options      options that are refused although any other may be given
//	forbidden-subcommands  subcommands that are refused
//	subcommands            subcommands that are known
//	listed                 "no": the spec has only what takes and runs say
//	flags, tests, tools, orders, words  lists that a function reads
func programForm() spec.Dialect {
	return spec.Dialect{Host: true, Like: builtinSpec, Fields: programFields[:]}
}

var programFields = [...]string{
	"reads", "takes", "runs", "forbidden-options", "forbidden-subcommands", "subcommands", "listed",
	"flags", "tests", "tools", "orders", "words",
}

// programSet finds programs by name and parses the spec of a program on first use. It is safe for concurrent use.
type programSet struct {
	texts map[string]string // the spec of each name

	mu     sync.RWMutex
	parsed map[string]*program
}

var builtinPrograms = sync.OnceValue(func() *programSet {
	return indexFiles(func(name string) bool { return name != listsFile })
})

var wordLists = sync.OnceValue(func() *programSet {
	return indexFiles(func(name string) bool { return name == listsFile })
})

// indexFiles indexes the specs in files by name without parsing them.
func indexFiles(wanted func(name string) bool) *programSet {
	set := &programSet{texts: make(map[string]string, 512), parsed: make(map[string]*program)}
	files, _ := fs.Glob(knowFiles, "know/*.txt")
	for _, name := range files {
		if text, err := knowFiles.ReadFile(name); err == nil && wanted(name) {
			set.index(string(text))
		}
	}
	return set
}

const nameField = "\nname:"

// index indexes the specs of a text by name. Parsing is left for later, since every start of a shell comes
// through here.
func (s *programSet) index(text string) {
	start := 0
	if !strings.HasPrefix(text, nameField[1:]) {
		start = strings.Index(text, nameField) + 1
	}
	for start < len(text) {
		end := len(text)
		if i := strings.Index(text[start:], nameField); i >= 0 {
			end = start + i + 1
		}
		for _, name := range namesIn(text[start:end]) {
			s.texts[name] = text[start:end]
		}
		start = end
	}
}

// namesIn returns the names that a spec is for.
func namesIn(text string) []string {
	first, _, _ := strings.Cut(text, "\n")
	names := []string{strings.TrimSpace(strings.TrimPrefix(first, nameField[1:]))}
	if _, also, ok := strings.Cut(text, "\nalso:"); ok {
		line, _, _ := strings.Cut(also, "\n")
		names = append(names, strings.Fields(line)...)
	}
	return names
}

// find returns the program of a name, nil if it is unknown.
func (s *programSet) find(name string) *program {
	s.mu.RLock()
	prog, ok := s.parsed[name]
	s.mu.RUnlock()
	if ok {
		return prog
	}
	found := s.parse(name)
	if found == nil {
		return nil
	}
	prog = newProgram(found)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.parsed[name] = prog
	return prog
}

// parse returns the spec of a name from the files, or else that of hako's own command, or nil.
func (s *programSet) parse(name string) *spec.Spec {
	text, ok := s.texts[name]
	if !ok {
		if own := spec.Lookup(name); own != nil && !own.OffHost {
			return own
		}
		return nil
	}
	specs, err := programForm().Parse(text)
	if err != nil {
		return nil // TestKnowFiles sees to it that there is none such
	}
	return specs[0]
}

func builtinSpec(name string) *spec.Spec {
	if prog := builtinPrograms().find(name); prog != nil {
		return prog.spec
	}
	return nil
}

// wordList returns a list of lists.txt, with a space before and after each word.
func wordList(name string) string { return wordLists().find(name).words("words") }

// builtin returns a built-in program that does not run the command in its operands, nil if there is none.
func builtin(name string) *program {
	if prog := builtinPrograms().find(name); prog != nil && !prog.command && !prog.unlisted {
		return prog
	}
	return nil
}

// wrapping returns a built-in program that runs the command in its operands, nil if there is none.
func wrapping(name string) *program {
	if prog := builtinPrograms().find(name); prog != nil && prog.command {
		return prog
	}
	return nil
}

// knownReads returns the field reads of a program: "always", "checked" or "".
func knownReads(name string) string {
	switch prog := builtinPrograms().find(name); {
	case prog == nil:
		return ""
	case prog.reads != "":
		return prog.reads
	case hasWord(wordList("reading-commands"), name):
		return "always"
	case hasWord(wordList("checked-commands"), name):
		return "checked"
	}
	return ""
}

// newProgram returns the program of a spec.
func newProgram(s *spec.Spec) *program {
	prog := &program{spec: s, free: s.Any, number: s.Number, options: hostOptions(s), lists: make(map[string]string)}
	for _, name := range s.Given {
		prog.given = append(prog.given, dashed(name))
	}
	for _, field := range programFields {
		if words, ok := s.Extra(field); ok {
			prog.lists[field] = " " + strings.Join(words, " ") + " "
		}
	}
	prog.reads = strings.TrimSpace(prog.words("reads"))
	prog.unlisted = prog.words("listed") == " no "
	prog.takes, prog.tests, prog.flags = prog.optionList("takes"), prog.optionList("tests"), prog.optionList("flags")
	for word := range strings.FieldsSeq(prog.words("runs")) {
		prog.runs = append(prog.runs, dashed(word))
	}
	prog.setOperands()
	prog.whole = s.Judged && !prog.command
	return prog
}

func (p *program) setOperands() {
	kinds := p.spec.Host.Kinds
	p.writes = slices.Contains(kinds, spec.KindWrite)
	switch i := slices.Index(kinds, spec.KindCommand); {
	case i >= 0:
		p.command, p.skip = true, i
	case len(kinds) == 0:
		p.args = noOperands
	case kinds[len(kinds)-1] == spec.KindText:
		p.args = textOperands
	case kinds[0] == spec.KindText:
		p.args = textThenFiles
	}
	if !p.spec.Host.Repeated && p.args != noOperands {
		p.most = len(kinds)
	}
}

// hostOptions returns the options of a spec that the program on a host has.
func hostOptions(s *spec.Spec) options {
	out := make(options, 2*len(s.Options))
	for _, o := range s.Options {
		for _, name := range o.Names {
			switch {
			case o.OwnOnly:
			case o.Values == "":
				out[name] = 0
			case o.Values[0] == spec.Write:
				out[name] = spec.Read
			default:
				out[name] = o.Values[0]
			}
		}
	}
	return out
}

// optionList returns a field that lists options, nil if there is none.
func (p *program) optionList(field string) options {
	if list, ok := p.lists[field]; ok {
		return parseOptions(list)
	}
	return nil
}

// dashed returns an option with its dashes.
func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// words returns the words of a field, with a space before and after each.
func (p *program) words(field string) string {
	if p == nil {
		return ""
	}
	return p.lists[field]
}
