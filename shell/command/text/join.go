package text

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

	"hako/shell"
	"hako/shell/command/internal/cli"
)

var Join = shell.Command{Name: "join", Run: runJoin}

type joiner struct {
	field    [2]int // from 0
	sep      int    // -1: blanks
	unpaired [2]bool
	noPaired bool
	missing  string
	list     []joinField
	auto     bool
	fold     bool
	header   bool
	check    string
	end      byte
	c        *shell.Call
	sides    [2]joinSide

	// mismatched is set once a line had no partner. Only then does GNU check the
	// order without --check-order.
	mismatched bool
}

// A joinField is one field of the output; file 0 is the join field.
type joinField struct{ file, field int }

// A joinLine is a copy of a line with its fields.
type joinLine struct {
	text   []byte
	fields [][]byte
}

// A joinSide is one of the two files.
type joinSide struct {
	lineCursor
	name   string
	now    joinLine
	lines  int
	warned bool
	prev   []byte // the key before; empty, which sorts first, if there is none
	width  int    // fields of the first line, for -o auto
}

func runJoin(ctx context.Context, c *shell.Call) error {
	j := joiner{sep: -1, end: '\n', c: c}
	names, err := cli.Parse(c, cli.Flags{
		"1 2 j": j.setField, "a v": j.setUnpaired, "t": j.setSeparator, "o": j.outputList,
		"e": &j.missing, "i": &j.fold, "header": &j.header, "z": cli.Set(&j.end, 0),
		"check-order": cli.Set(&j.check, "check-order"), "nocheck-order": cli.Set(&j.check, "nocheck-order"),
	})
	if err != nil {
		return err
	}
	ins, done, err := openBoth(c, names)
	if err != nil {
		return err
	}
	defer done()
	for i, in := range ins {
		j.sides[i] = joinSide{lineCursor: lineCursor{in: in.Reader, end: j.end}, name: in.Name}
	}
	return report(c, j.run())
}

const invalidField = "invalid field number: ‘%s’"

// setField is -1, -2 and -j.
func (j *joiner) setField(o cli.Option) error {
	var n int
	if err := cli.Number(&n, 1, math.MaxInt, invalidField)(o.Value); err != nil {
		return err
	}
	if o.Name != "2" {
		j.field[0] = n - 1
	}
	if o.Name != "1" {
		j.field[1] = n - 1
	}
	return nil
}

// setUnpaired is -a and -v.
func (j *joiner) setUnpaired(o cli.Option) error {
	if o.Value != "1" && o.Value != "2" {
		return fmt.Errorf(invalidField, o.Value)
	}
	j.unpaired[o.Value[0]-'1'] = true
	j.noPaired = j.noPaired || o.Name == "v"
	return nil
}

func (j *joiner) setSeparator(text string) error {
	switch {
	case text == "":
		j.sep = '\n' // the whole line is one field
	case text == `\0`:
		j.sep = 0
	case len(text) > 1:
		return fmt.Errorf("multi-character tab ‘%s’", text)
	default:
		j.sep = int(text[0])
	}
	return nil
}

func (j *joiner) outputList(text string) error {
	if text == "auto" {
		j.auto = true
		return nil
	}
	for word := range strings.FieldsFuncSeq(text, isListSeparator) {
		if word == "0" {
			j.list = append(j.list, joinField{})
			continue
		}
		file, field, dot := strings.Cut(word, ".")
		n, err := strconv.Atoi(field)
		switch {
		case file != "1" && file != "2":
			return fmt.Errorf("invalid file number in field spec: ‘%s’", word)
		case !dot:
			return fmt.Errorf("invalid field specifier: ‘%s’", word)
		case err != nil || n < 1:
			return fmt.Errorf(invalidField, field)
		}
		j.list = append(j.list, joinField{int(file[0] - '0'), n - 1})
	}
	return nil
}

func (j *joiner) run() (err error) {
	defer cli.Catch(&err)
	for i := range j.sides {
		j.advance(i)
		j.sides[i].width = len(j.sides[i].now.fields)
	}
	if j.auto {
		j.autoList()
	}
	j.headings()
	a, b := &j.sides[0], &j.sides[1]
	for !a.over && !b.over {
		if n := j.compare(j.key(0, a.now), j.key(1, b.now)); n == 0 {
			j.pair()
		} else {
			j.alone((n + 1) / 2)
			j.mismatched = true
		}
	}
	j.rest()
	return j.c.Stdout.Err()
}

// rest prints or checks the remaining lines of the longer file. They have no partner
// because the other file has ended, which implies nothing about their order.
func (j *joiner) rest() {
	for i := range j.sides {
		for s := &j.sides[i]; !s.over && (j.unpaired[i] || j.checks(s)); {
			j.alone(i)
		}
	}
	if j.sides[0].warned || j.sides[1].warned {
		fail(1, "input is not in sorted order")
	}
}

