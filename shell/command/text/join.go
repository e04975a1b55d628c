package text

import (
	"bytes"
	"context"
	"io"
	"strconv"
	"strings"

	"hako/shell"
	"hako/shell/command/internal/cli"
	"hako/shell/stream"
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
	lonely   bool // some line had no partner; only then does GNU look at the order unasked
}

// joinField is one field of the output; file 0 is the join field.
type joinField struct{ file, field int }

// A joinLine is a line with its fields, in memory of its own.
type joinLine struct {
	text   []byte
	fields [][]byte
}

// joinSide is one of the two files.
type joinSide struct {
	in     *stream.Reader
	name   string
	now    joinLine
	over   bool
	lines  int
	warned bool
	prev   []byte // the key before; empty, and so never too big, if there is none
	width  int    // fields of the first line, for -o auto
}

func runJoin(ctx context.Context, c *shell.Call) error {
	opts, names, err := c.Options()
	if err != nil {
		return err
	}
	j := joiner{sep: -1, end: '\n', c: c}
	for _, o := range opts {
		if err := j.set(o); err != nil {
			return err
		}
	}
	ins, done, err := openBoth(c, names)
	if err != nil {
		return err
	}
	defer done()
	for i, in := range ins {
		j.sides[i] = joinSide{in: in.Reader, name: in.Name}
	}
	return j.run()
}

func (j *joiner) set(o cli.Option) error {
	switch o.Name {
	case "1":
		return j.fieldNumber(o.Value, &j.field[0])
	case "2":
		return j.fieldNumber(o.Value, &j.field[1])
	case "j":
		if err := j.fieldNumber(o.Value, &j.field[0]); err != nil {
			return err
		}
		j.field[1] = j.field[0]
	case "t":
		switch {
		case o.Value == "":
			j.sep = '\n' // the whole line is one field
		case o.Value == `\0`:
			j.sep = 0
		case len(o.Value) > 1:
			return j.c.Fail(1, "multi-character tab %s", cli.QuoteCurly(o.Value))
		default:
			j.sep = int(o.Value[0])
		}
	case "a", "v":
		if o.Value != "1" && o.Value != "2" {
			return j.c.Fail(1, "invalid field number: %s", cli.QuoteCurly(o.Value))
		}
		j.unpaired[o.Value[0]-'1'] = true
		j.noPaired = j.noPaired || o.Name == "v"
	case "e":
		j.missing = o.Value
	case "o":
		return j.outputList(o.Value)
	case "i":
		j.fold = true
	case "header":
		j.header = true
	case "check-order", "nocheck-order":
		j.check = o.Name
	case "z":
		j.end = 0
	}
	return nil
}

func (j *joiner) fieldNumber(text string, n *int) error {
	v, err := strconv.Atoi(text)
	if err != nil || v < 1 {
		return j.c.Fail(1, "invalid field number: %s", cli.QuoteCurly(text))
	}
	*n = v - 1
	return nil
}

func (j *joiner) outputList(text string) error {
	if text == "auto" {
		j.auto = true
		return nil
	}
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' }) {
		if word == "0" {
			j.list = append(j.list, joinField{})
			continue
		}
		file, field, dot := strings.Cut(word, ".")
		n, err := strconv.Atoi(field)
		switch {
		case file != "1" && file != "2":
			return j.c.Fail(1, "invalid file number in field spec: %s", cli.QuoteCurly(word))
		case !dot:
			return j.c.Fail(1, "invalid field specifier: %s", cli.QuoteCurly(word))
		case err != nil || n < 1:
			return j.c.Fail(1, "invalid field number: %s", cli.QuoteCurly(field))
		}
		j.list = append(j.list, joinField{int(file[0] - '0'), n - 1})
	}
	return nil
}

func (j *joiner) run() error {
	for i := range j.sides {
		if err := j.advance(i); err != nil {
			return err
		}
		j.sides[i].width = len(j.sides[i].now.fields)
	}
	if j.auto {
		j.autoList()
	}
	if j.header {
		if err := j.headings(); err != nil {
			return err
		}
	}
	a, b := &j.sides[0], &j.sides[1]
	for !a.over && !b.over {
		var err error
		switch n := j.compare(j.key(0, a.now), j.key(1, b.now)); {
		case n < 0:
			err = j.alone(0)
			j.lonely = true
		case n > 0:
			err = j.alone(1)
			j.lonely = true
		default:
			err = j.pair()
		}
		if err != nil {
			return err
		}
	}
	return j.rest()
}

