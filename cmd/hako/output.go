package main

import (
	"encoding/json"
	"io"
	"strings"

	"hako/internal/text"
)

// encode prints v as one line of JSON.
func encode(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// output prints v as JSON if the flag is set, else by print.
func (o *common) output(w io.Writer, v any, print func() error) error {
	if o.json {
		return encode(w, v)
	}
	return print()
}

// table prints rows in columns.
func table(w io.Writer, rows [][]string) error {
	return writeLines(w, columns(rows, func(int) bool { return false }))
}

func writeLines(w io.Writer, lines []string) error {
	_, err := io.WriteString(w, strings.Join(append(lines, ""), "\n"))
	return err
}

// columns pads the cells of all rows to the width of their column, to the left or to the right, with two spaces
// between columns.
func columns(rows [][]string, right func(column int) bool) []string {
	var width []int
	for _, r := range rows {
		width = append(width, make([]int, max(0, len(r)-len(width)))...)
		for i, cell := range r {
			width[i] = max(width[i], text.Cells(cell))
		}
	}
	lines := make([]string, len(rows))
	for n, r := range rows {
		var line strings.Builder
		for i, cell := range r {
			space := strings.Repeat(" ", width[i]-text.Cells(cell))
			if right(i) {
				line.WriteString(space + cell + "  ")
			} else {
				line.WriteString(cell + space + "  ")
			}
		}
		lines[n] = strings.TrimRight(line.String(), " ")
	}
	return lines
}
