package text

import (
	"bytes"
	"context"
	"math"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"hako/shell"
	"hako/shell/command/internal/cli"
	"hako/shell/stream"
)

var Cut = shell.Command{Name: "cut", Run: runCut}

// span is a range of positions, from 1, both ends included.
type span struct{ from, to int }

type cutter struct {
	mode       byte // b, c, f
	list       []span
	sep        []byte
	outSep     []byte
	outGiven   bool
	onlyFields bool
	end        byte
	out        *stream.Writer
}

func runCut(ctx context.Context, c *shell.Call) error {
	opts, names, err := c.Options()
	if err != nil {
		return err
	}
	k := cutter{sep: []byte{'\t'}, end: '\n', out: c.Stdout}
	if err := k.parse(c, opts); err != nil {
		return err
	}
	for in := range c.Inputs(names) {
		if err := cli.Finish(c, k.copy(in.Reader)); err != nil {
			return err
		}
	}
	return nil
}

func (k *cutter) parse(c *shell.Call, opts []cli.Option) error {
	var list string
	var complement, sepGiven bool
	for _, o := range opts {
		switch o.Name {
		case "b", "c", "f":
			if k.mode != 0 {
				return cli.Misuse(c, "only one list may be specified")
			}
			k.mode, list = o.Name[0], o.Value
		case "d":
			if _, n := utf8.DecodeRuneInString(o.Value); n < len(o.Value) {
				return cli.Misuse(c, "the delimiter must be a single character")
			}
			k.sep, sepGiven = []byte(o.Value), true
			if o.Value == "" {
				k.sep = []byte{0}
			}
		case "s":
			k.onlyFields = true
		case "complement":
			complement = true
		case "output-delimiter":
			k.outSep, k.outGiven = []byte(o.Value), true
		case "z":
			k.end = 0
		}
	}
	switch {
	case k.mode == 0:
		return cli.Misuse(c, "you must specify a list of bytes, characters, or fields")
	case k.mode != 'f' && sepGiven:
		return cli.Misuse(c, "an input delimiter may be specified only when operating on fields")
	case k.mode != 'f' && k.onlyFields:
		return cli.Misuse(c, "suppressing non-delimited lines makes sense\n\tonly when operating on fields")
	}
	if k.mode == 'f' && !k.outGiven {
		k.outSep = k.sep
	}
	return k.parseList(c, list, complement)
}

func (k *cutter) parseList(c *shell.Call, list string, complement bool) error {
	what := map[byte]string{'b': "byte/character", 'c': "byte/character", 'f': "field"}[k.mode]
	for part := range strings.FieldsFuncSeq(list, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' }) {
		s, why := parseSpan(part, what)
		if why != "" {
			return cli.Misuse(c, "%s", why)
		}
		k.list = append(k.list, s)
	}
	if len(k.list) == 0 {
		return cli.Misuse(c, "%s", numberedFrom1(what))
	}
	k.list = mergeSpans(k.list)
	if complement {
		k.list = complementSpans(k.list)
	}
	return nil
}

func numberedFrom1(what string) string {
	if what == "field" {
		return "fields are numbered from 1"
	}
	return "byte/character positions are numbered from 1"
}

// parseSpan reads N, N-, -M or N-M; why is empty if it makes sense.
func parseSpan(text, what string) (s span, why string) {
	from, to, isRange := strings.Cut(text, "-")
	if !isRange {
		to = from
	}
	if text == "-" {
		return s, "invalid range with no endpoint: -"
	}
	s = span{1, math.MaxInt}
	for _, end := range []struct {
		text string
		n    *int
	}{{from, &s.from}, {to, &s.to}} {
		if end.text == "" {
			continue
		}
		n, err := strconv.Atoi(end.text)
		switch {
		case strings.Trim(end.text, "0123456789") != "":
			return s, "invalid " + map[string]string{"field": "field value", "byte/character": "byte/character position"}[what] +
				" " + cli.QuoteCurly(text)
		case err != nil:
			return s, map[string]string{"field": "field number ", "byte/character": "byte/character offset "}[what] +
				cli.QuoteCurly(end.text) + " is too large"
		case n == 0:
			return s, numberedFrom1(what)
		}
		*end.n = n
	}
	if s.from > s.to {
		return s, "invalid decreasing range"
	}
	return s, ""
}

