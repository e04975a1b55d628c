package text

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"hako/shell"
	"hako/shell/command/internal/cli"
	"hako/shell/stream"
)

var Cut = shell.Command{Name: "cut", Run: runCut}

// A span is a range of positions, from 1, including both ends.
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
	k := cutter{sep: []byte{'\t'}, end: '\n', out: c.Stdout}
	names, err := k.parse(c)
	if err != nil {
		return err
	}
	return cli.Each(c, c.Inputs(names), func(in shell.Input) error { return k.copy(in.Reader) })
}

func (k *cutter) parse(c *shell.Call) (names []string, err error) {
	var list string
	var complement, sepGiven bool
	names, err = cli.Parse(c, cli.Flags{
		"b c f": func(o cli.Option) error {
			if k.mode != 0 {
				return cli.Misuse(c, "only one list may be specified")
			}
			k.mode, list = o.Name[0], o.Value
			return nil
		},
		"d": func(sep string) error {
			if _, n := utf8.DecodeRuneInString(sep); n < len(sep) {
				return cli.Misuse(c, "the delimiter must be a single character")
			}
			k.sep, sepGiven = []byte(cmp.Or(sep, "\x00")), true
			return nil
		},
		"output-delimiter": func(sep string) { k.outSep, k.outGiven = []byte(sep), true },
		"s":                &k.onlyFields, "complement": &complement, "z": cli.Set(&k.end, 0),
	})
	switch {
	case err != nil:
		return nil, err
	case k.mode == 0:
		return nil, cli.Misuse(c, "you must specify a list of bytes, characters, or fields")
	case k.mode != 'f' && sepGiven:
		return nil, cli.Misuse(c, "an input delimiter may be specified only when operating on fields")
	case k.mode != 'f' && k.onlyFields:
		return nil, cli.Misuse(c, "suppressing non-delimited lines makes sense\n\tonly when operating on fields")
	case k.mode == 'f' && !k.outGiven:
		k.outSep = k.sep
	}
	if err := k.parseList(list, complement); err != nil {
		return nil, c.UsageError(err)
	}
	return names, nil
}

func (k *cutter) parseList(list string, complement bool) error {
	what := map[byte]string{'b': "byte/character", 'c': "byte/character", 'f': "field"}[k.mode]
	for part := range strings.FieldsFuncSeq(list, isListSeparator) {
		s, err := parseSpan(part, what)
		if err != nil {
			return err
		}
		k.list = append(k.list, s)
	}
	if len(k.list) == 0 {
		return numberedFrom1(what)
	}
	k.list = mergeSpans(k.list)
	if complement {
		k.list = complementSpans(k.list)
	}
	return nil
}

// isListSeparator reports whether r separates the items of an option's value.
func isListSeparator(r rune) bool { return r == ',' || r == ' ' || r == '\t' }

func numberedFrom1(what string) error {
	if what == "field" {
		return errors.New("fields are numbered from 1")
	}
	return errors.New("byte/character positions are numbered from 1")
}

// parseSpan reads N, N-, -M or N-M.
func parseSpan(text, what string) (s span, err error) {
	from, to, isRange := strings.Cut(text, "-")
	if !isRange {
		to = from
	}
	if text == "-" {
		return s, errors.New("invalid range with no endpoint: -")
	}
	s = span{1, math.MaxInt}
	for i, n := range []*int{&s.from, &s.to} {
		end := [2]string{from, to}[i]
		if end == "" {
			continue
		}
		*n, err = strconv.Atoi(end)
		switch {
		case strings.Trim(end, "0123456789") != "":
			return s, fmt.Errorf("invalid %s ‘%s’", map[string]string{"field": "field value",
				"byte/character": "byte/character position"}[what], text)
		case err != nil:
			return s, fmt.Errorf("%s ‘%s’ is too large", map[string]string{"field": "field number",
				"byte/character": "byte/character offset"}[what], end)
		case *n == 0:
			return s, numberedFrom1(what)
		}
	}
	if s.from > s.to {
		return s, errors.New("invalid decreasing range")
	}
	return s, nil
}

func mergeSpans(list []span) []span {
	slices.SortFunc(list, func(a, b span) int { return a.from - b.from })
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

// copy cuts block by block. Each mode has its own loop.
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

// oneField prints one field of every line, which is the common case.
func (k *cutter) oneField(block []byte, field int) {
	sep := k.sep[0]
	for len(block) > 0 {
		var line []byte
		line, block, _ = cli.CutLine(block, k.end)
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

// lineFields prints the fields of a line that are in the list.
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

// slice returns the bytes or characters of a span.
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

// charOffset returns where character n of b begins.
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
