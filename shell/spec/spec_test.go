package spec

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestFiles checks that every text parses and has the name of its file.
func TestFiles(t *testing.T) {
	entries, err := files.ReadDir(".")
	if err != nil || len(entries) < 100 {
		t.Fatalf("%d files, %v", len(entries), err)
	}
	for _, e := range entries {
		text, err := files.ReadFile(e.Name())
		if err != nil {
			t.Fatal(err)
		}
		list, err := parse(string(text))
		if err != nil {
			t.Errorf("%s: %v", e.Name(), err)
			continue
		}
		if len(list) != 1 || fileName(list[0].Name) != e.Name() || Lookup(list[0].Name) == nil {
			t.Errorf("%s does not hold one spec of that name", e.Name())
		}
		if s := list[0]; s.Summary == "" || s.Help == "" {
			t.Errorf("%s has no summary or no help", e.Name())
		}
		for line := range strings.Lines(string(text)) {
			if len(line) > 121 {
				t.Errorf("%s: a line of %d columns", e.Name(), len(line))
			}
		}
	}
}

const sample = `# a comment
name: pick
usage: [-v] PATTERN [file...]
summary: pick lines
options: v,invert n,lines: c,color? f,file@ o,output>
	d:~ d^ #
operands: text read...
given: f
order: posix
status: 2
execute: yes
refuse: c: it is loud

  -v  the other lines

Examples:
  pick a b.txt

name: choose
like: grep
summary: choose lines
host: no
`

func TestParse(t *testing.T) {
	list, err := parse(sample)
	if err != nil || len(list) != 2 {
		t.Fatal(list, err)
	}
	s := list[0]
	if s.Name != "pick" || s.Usage != "[-v] PATTERN [file...]" || s.Summary != "pick lines" || s.Status != 2 ||
		!s.POSIX || !s.Execute || !s.Number || s.Judged || s.Any || s.OffHost {
		t.Errorf("%+v", s)
	}
	if s.Help != "  -v  the other lines\n\nExamples:\n  pick a b.txt" {
		t.Errorf("help %q", s.Help)
	}
	if o := s.Find("lines"); o == nil || o.Names[0] != "n" || o.Values != ":" || onHost(s, "n") != o {
		t.Errorf("lines: %+v", o)
	}
	if s.Find("d").Values != "" || onHost(s, "d").Values != ":" {
		t.Error("d is not one thing here and another on a host")
	}
	for name, want := range map[string]string{"o": "it writes a file", "c": "it is loud", "nope": ""} {
		if why, refused := s.Refused(name); !refused || why != want {
			t.Errorf("%s: %v, %q", name, refused, why)
		}
	}
	if _, refused := s.Refused("color"); refused {
		t.Error("a name that is not listed is refused")
	}
	if k, ok := s.Operands.At(0); k != KindText || !ok {
		t.Error(k, ok)
	}
	if k, ok := s.Operands.At(7); k != KindRead || !ok {
		t.Error(k, ok)
	}
	if c := list[1]; c.Find("only-matching") == nil || c.Summary != "choose lines" || !c.OffHost || c.Status != 2 {
		t.Errorf("%+v", c)
	}
}

// onHost finds an option of the program on a host.
func onHost(s *Spec, name string) *Option {
	for i, o := range s.Options {
		if !o.OwnOnly && slices.Contains(o.Names, name) {
			return &s.Options[i]
		}
	}
	return nil
}

func TestParseErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                                    "there is no spec",
		"usage: x\n":                          "line 1: a spec begins with name",
		"name: a\ncolour: x\n":                `line 2: there is no field "colour"`,
		"name: a\noptions: a,:\n":             "is not an option",
		"name: a\noptions: a b\n\tb,c:\n":     "the option b of a is there twice",
		"name: a\noptions: a?:\n":             "an optional value is the only one",
		"name: a\noperands: reads...\n":       "not a kind of operand",
		"name: a\noperands: read... text\n":   "comes after an operand",
		"name: a\nlike: nobody\n":             `there is no spec "nobody"`,
		"name: a\nstatus: 200\n":              "not an exit status",
		"name: a\ngiven: e\n":                 "has no option e",
		"name: a\nrefuse: e: why\n":           "has no option e",
		"name: a\n\nname: a\n":                "a is there twice",
		"name: a\nusage: x\nusage: y\n":       "line 3: the field usage is there twice",
		"name: a\norder: any\n":               "the only value is posix",
		"name: a b\n":                         "is not the name",
		"name: a\njust words\n":               "is not a field",
		"name: a\n\tmore\n":                   "continues no field",
		"name: a\nsummary: x\n\x00\n":         "a NUL byte",
		"name: a\n\nhelp\nname: b\nhost: x\n": "line 5: ",
	} {
		list, err := parse(text)
		var e *Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), want) || list != nil {
			t.Errorf("%q: %v, %v, want %q", text, list, err, want)
		}
	}
}

func TestSplit(t *testing.T) {
	s := MustParse("name: x\noptions: n,lines: v,verbose w,when? two:@ h~\n")
	for words, want := range map[string]string{
		"a -v b":          "[{v }] [a b]",
		"-vn5 a":          "[{v } {n 5}] [a]",
		"-n 5 --lines=6":  "[{n 5} {n 6}] []",
		"--lines 7 -- -v": "[{n 7}] [-v]",
		"-wx --when=y -w": "[{w x} {w y} {w }] []",
		"--two a b c":     "[{two a\x00b}] [c]",
		"- a":             "[] [- a]",
		"-q":              "invalid option -- 'q'",
		"-h":              "invalid option -- 'h'",
		"--line 5":        "unrecognized option '--line'",
		"--n=5":           "unrecognized option '--n'",
		"--verbose=1":     "option '--verbose' doesn't allow an argument",
		"-n":              "option requires an argument -- 'n'",
		"--two a":         "option '--two' requires an argument",
	} {
		opts, operands, err := s.Split(strings.Fields(words))
		got := show(opts, operands)
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", words, got, want)
		}
	}
	s = MustParse("name: x\noptions: v\norder: posix\n")
	if opts, operands, err := s.Split([]string{"-v", "a", "-v"}); err != nil || show(opts, operands) != "[{v }] [a -v]" {
		t.Error(opts, operands, err)
	}
}

func show(opts []Arg, operands []string) string {
	var b strings.Builder
	for i, o := range opts {
		if i > 0 {
			b.WriteString(" ")
		}
		b.WriteString("{" + o.Name + " " + o.Value + "}")
	}
	return "[" + b.String() + "] [" + strings.Join(operands, " ") + "]"
}

func FuzzParse(f *testing.F) {
	f.Add(sample)
	for _, name := range []string{"sort", "grep", "gunzip", "tar"} {
		text, _ := files.ReadFile(name + ".txt")
		f.Add(string(text))
	}
	f.Fuzz(func(t *testing.T, text string) {
		list, err := parse(text)
		if (err == nil) != (len(list) > 0) {
			t.Fatalf("%d specs, %v", len(list), err)
		}
		again, _ := parse(text)
		for i, s := range list {
			if !reflect.DeepEqual(s, again[i]) {
				t.Fatal("the same text gave another spec")
			}
			s.Split(strings.Fields(text))
		}
	})
}

func BenchmarkParse(b *testing.B) {
	text, _ := files.ReadFile("grep.txt")
	for b.Loop() {
		if _, err := parse(string(text)); err != nil {
			b.Fatal(err)
		}
	}
}
