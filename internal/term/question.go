package term

import (
	"fmt"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"

	"hako/gate"
	"hako/internal/text"
)

// MaxReason limits the reason that is shown: a long one could move the command off the screen.
const MaxReason = 300

// allow is the last line of every question.
const allow = "hako: allow? [y]es once, for this [s]ession, [N]o: "

const whatAnswersMean = `hako: that is none of the answers:
hako:   y, yes      run it this once
hako:   s, session  run it, and what is like it until this session ends, without asking
hako:   n, no       do not run it; so does an empty line
`

// A screenSize is the size of a terminal.
type screenSize struct{ columns, rows int }

// defaultScreen is for terminals of unknown size.
var defaultScreen = screenSize{columns: 80, rows: 24}

// minColumns is the minimum width for wrapping.
const minColumns = 20

func sizeOf(f *os.File) screenSize {
	w, h, err := term.GetSize(int(f.Fd()))
	if err != nil || w <= 0 || h <= 0 {
		return defaultScreen
	}
	return screenSize{max(w, minColumns), h}
}

// questionText formats a question. Each row begins with "hako: " or is indented, so that no text of a model looks like
// ours. Rows are wrapped here, and not by the terminal.
func questionText(q gate.Question, size screenSize) string {
	var rows []string
	add := func(label, text string) { rows = append(rows, wrap("hako: "+label, text, size.columns)...) }
	rows = append(rows, commandRows(q, size.columns)...)
	if q.Dir != "" {
		add("in ", OneLine(q.Dir))
	}
	if q.Reason != "" {
		add("it says: ", Brief(OneLine(q.Reason), MaxReason))
	}
	add("", fmt.Sprintf("%s (%s)", OneLine(q.Why), OneLine(q.Rule)))
	rows = append(rows, scrollNotice(len(rows), size)...)
	return strings.Join(rows, "\n") + "\n" + allow
}

// commandRows are the actor and the command, in one row if they fit. The gate has already made control characters
// visible.
func commandRows(q gate.Question, columns int) []string {
	head, command := "hako: "+OneLine(q.Actor)+" wants to run:", expandTabs(text.ForTerminal(q.Command))
	if one := head + " " + command; !strings.Contains(command, "\n") && maxWidth(one) < columns {
		return []string{one}
	}
	rows := wrap("", head, columns)
	for line := range strings.SplitSeq(command, "\n") {
		rows = append(rows, wrap("    ", strings.TrimPrefix(line, "    "), columns)...)
	}
	return rows
}

// expandTabs replaces tabs, because tab stops can be changed.
func expandTabs(text string) string { return strings.ReplaceAll(text, "\t", "    ") }

// scrollNotice says how much of a question is above the screen.
func scrollNotice(rows int, size screenSize) (notice []string) {
	for range 2 { // the notice itself counts
		hidden := rows + len(notice) + 1 - size.rows
		if hidden <= 0 {
			return nil
		}
		text := fmt.Sprintf("the question has %d rows, the first %d of which are above the screen: scroll up first", rows,
			hidden)
		notice = wrap("hako: ", text, size.columns)
	}
	return notice
}

// wrap breaks a text into rows. All but the first are indented, and all but the last end in a backslash.
func wrap(label, text string, columns int) (rows []string) {
	const more, mark = "      ", `\`
	row, used := label, maxWidth(label)
	for _, c := range text {
		if w := maxColumns(c); used+w+len(mark) >= columns && used > len(more) {
			rows = append(rows, row+mark)
			row, used = more, len(more)
		}
		row, used = row+string(c), used+maxColumns(c)
	}
	return append(rows, row)
}

// maxWidth is the maximum width of a text.
func maxWidth(text string) (n int) {
	for _, c := range text {
		n += maxColumns(c)
	}
	return n
}

// maxColumns is the maximum width of a character, on which terminals disagree beyond ASCII.
func maxColumns(c rune) int {
	if c < utf8.RuneSelf {
		return 1
	}
	return 2
}

// OneLine joins the lines of a text and drops invisible characters.
func OneLine(text string) string {
	text = strings.Map(func(c rune) rune {
		switch {
		case unicode.IsSpace(c):
			return ' '
		case c == unicode.ReplacementChar, !unicode.IsPrint(c),
			unicode.In(c, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector):
			return -1
		}
		return c
	}, text)
	return strings.Join(strings.Fields(text), " ")
}

// Brief shortens a text for one line of a terminal.
func Brief(text string, most int) string {
	text = strings.ReplaceAll(text, "\n", "⏎")
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most]) + "…"
}
