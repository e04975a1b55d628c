package text

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"hako/shell"
	"hako/shell/command/internal/cli"
	"hako/shell/vfs"
)

var Column = shell.Command{Name: "column", Run: runColumn}

type tableMaker struct {
	table, fillRows, noHead, keepEmpty, json bool
	seps                                     string
	blanks                                   bool // separators are blanks, and runs of them count once
	gap                                      string
	names                                    []string
	right, hide, order                       string
	limit, width                             int
	tableName                                string

	store *lineStore
	lines []lineEntry
	row   [][]byte // of the current line
	c     *shell.Call
	poll  cli.Poll
}

func runColumn(ctx context.Context, c *shell.Call) error {
	t := tableMaker{seps: " \t", blanks: true, gap: "  ", width: 80, c: c, tableName: "table"}
	names, err := cli.Parse(c, cli.Flags{
		"t": &t.table, "d": &t.noHead, "L": &t.keepEmpty, "x": &t.fillRows, "J": []*bool{&t.json, &t.table},
		"o": &t.gap, "R": &t.right, "H": &t.hide, "O": &t.order, "n": &t.tableName,
		"s": func(seps string) { t.seps, t.blanks = seps, false },
		"N": func(list string) { t.names = strings.Split(list, ",") },
		"l": cli.Number(&t.limit, 0, math.MaxInt32, "invalid columns argument: '%s'"),
		"c": cli.Number(&t.width, 0, math.MaxInt32, "invalid columns argument: '%s'"),
	})
	if err != nil {
		return err
	}
	t.store, t.poll = &lineStore{limiter: c.Limiter, end: '\n'}, cli.Poll{Ctx: ctx}
	defer t.store.free()
	failed := func(name string, err error) { c.Warn("%s: %s", name, vfs.Reason(err)) }
	for in := range cli.Inputs(c, names, c.Open, failed) {
		if err := t.store.load(in); err != nil {
			return err
		}
	}
	if t.lines, err = t.store.index(newSortWorkers()); err != nil {
		return err
	}
	switch {
	case t.json:
		return t.printJSON()
	case t.table:
		return t.print()
	}
	return t.list()
}

// each calls f with the fields of every line that is not skipped. They are valid until
// f returns.
func (t *tableMaker) each(f func(row [][]byte)) error {
	for _, e := range t.lines {
		if err := t.poll.Err(); err != nil {
			return err
		}
		line := t.store.line(e)
		if len(bytes.TrimLeft(line, " \t")) == 0 && !t.keepEmpty {
			continue
		}
		t.row = t.row[:0]
		if err := cli.FieldsFit(t.c, line); err != nil {
			return err
		}
		if t.table {
			t.row = t.split(t.row, line)
		} else {
			t.row = append(t.row, line)
		}
		f(t.row)
		if err := t.c.Stdout.Err(); err != nil {
			return err
		}
	}
	return nil
}

func (t *tableMaker) split(row [][]byte, line []byte) [][]byte {
	for {
		if t.blanks {
			line = bytes.TrimLeft(line, t.seps)
		}
		i := bytes.IndexAny(line, t.seps)
		if i < 0 || t.limit > 0 && len(row) == t.limit-1 {
			if !t.blanks || len(line) > 0 {
				row = append(row, line)
			}
			return row
		}
		row = append(row, line[:i])
		line = line[i+1:]
	}
}

// columns lists the columns to print, in order.
func (t *tableMaker) columns(n int) (cols []int) {
	cols = t.pick(t.order, n)
	for i := range n {
		if !slices.Contains(cols, i) {
			cols = append(cols, i)
		}
	}
	hidden := t.pick(t.hide, n)
	return slices.DeleteFunc(cols, func(i int) bool { return slices.Contains(hidden, i) })
}

// pick parses a list of column names, or of numbers from 1.
func (t *tableMaker) pick(list string, n int) (cols []int) {
	for word := range strings.SplitSeq(list, ",") {
		if i := slices.Index(t.names, word); i >= 0 {
			cols = append(cols, i)
		} else if i, err := strconv.Atoi(word); err == nil && i >= 1 && i <= n {
			cols = append(cols, i-1)
		}
	}
	return cols
}

