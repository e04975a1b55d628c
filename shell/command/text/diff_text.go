package text

import (
	"bytes"
	"context"
	"slices"
	"time"

	"hako/shell/command/internal/cli"
)

// A diffFile is one side of a comparison, cut into lines.
type diffFile struct {
	name  string // as it is shown
	label string // replaces name and time in headers
	time  time.Time
	data  []byte
	lines [][]byte // with their newlines; the last may lack it
}

// binary reports whether the beginning of a file has a zero byte.
func (f *diffFile) binary() bool {
	return bytes.IndexByte(f.data[:min(len(f.data), 32<<10)], 0) >= 0
}

// lineCost is the memory that a line takes in addition to its text.
const lineCost = 24

func lineCount(data []byte) int64 { return int64(bytes.Count(data, []byte("\n"))) + 1 }

// splitLines cuts a text into lines. The caller has charged lineCost for each.
func splitLines(data []byte) [][]byte {
	return slices.AppendSeq(make([][]byte, 0, lineCount(data)), bytes.Lines(data))
}

// number gives equal lines equal numbers. What is equal depends on the options.
func (d *differ) number(lines [2][][]byte) (numbers [2][]int32) {
	ids := make(map[string]int32)
	for side := range lines {
		cli.Check(d.files.Hold(int64(len(lines[side])) * 64))
		numbers[side] = make([]int32, len(lines[side]))
		for i, line := range lines[side] {
			if i&4095 == 0 {
				cli.Check(context.Cause(d.ctx))
			}
			key := d.key(line)
			id, ok := ids[string(key)]
			if !ok {
				id = int32(len(ids))
				ids[string(key)] = id
			}
			numbers[side][i] = id
		}
	}
	return numbers
}

// sameEnds counts the equal lines at the beginning and the end, which need no search.
// The lines shown around changes are not counted, because blocks of changes may slide
// over them.
func (d *differ) sameEnds(a, b [][]byte) (head, tail int) {
	n := min(len(a), len(b))
	for head < n && bytes.Equal(a[head], b[head]) {
		head++
	}
	for tail < n-head && bytes.Equal(a[len(a)-1-tail], b[len(b)-1-tail]) {
		tail++
	}
	shown := 0
	if d.style == 'u' || d.style == 'c' {
		shown = d.context
	}
	return max(0, head-shown), max(0, tail-shown)
}

// key returns a text that is the same for lines that count as equal.
func (d *differ) key(line []byte) []byte {
	if !d.loose {
		return line
	}
	if d.stripCR && bytes.HasSuffix(line, []byte("\r\n")) {
		line = append(bytes.Clone(line[:len(line)-2]), '\n')
	}
	switch {
	case d.allSpace:
		line = bytes.Join(bytes.Fields(line), nil)
	case d.spaceChange:
		line = squeezeSpace(line)
	case d.trailingSpace:
		line = bytes.TrimRight(line, " \t\r\n\v\f")
	}
	if d.tabs {
		line = expandTabs(line)
	}
	if d.fold {
		line = bytes.ToLower(line)
	}
	return line
}

// squeezeSpace replaces every run of blanks by one space, and removes it at the end.
func squeezeSpace(line []byte) []byte {
	out := make([]byte, 0, len(line))
	for _, b := range bytes.TrimRight(line, " \t\r\n\v\f") {
		if b == '\t' || b == '\r' || b == '\v' || b == '\f' {
			b = ' '
		}
		if b != ' ' || len(out) == 0 || out[len(out)-1] != ' ' {
			out = append(out, b)
		}
	}
	return out
}

func expandTabs(line []byte) []byte {
	var out []byte
	for _, b := range line {
		if b != '\t' {
			out = append(out, b)
			continue
		}
		out = append(out, "        "[len(out)%8:]...)
	}
	return out
}

// A change replaces lines a0..a1 of the first file by b0..b1 of the second.
type change struct {
	a0, a1, b0, b1 int
	ignored        bool // by -B or -I
}

// changes compares two files.
func (d *differ) changes(files [2]*diffFile) []change {
	for _, f := range files {
		cli.Check(d.files.Hold(lineCost * lineCount(f.data)))
		f.lines = splitLines(f.data)
	}
	a, b := files[0].lines, files[1].lines
	head, tail := d.sameEnds(a, b)
	ids := d.number([2][][]byte{a[head : len(a)-tail], b[head : len(b)-tail]})
	delA, insB := matchLines(d.ctx, ids[0], ids[1])
	slideBlocks(ids[0], delA, insB)
	slideBlocks(ids[1], insB, delA)
	list := collect(delA, insB, head)
	for i, c := range list {
		list[i].ignored = d.ignorable(a[c.a0:c.a1]) && d.ignorable(b[c.b0:c.b1])
	}
	return list
}

// collect turns flags into changes; shift lines come before the first flag.
func collect(delA, insB []bool, shift int) []change {
	var list []change
	for i, j := 0, 0; i < len(delA) || j < len(insB); i, j = i+1, j+1 {
		c := change{a0: i + shift, b0: j + shift}
		for i < len(delA) && delA[i] {
			i++
		}
		for j < len(insB) && insB[j] {
			j++
		}
		if c.a1, c.b1 = i+shift, j+shift; c.a0 < c.a1 || c.b0 < c.b1 {
			list = append(list, c)
		}
	}
	return list
}

// ignorable reports whether -B or -I passes over all the lines.
func (d *differ) ignorable(lines [][]byte) bool {
	if !d.blankLines && d.ignoreLines == nil {
		return false
	}
	for _, line := range lines {
		blank := d.blankLines && (len(bytes.TrimRight(line, "\r\n")) == 0 || d.allSpace && len(bytes.TrimSpace(line)) == 0)
		if !blank && (d.ignoreLines == nil || !d.ignoreLines.Match(bytes.TrimSuffix(line, []byte("\n")))) {
			return false
		}
	}
	return true
}

// diffSeparator splits one input into the two texts to compare.
const diffSeparator = "---LLMCMD_DIFF_SEPARATOR---"

// cutSeparator splits a text at the line that is the separator.
func cutSeparator(data []byte, separator string) (before, after []byte, ok bool) {
	at := 0
	for line := range bytes.Lines(data) {
		if string(bytes.TrimSpace(line)) == separator {
			return data[:at], data[at+len(line):], true
		}
		at += len(line)
	}
	return nil, nil, false
}

// pipedPair compares the two halves of standard input.
func (d *differ) pipedPair() int {
	defer d.files.Release()
	data, err := d.files.ReadAll(d.c.Stdin)
	cli.Check(err)
	first, second, ok := cutSeparator(data, diffSeparator)
	if !ok {
		d.c.Warn("missing operand after '%s'", d.c.Name)
		d.c.Warn("name two files, or separate two texts on standard input by a line %s", diffSeparator)
		return 2
	}
	return d.report([2]*diffFile{{name: "a", label: "a", data: first}, {name: "b", label: "b", data: second}})
}
