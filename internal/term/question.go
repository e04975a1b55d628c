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

// MostReason is how much of a reason is shown: who wants something approved must
// not be able to move it out of sight by talking.
const MostReason = 300

// allow ends every question.
const allow = "hako: allow? [y]es once, for this [s]ession, [N]o: "

const whatAnswersMean = `hako: that is none of the answers:
hako:   y, yes      run it this once
hako:   s, session  run it, and what is like it until this session ends, without asking
hako:   n, no       do not run it; so does an empty line
`

// A screenSize is that of a terminal.
type screenSize struct{ columns, rows int }

// usualScreen is what a terminal has that does not tell.
var usualScreen = screenSize{columns: 80, rows: 24}

// narrowest is how many columns text is broken to at least.
const narrowest = 20

func sizeOf(f *os.File) screenSize {
	w, h, err := term.GetSize(int(f.Fd()))
	if err != nil || w <= 0 || h <= 0 {
		return usualScreen
	}
	return screenSize{max(w, narrowest), h}
}

// questionText words a question. Each row of the screen begins with "hako: " or
// is indented, whatever the question contains: what a model says must not look
// like what we say. So rows are broken here, and not by the terminal.
func questionText(q gate.Question, size screenSize) string {
	var rows []string
	add := func(label, text string) { rows = append(rows, brokenRows("hako: "+label, text, size.columns)...) }
	rows = append(rows, commandRows(q, size.columns)...)
	if q.Dir != "" {
		add("in ", OneLine(q.Dir))
	}
	if q.Reason != "" {
		add("it says: ", Brief(OneLine(q.Reason), MostReason))
	}
	add("", fmt.Sprintf("%s (%s)", OneLine(q.Why), OneLine(q.Rule)))
	rows = append(rows, outOfSight(len(rows), size)...)
	return strings.Join(rows, "\n") + "\n" + allow
}

// commandRows are who wants something and what: in one row if that is enough.
// What would move the cursor the gate has spelled out already.
func commandRows(q gate.Question, columns int) []string {
	head, command := "hako: "+OneLine(q.Actor)+" wants to run:", spaced(text.ForTerminal(q.Command))
	if one := head + " " + command; !strings.Contains(command, "\n") && widest(one) < columns {
		return []string{one}
	}
	rows := brokenRows("", head, columns)
	for line := range strings.SplitSeq(command, "\n") {
		rows = append(rows, brokenRows("    ", strings.TrimPrefix(line, "    "), columns)...)
	}
	return rows
}

// spaced writes tabs as spaces: where tab stops are is for others to say.
func spaced(text string) string { return strings.ReplaceAll(text, "\t", "    ") }

// outOfSight says how much of a question does not fit on the screen, with the
// rows that say so and that of the answer.
func outOfSight(rows int, size screenSize) (notice []string) {
	for range 2 { // its own length counts
		hidden := rows + len(notice) + 1 - size.rows
		if hidden <= 0 {
			return nil
		}
		text := fmt.Sprintf("the question has %d rows, the first %d of which are above the screen: scroll up first", rows,
			hidden)
		notice = brokenRows("hako: ", text, size.columns)
	}
	return notice
}

// brokenRows makes rows of a text. All but the first are indented, and all but the
// last end in a backslash.
func brokenRows(label, text string, columns int) (rows []string) {
	const more, mark = "      ", `\`
	row, used := label, widest(label)
	for _, c := range text {
		if w := columnsOf(c); used+w+len(mark) >= columns && used > len(more) {
			rows = append(rows, row+mark)
			row, used = more, len(more)
		}
		row, used = row+string(c), used+columnsOf(c)
	}
	return append(rows, row)
}

// widest is how many columns a text takes at most.
func widest(text string) (n int) {
	for _, c := range text {
		n += columnsOf(c)
	}
	return n
}

// columnsOf is how many columns a character takes at most: about those that are
// not ASCII terminals have their own opinions.
func columnsOf(c rune) int {
	if c < utf8.RuneSelf {
		return 1
	}
	return 2
}

// OneLine makes a line of a text and leaves out what is not to be seen, or what
// would change how the rest is seen.
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

// Brief cuts a text for one line of a terminal.
func Brief(text string, most int) string {
	text = strings.ReplaceAll(text, "\n", "⏎")
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most]) + "…"
}