// checks reports whether the order of a file is still checked.
func (j *joiner) checks(s *joinSide) bool {
	return !s.warned && (j.check == "check-order" || j.check == "" && j.mismatched)
}

// headings prints the first lines for --header.
func (j *joiner) headings() {
	a, b := &j.sides[0], &j.sides[1]
	if !j.header || a.over && b.over {
		return
	}
	j.print([2]*joinLine{lineOrNil(a), lineOrNil(b)})
	j.advance(0)
	j.advance(1)
}

func lineOrNil(s *joinSide) *joinLine {
	if s.over {
		return nil
	}
	return &s.now
}

// autoList sets the output to the join field and then the other fields of the first lines.
func (j *joiner) autoList() {
	j.list = []joinField{{}}
	for i, s := range j.sides {
		for f := range s.width {
			if f != j.field[i] {
				j.list = append(j.list, joinField{i + 1, f})
			}
		}
	}
}

// advance reads the next line of a file and checks the order.
func (j *joiner) advance(i int) {
	s := &j.sides[i]
	if s.lines > 1 || s.lines == 1 && !j.header {
		s.prev = append(s.prev[:0], j.key(i, s.now)...)
	}
	if s.next(); s.over {
		return
	}
	cli.Check(cli.FieldsFit(j.c, s.line))
	text := bytes.Clone(s.line)
	s.now = joinLine{text, j.split(text)}
	s.lines++
	if !j.checks(s) || j.compare(s.prev, j.key(i, s.now)) <= 0 {
		return
	}
	s.warned = true
	j.c.Warn("%s:%d: is not sorted: %s", s.name, s.lines, s.now.text)
	if j.check == "check-order" {
		cli.Check(shell.Status(1))
	}
}

func (j *joiner) split(text []byte) [][]byte {
	if j.sep < 0 {
		return bytes.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == '\t' || r == '\n' })
	}
	return bytes.Split(text, []byte{byte(j.sep)})
}

func (j *joiner) key(i int, l joinLine) []byte {
	if j.field[i] < len(l.fields) {
		return l.fields[j.field[i]]
	}
	return nil
}

func (j *joiner) compare(a, b []byte) int {
	if j.fold {
		return compareFold(a, b)
	}
	return bytes.Compare(a, b)
}

// alone handles a line without partner.
func (j *joiner) alone(i int) {
	if j.unpaired[i] {
		var lines [2]*joinLine
		lines[i] = &j.sides[i].now
		j.print(lines)
	}
	j.advance(i)
	cli.Check(j.c.Stdout.Err())
}

// pair joins every line of file 1 that has the current key with every such line of
// file 2.
func (j *joiner) pair() {
	var groups [2][]joinLine
	memory := cli.Memory{C: j.c}
	defer memory.Release()
	key := bytes.Clone(j.key(0, j.sides[0].now))
	for i := range j.sides {
		s := &j.sides[i]
		for !s.over && j.compare(j.key(i, s.now), key) == 0 {
			cli.Check(memory.Hold(int64(len(s.now.text) + 24*len(s.now.fields) + 64)))
			groups[i] = append(groups[i], s.now)
			j.advance(i)
		}
	}
	if j.noPaired {
		return
	}
	for a := range groups[0] {
		for b := range groups[1] {
			j.print([2]*joinLine{&groups[0][a], &groups[1][b]})
		}
		cli.Check(j.c.Stdout.Err())
	}
}

// print writes one line of output. A line that is nil is missing.
func (j *joiner) print(lines [2]*joinLine) {
	first := true
	field := func(f []byte) {
		if !first {
			sep := byte(' ')
			if j.sep >= 0 {
				sep = byte(j.sep)
			}
			j.c.Stdout.WriteByte(sep)
		}
		first = false
		if len(f) == 0 {
			j.c.Stdout.WriteString(j.missing)
			return
		}
		j.c.Stdout.Write(f)
	}
	for _, f := range j.list {
		field(j.pick(lines, f))
	}
	if j.list == nil {
		field(j.pick(lines, joinField{}))
		for i, l := range lines {
			if l == nil {
				continue
			}
			for n, f := range l.fields {
				if n != j.field[i] {
					field(f)
				}
			}
		}
	}
	j.c.Stdout.WriteByte(j.end)
}

func (j *joiner) pick(lines [2]*joinLine, f joinField) []byte {
	if f.file == 0 {
		for i, l := range lines {
			if l != nil {
				return j.key(i, *l)
			}
		}
		return nil
	}
	if l := lines[f.file-1]; l != nil && f.field < len(l.fields) {
		return l.fields[f.field]
	}
	return nil
}
