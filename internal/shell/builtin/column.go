package builtin

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"hako/internal/shell"
	"hako/internal/vfs"
)

var columnCmd = shell.Command{
	Name: "column", Args: "[-t] [-s SEPS] [-o S] [-N NAMES] [-R COLS] [-H COLS] [-O COLS] [-l N] [-dLJx] [-c WIDTH] [file...]", Summary: "arrange text in columns",
	Help: `  -t        make a table of fields     -s SEPS  fields are separated by any of these
  -o S      write S between columns    -N NAMES column names, with commas
  -R COLS   align these to the right   -H COLS  hide these
  -O COLS   order of columns           -l N     at most N columns
  -d        no heading                 -L       keep empty lines
  -J        as JSON (with -N; -n NAME names the table)
  -c WIDTH  width of the page (80)     -x       fill rows before columns
Examples:
  column -t table.txt
  column -t -s, -N name,age people.csv
  ls | column -c 60`,
	Run: runColumn,
}

type tableMaker struct {
	table, fillRows, noHead, keepEmpty, json bool
	seps                                     string
	blanks                                   bool // separators are blanks, and runs of them count once
	gap                                      string
	names                                    []string
	right, hide, order                       string
	limit, width                             int
	tableName                                string

	rows [][][]byte
	held int64
	c    *shell.Call
}

func runColumn(ctx context.Context, c *shell.Call) error {
	opts, names, err := getopt(c, "t,table s,separator: o,output-separator: N,table-columns: R,table-right: H,table-hide: O,table-order: "+
		"l,table-columns-limit: d,table-noheadings L,keep-empty-lines J,json n,table-name: x,fillrows c,output-width: e,table-header-repeat "+
		"E,table-noextreme: T,table-truncate: W,table-wrap:")
	if err != nil {
		return err
	}
	t := tableMaker{seps: " \t", blanks: true, gap: "  ", width: 80, c: c, tableName: "table"}
	for _, o := range opts {
		if err := t.set(o); err != nil {
			return err
		}
	}
	defer func() { c.Gauge.Hold(-t.held) }()
	failed := func(name string, err error) { c.Warn("%s: %s", name, vfs.Reason(err)) }
	for in := range operands(c, names, c.Open, failed) {
		err := eachLine(in.Reader, '\n', func(line []byte, _ bool) error { return t.add(line) })
		if err != nil {
			return err
		}
	}
	switch {
	case t.json:
		return t.printJSON()
	case t.table:
		return t.print()
	}
	return t.list()
}

func (t *tableMaker) set(o option) (err error) {
	switch o.Name {
	case "t":
		t.table = true
	case "s":
		t.seps, t.blanks = o.Value, false
	case "o":
		t.gap = o.Value
	case "N":
		t.names = strings.Split(o.Value, ",")
	case "R":
		t.right = o.Value
	case "H":
		t.hide = o.Value
	case "O":
		t.order = o.Value
	case "d":
		t.noHead = true
	case "L":
		t.keepEmpty = true
	case "J":
		t.json, t.table = true, true
	case "n":
		t.tableName = o.Value
	case "x":
		t.fillRows = true
	case "l", "c":
		n, err := strconv.ParseUint(o.Value, 10, 31)
		if err != nil {
			return t.c.Fail(1, "invalid columns argument: '%s'", o.Value)
		}
		if o.Name == "l" {
			t.limit = int(n)
		} else {
			t.width = int(n)
		}
	}
	return nil
}

// add keeps a line, split if this becomes a table.
func (t *tableMaker) add(line []byte) error {
	if len(bytes.TrimLeft(line, " \t")) == 0 && !t.keepEmpty {
		return nil
	}
	line = bytes.Clone(line)
	row := [][]byte{line}
	if t.table {
		row = t.split(line)
	}
	cost := int64(cap(line) + 24*cap(row) + 24)
	t.held += cost
	if err := t.c.Gauge.Hold(cost); err != nil {
		t.held -= cost
		return err
	}
	t.rows = append(t.rows, row)
	return nil
}