// rest prints or checks what is left of the longer file. That its lines have no
// partner says nothing about the order: the other file has ended.
func (j *joiner) rest() error {
	for i := range j.sides {
		for s := &j.sides[i]; !s.over && (j.unpaired[i] || j.checks(s)); {
			if err := j.alone(i); err != nil {
				return err
			}
		}
	}
	if j.sides[0].warned || j.sides[1].warned {
		return j.c.Fail(1, "input is not in sorted order")
	}
	return j.c.Stdout.Err()
}

// checks reports whether the order of a file may still be complained about.
func (j *joiner) checks(s *joinSide) bool {
	return !s.warned && (j.check == "check-order" || j.check == "" && j.lonely)
}

func (j *joiner) headings() error {
	a, b := &j.sides[0], &j.sides[1]
	if a.over && b.over {
		return nil
	}
	j.print(lineOrNil(a), lineOrNil(b))
	for i := range j.sides {
		if err := j.advance(i); err != nil {
			return err
		}
	}
	return nil
}

func lineOrNil(s *joinSide) *joinLine {
	if s.over {
		return nil
	}
	return &s.now
}

// autoList shows the join field and then all others, as many as the first lines have.
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

// advance reads the next line of a file and checks that it is in order.
func (j *joiner) advance(i int) error {
	s := &j.sides[i]
	if s.lines > 1 || s.lines == 1 && !j.header {
		s.prev = append(s.prev[:0], j.key(i, s.now)...)
	}
	line, err := s.in.Record(j.end)
	if err == io.EOF {
		s.over = true
		return nil
	}
	if err != nil {
		return err
	}
	if err := cli.FieldsFit(j.c, line); err != nil {
		return err
	}
	text := bytes.Clone(bytes.TrimSuffix(line, []byte{j.end}))
	s.now = joinLine{text, j.split(text)}
	s.lines++
	return j.order(i)
}

// order complains, once per file, about a line that sorts before the one before it.
func (j *joiner) order(i int) error {
	s := &j.sides[i]
	if !j.checks(s) || j.compare(s.prev, j.key(i, s.now)) <= 0 {
		return nil
	}
	s.warned = true
	j.c.Warn("%s:%d: is not sorted: %s", s.name, s.lines, s.now.text)
	if j.check == "check-order" {
		return shell.Status(1)
	}
	return nil
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
func (j *joiner) alone(i int) error {
	if j.unpaired[i] {
		if i == 0 {
			j.print(&j.sides[0].now, nil)
		} else {
			j.print(nil, &j.sides[1].now)
		}
	}
	if err := j.advance(i); err != nil {
		return err
	}
	return j.c.Stdout.Err()
}

// pair prints every line of file 1 with this key with every such line of file 2.
func (j *joiner) pair() error {
	var groups [2][]joinLine
	var held int64
	defer func() { j.c.Limiter.Hold(-held) }()
	key := bytes.Clone(j.key(0, j.sides[0].now))
	for i := range j.sides {
		s := &j.sides[i]
		for !s.over && j.compare(j.key(i, s.now), key) == 0 {
			cost := int64(len(s.now.text) + 24*len(s.now.fields) + 64)
			if err := j.c.Limiter.Hold(cost); err != nil {
				return err
			}
			held += cost
			groups[i] = append(groups[i], s.now)
			if err := j.advance(i); err != nil {
				return err
			}
		}
	}
	if j.noPaired {
		return nil
	}
	for a := range groups[0] {
		for b := range groups[1] {
			j.print(&groups[0][a], &groups[1][b])
		}
		if err := j.c.Stdout.Err(); err != nil {
			return err
		}
	}
	return nil
}

// print writes one line of output; a or b may be missing.
func (j *joiner) print(a, b *joinLine) {
	out := joinOutput{j: j}
	lines := [2]*joinLine{a, b}
	if j.list != nil {
		for _, f := range j.list {
			out.field(j.pick(lines, f))
		}
		j.c.Stdout.WriteByte(j.end)
		return
	}
	out.field(j.pick(lines, joinField{}))
	for i, l := range lines {
		if l == nil {
			continue
		}
		for n, f := range l.fields {
			if n != j.field[i] {
				out.field(f)
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

// joinOutput separates the fields of a line.
type joinOutput struct {
	j    *joiner
	some bool
}

func (o *joinOutput) field(f []byte) {
	if o.some {
		sep := byte(' ')
		if o.j.sep >= 0 {
			sep = byte(o.j.sep)
		}
		o.j.c.Stdout.WriteByte(sep)
	}
	o.some = true
	if len(f) == 0 {
		o.j.c.Stdout.WriteString(o.j.missing)
		return
	}
	o.j.c.Stdout.Write(f)
}