// measure returns the width of every column of the input.
func (t *tableMaker) measure(head [][]byte) (widths []int, err error) {
	see := func(row [][]byte) {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], cli.TextWidth(cell))
		}
	}
	see(head)
	err = t.each(see)
	return widths, err
}

func (t *tableMaker) print() error {
	var head [][]byte
	for _, name := range t.names {
		head = append(head, []byte(name))
	}
	if t.noHead {
		head = nil
	}
	widths, err := t.measure(head)
	if err != nil {
		return err
	}
	cols := t.columns(len(widths))
	right := make([]bool, len(widths))
	for _, col := range t.pick(t.right, len(widths)) {
		right[col] = true
	}
	if head != nil {
		t.printRow(head, cols, widths, right)
	}
	return t.each(func(row [][]byte) { t.printRow(row, cols, widths, right) })
}

func (t *tableMaker) printRow(row [][]byte, cols, widths []int, right []bool) {
	for i, col := range cols {
		var cell []byte
		if col < len(row) {
			cell = row[col]
		}
		last := i == len(cols)-1
		space := widths[col] - cli.TextWidth(cell)
		if right[col] {
			pad(t.c, ' ', space)
		}
		t.c.Stdout.Write(cell)
		if !last {
			if !right[col] {
				pad(t.c, ' ', space)
			}
			t.c.Stdout.WriteString(t.gap)
		}
	}
	t.c.Stdout.WriteByte('\n')
}

func (t *tableMaker) printJSON() error {
	if len(t.names) == 0 {
		return t.c.Fail(1, "option --table-columns required for --json")
	}
	quote := func(s string) string {
		b, _ := json.Marshal(s)
		return string(b)
	}
	widths, err := t.measure(nil)
	if err != nil {
		return err
	}
	cols := t.columns(max(len(widths), len(t.names)))
	fmt.Fprintf(t.c.Stdout, "{\n   %s: [\n      ", quote(t.tableName))
	rows := 0
	err = t.each(func(row [][]byte) {
		if rows++; rows > 1 {
			t.c.Stdout.WriteByte(',')
		}
		sep := "{\n"
		for _, col := range cols {
			value := "null"
			if col < len(row) && len(row[col]) > 0 {
				value = quote(string(row[col]))
			}
			fmt.Fprintf(t.c.Stdout, "%s         %s: %s", sep, quote(t.columnName(col)), value)
			sep = ",\n"
		}
		t.c.Stdout.WriteString("\n      }")
	})
	t.c.Stdout.WriteString("\n   ]\n}\n")
	return cmp.Or(err, t.c.Stdout.Err())
}

func (t *tableMaker) columnName(col int) string {
	if col < len(t.names) {
		return t.names[col]
	}
	return "column" + strconv.Itoa(col+1)
}

// list fills the page with the unsplit lines. The width of a column is a multiple of
// eight, so that tabs lead from one to the next.
func (t *tableMaker) list() error {
	longest, kept := 0, t.lines[:0]
	for _, e := range t.lines {
		if line := t.store.line(e); t.keepEmpty || len(bytes.TrimLeft(line, " \t")) > 0 {
			longest = max(longest, cli.TextWidth(line))
			kept = append(kept, e)
		}
	}
	t.lines = kept
	width := (longest + 8) &^ 7
	perRow := max(1, t.width/width)
	if longest >= t.width {
		perRow = 1
	}
	down := (len(kept) + perRow - 1) / perRow
	for r := range down {
		first, step := r, down
		if t.fillRows {
			first, step = r*perRow, 1
		}
		t.printCells(first, step, perRow, width)
		if err := cmp.Or(t.poll.Err(), t.c.Stdout.Err()); err != nil {
			return err
		}
	}
	return nil
}

// printCells prints n lines: every step-th line, starting with first.
func (t *tableMaker) printCells(first, step, n, width int) {
	for i := first; n > 0 && i < len(t.lines); i += step {
		cell := t.store.line(t.lines[i])
		t.c.Stdout.Write(cell)
		if n--; n > 0 && i+step < len(t.lines) {
			for at := cli.TextWidth(cell); at < width; at += 8 - at%8 {
				t.c.Stdout.WriteByte('\t')
			}
		}
	}
	t.c.Stdout.WriteByte('\n')
}