func (t *tableMaker) split(line []byte) (row [][]byte) {
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
func (t *tableMaker) columns() (cols []int) {
	n := len(t.names)
	for _, row := range t.rows {
		n = max(n, len(row))
	}
	cols = t.pick(t.order, n)
	for i := range n {
		if !slices.Contains(cols, i) {
			cols = append(cols, i)
		}
	}
	hidden := t.pick(t.hide, n)
	return slices.DeleteFunc(cols, func(i int) bool { return slices.Contains(hidden, i) })
}

// pick reads a list of column names or numbers from 1.
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

func (t *tableMaker) print() error {
	if len(t.names) > 0 && !t.noHead {
		head := make([][]byte, len(t.names))
		for i, name := range t.names {
			head[i] = []byte(name)
		}
		t.rows = append([][][]byte{head}, t.rows...)
	}
	cols := t.columns()
	widths := make([]int, len(cols))
	for _, row := range t.rows {
		for i, col := range cols {
			if col < len(row) {
				widths[i] = max(widths[i], textColumns(row[col]))
			}
		}
	}
	right := t.pick(t.right, 1<<30)
	for _, row := range t.rows {
		t.printRow(row, cols, widths, right)
		if err := t.c.Stdout.Err(); err != nil {
			return err
		}
	}
	return nil
}

func (t *tableMaker) printRow(row [][]byte, cols, widths, right []int) {
	for i, col := range cols {
		var cell []byte
		if col < len(row) {
			cell = row[col]
		}
		last := i == len(cols)-1
		space := widths[i] - textColumns(cell)
		if slices.Contains(right, col) {
			pad(t.c, ' ', space)
			t.c.Stdout.Write(cell)
		} else {
			t.c.Stdout.Write(cell)
			if !last {
				pad(t.c, ' ', space)
			}
		}
		if !last {
			t.c.Stdout.WriteString(t.gap)
		}
	}
	t.c.Stdout.WriteByte('\n')
}

func (t *tableMaker) printJSON() error {
	if len(t.names) == 0 {
		return t.c.Fail(1, "option --table-columns required for --json")
	}
	out := t.c.Stdout
	quote := func(s []byte) {
		b, _ := json.Marshal(string(s))
		out.Write(b)
	}
	out.WriteString("{\n   ")
	quote([]byte(t.tableName))
	out.WriteString(": [\n      ")
	for i, row := range t.rows {
		if i > 0 {
			out.WriteString(",")
		}
		out.WriteString("{\n")
		for n, col := range t.columns() {
			if n > 0 {
				out.WriteString(",\n")
			}
			out.WriteString("         ")
			name := "column" + strconv.Itoa(col+1)
			if col < len(t.names) {
				name = t.names[col]
			}
			quote([]byte(name))
			out.WriteString(": ")
			if col < len(row) && len(row[col]) > 0 {
				quote(row[col])
			} else {
				out.WriteString("null")
			}
		}
		out.WriteString("\n      }")
	}
	out.WriteString("\n   ]\n}\n")
	return out.Err()
}

// list fills the page with the lines as they are, columns eight wide or a
// multiple of it, so that tabs lead from one to the next.
func (t *tableMaker) list() error {
	longest := 0
	for _, row := range t.rows {
		longest = max(longest, textColumns(row[0]))
	}
	width := (longest + 8) &^ 7
	perRow := max(1, t.width/width)
	if longest >= t.width {
		perRow = 1
	}
	down := (len(t.rows) + perRow - 1) / perRow
	for r := range down {
		for col := range perRow {
			i := col*down + r
			if t.fillRows {
				i = r*perRow + col
			}
			if i >= len(t.rows) {
				break
			}
			t.c.Stdout.Write(t.rows[i][0])
			next := i + down
			if t.fillRows {
				next = i + 1
			}
			if col < perRow-1 && next < len(t.rows) {
				for at := textColumns(t.rows[i][0]); at < width; at += 8 - at%8 {
					t.c.Stdout.WriteByte('\t')
				}
			}
		}
		t.c.Stdout.WriteByte('\n')
		if err := t.c.Stdout.Err(); err != nil {
			return err
		}
	}
	return nil
}
