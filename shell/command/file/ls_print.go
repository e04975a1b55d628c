package file

import (
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"unicode/utf8"

	"hako/shell/command/internal/cli"
	"hako/shell/command/internal/datetime"
)

func (l *ls) total(entries []lsEntry) {
	var sum int64
	for _, e := range entries {
		sum += blocksOf(e.fi)
	}
	fmt.Fprintf(l.c.Stdout, "total %s%s", l.blockText(sum), l.end)
}

// blockText writes a number of 512-byte blocks in units of 1K.
func (l *ls) blockText(blocks int64) string {
	if l.unit > 0 {
		return humanSize(blocks*512, l.unit)
	}
	return strconv.FormatInt(blocks/2, 10)
}

func (l *ls) print(entries []lsEntry) {
	switch {
	case l.long:
		l.printLong(entries)
	case l.layout == 'C' || l.layout == 'x':
		l.printColumns(entries)
	case l.layout == 'm':
		l.printCommas(entries)
	default:
		for i, text := range l.cells(entries) {
			l.c.Stdout.WriteString(text + l.end)
			if i%1024 == 0 && l.c.Stdout.Err() != nil {
				return
			}
		}
	}
}

// cells are the names as they are shown, with the numbers before them aligned.
func (l *ls) cells(entries []lsEntry) []string {
	cells := make([]string, len(entries))
	for i, e := range entries {
		cells[i] = l.label(e)
	}
	l.numbers(cells, entries)
	return cells
}

// prefix puts a right-aligned column before the cells.
func prefix(cells, column []string) {
	w := cli.MaxLen(column)
	for i := range cells {
		cells[i] = strings.Repeat(" ", w-len(column[i])) + column[i] + " " + cells[i]
	}
}

// label is the name with its indicator, and in the long form the target of a link.
func (l *ls) label(e lsEntry) string {
	text := l.quoteName(e.name)
	if !isLink(e.fi) || !l.long {
		return text + l.marker(e.fi.Mode())
	}
	text += " -> " + l.quoteName(readlink(l.c, e.path))
	if l.mark != 0 {
		if to, err := l.c.FS.Stat(e.path); err == nil {
			text += l.marker(to.Mode())
		}
	}
	return text
}

func (l *ls) marker(m fs.FileMode) string {
	switch {
	case l.mark == 0:
	case m.IsDir():
		return "/"
	case l.mark == '/':
	case m&fs.ModeSymlink != 0:
		return "@"
	case l.mark == 'F' && m.IsRegular() && m&0o111 != 0:
		return "*"
	}
	return ""
}

func (l *ls) quoteName(name string) string {
	switch l.quote {
	case 'Q':
		return `"` + strings.ReplaceAll(escapeName(name), `"`, `\"`) + `"`
	case 'b':
		return strings.ReplaceAll(escapeName(name), " ", `\ `)
	}
	return name
}

// escapeName writes a name as C would.
func escapeName(name string) string {
	var b strings.Builder
	for len(name) > 0 {
		r, n := utf8.DecodeRuneInString(name)
		switch {
		case cli.Unprintable(r):
			b.WriteString(cli.EscapeBytes(name[:n]))
		case r == '\\':
			b.WriteString(`\\`)
		default:
			b.WriteString(name[:n])
		}
		name = name[n:]
	}
	return b.String()
}

func (l *ls) printLong(entries []lsEntry) {
	now, zone := l.c.Now(), datetime.ZoneOrUTC(l.c)
	n := len(entries)
	links, sizes, times := make([]string, n), make([]string, n), make([]string, n)
	owner := cli.UserName
	if l.numeric {
		owner = strconv.Itoa(cli.UserID)
	}
	for i, e := range entries {
		links[i] = strconv.Itoa(linksOf(e.fi))
		sizes[i] = strconv.FormatInt(sizeOf(e.fi), 10)
		if l.unit > 0 {
			sizes[i] = humanSize(sizeOf(e.fi), l.unit)
		}
		times[i] = l.lsTime(e.fi.ModTime().In(zone), now)
	}
	wl, ws, wt := cli.MaxLen(links), cli.MaxLen(sizes), cli.MaxLen(times)
	owners := ""
	if !l.noOwner {
		owners += owner + " "
	}
	if !l.noGroup {
		owners += owner + " "
	}
	rows := make([]string, n)
	for i, e := range entries {
		rows[i] = fmt.Sprintf("%s %*s %s%*s %-*s %s", cli.ModeText(e.fi.Mode()), wl, links[i], owners, ws, sizes[i],
			wt, times[i], l.label(e))
	}
	l.numbers(rows, entries)
	for _, row := range rows {
		l.c.Stdout.WriteString(row + l.end)
	}
}

// numbers puts the columns of -s and -i before the rows.
func (l *ls) numbers(rows []string, entries []lsEntry) {
	column := make([]string, len(rows))
	if l.blocks {
		for i, e := range entries {
			column[i] = l.blockText(blocksOf(e.fi))
		}
		prefix(rows, column)
	}
	if l.inode {
		for i, e := range entries {
			column[i] = strconv.FormatUint(inodeOf(e.fi), 10)
		}
		prefix(rows, column)
	}
}

func (l *ls) printCommas(entries []lsEntry) {
	at := 0
	for i, cell := range l.cells(entries) {
		w := cli.TextWidth([]byte(cell))
		if i > 0 {
			if at+w+2 < l.width {
				l.c.Stdout.WriteString(", ")
				at += 2
			} else {
				l.c.Stdout.WriteString(",\n")
				at = 0
			}
		}
		l.c.Stdout.WriteString(cell)
		at += w
	}
	if len(entries) > 0 {
		l.c.Stdout.WriteString("\n")
	}
}

// printColumns uses as many columns as fit; -x fills rows, -C columns.
func (l *ls) printColumns(entries []lsEntry) {
	cells := l.cells(entries)
	widths := make([]int, len(cells))
	for i, cell := range cells {
		widths[i] = cli.TextWidth([]byte(cell))
	}
	count := min(len(cells), max(1, l.width/3))
	var rows int
	var fit []int
	for ; count > 0; count-- {
		rows = (len(cells) + count - 1) / count
		fit = columnWidths(widths, rows, count, l.layout == 'x')
		if sumOf(fit)+2*(len(fit)-1) < l.width || count == 1 {
			break
		}
	}
	for r := range rows {
		l.printRow(cells, widths, fit, r, rows, count)
	}
}

func columnWidths(widths []int, rows, count int, across bool) []int {
	fit := make([]int, count)
	for i, w := range widths {
		at := i / rows
		if across {
			at = i % count
		}
		fit[at] = max(fit[at], w)
	}
	return fit
}

func sumOf(list []int) (n int) {
	for _, v := range list {
		n += v
	}
	return n
}

func (l *ls) printRow(cells []string, widths, fit []int, r, rows, count int) {
	at, next := 0, 0
	for col := range count {
		i := col*rows + r
		if l.layout == 'x' {
			i = r*count + col
		}
		if i >= len(cells) {
			break
		}
		l.c.Stdout.WriteString(gap(at, next) + cells[i])
		at, next = next+widths[i], next+fit[col]+2
	}
	l.c.Stdout.WriteString("\n")
}

// gap fills the space between two columns, with tabs where that is shorter.
func gap(from, to int) string {
	var b strings.Builder
	for from < to {
		if to/8 > (from+1)/8 {
			b.WriteByte('\t')
			from += 8 - from%8
		} else {
			b.WriteByte(' ')
			from++
		}
	}
	return b.String()
}