func mergeSpans(list []span) []span {
	sort.Slice(list, func(i, j int) bool { return list[i].from < list[j].from })
	out := list[:1]
	for _, s := range list[1:] {
		last := &out[len(out)-1]
		if s.from <= last.to {
			last.to = max(last.to, s.to)
			continue
		}
		out = append(out, s)
	}
	return out
}

func complementSpans(list []span) []span {
	var out []span
	next := 1
	for _, s := range list {
		if s.from > next {
			out = append(out, span{next, s.from - 1})
		}
		if s.to == math.MaxInt {
			return out
		}
		next = s.to + 1
	}
	return append(out, span{next, math.MaxInt})
}

// copy cuts block by block, each kind of cutting in its own loop.
func (k *cutter) copy(in *stream.Reader) error {
	for {
		block, err := in.Records(k.end)
		if err != nil {
			return cli.NotEOF(err)
		}
		switch {
		case k.mode != 'f':
			k.positions(block)
		case len(k.list) == 1 && k.list[0].from == k.list[0].to && len(k.sep) == 1 && k.sep[0] != k.end:
			k.oneField(block, k.list[0].from)
		default:
			k.fields(block)
		}
		if err := k.out.Err(); err != nil {
			return err
		}
	}
}

// oneField is the common case: no list to walk, nothing to join.
func (k *cutter) oneField(block []byte, field int) {
	sep := k.sep[0]
	for len(block) > 0 {
		i := bytes.IndexByte(block, k.end)
		if i < 0 {
			i = len(block)
		}
		line := block[:i]
		block = block[min(i+1, len(block)):]
		j := bytes.IndexByte(line, sep)
		if j < 0 {
			if !k.onlyFields {
				k.out.Write(line)
				k.out.WriteByte(k.end)
			}
			continue
		}
		rest := line
		for f := 1; f < field && j >= 0; f++ {
			rest = rest[j+1:]
			if j = bytes.IndexByte(rest, sep); j < 0 && f+1 < field {
				rest = nil
			}
		}
		if j >= 0 {
			rest = rest[:j]
		}
		k.out.Write(rest)
		k.out.WriteByte(k.end)
	}
}

func (k *cutter) fields(block []byte) {
	for len(block) > 0 {
		var line []byte
		line, block, _ = cli.CutLine(block, k.end)
		if !bytes.Contains(line, k.sep) {
			if !k.onlyFields {
				k.out.Write(line)
				k.out.WriteByte(k.end)
			}
			continue
		}
		k.lineFields(line)
		k.out.WriteByte(k.end)
	}
}

// lineFields walks the fields of a line and the spans of the list together.
func (k *cutter) lineFields(line []byte) {
	first, n := true, 1
	for _, s := range k.list {
		for ; n <= s.to && line != nil; n++ {
			if n == s.from && s.to == math.MaxInt && bytes.Equal(k.outSep, k.sep) {
				k.join(&first)
				k.out.Write(line)
				return
			}
			field, rest, more := bytes.Cut(line, k.sep)
			line = rest
			if !more {
				line = nil
			}
			if n >= s.from {
				k.join(&first)
				k.out.Write(field)
			}
		}
	}
}

func (k *cutter) join(first *bool) {
	if !*first {
		k.out.Write(k.outSep)
	}
	*first = false
}

func (k *cutter) positions(block []byte) {
	for len(block) > 0 {
		var line []byte
		line, block, _ = cli.CutLine(block, k.end)
		first := true
		for _, s := range k.list {
			part := k.slice(line, s)
			if len(part) == 0 {
				break
			}
			if k.outGiven {
				k.join(&first)
			}
			k.out.Write(part)
		}
		k.out.WriteByte(k.end)
	}
}

// slice takes bytes or whole characters.
func (k *cutter) slice(line []byte, s span) []byte {
	if k.mode == 'b' {
		return line[min(s.from-1, len(line)):min(s.to, len(line))]
	}
	from := charOffset(line, s.from-1)
	if s.to == math.MaxInt {
		return line[from:]
	}
	return line[from : from+charOffset(line[from:], s.to-s.from+1)]
}

// charOffset is where character n of b begins.
func charOffset(b []byte, n int) int {
	pos := 0
	for ; n > 0 && pos < len(b); n-- {
		if b[pos] < utf8.RuneSelf {
			pos++
			continue
		}
		_, size := utf8.DecodeRune(b[pos:])
		pos += size
	}
	return pos
}
