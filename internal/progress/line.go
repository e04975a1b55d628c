package progress

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"golang.org/x/text/width"
)

const usualWidth = 80

// marks turn.
const marks = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"

// line returns what is shown: the mark, the label, and the seconds. It is one
// column short of the terminal, because the cursor needs a place.
func (s *Spinner) line() string {
	columns := usualWidth
	if s.Width != nil {
		columns = s.Width()
	}
	mark := string([]rune(marks)[s.turn%len([]rune(marks))])
	since := elapsed(time.Since(s.began))
	label := cut(oneLine(s.label), columns-1-len("x ")-len(" ")-len(since))
	if s.Color {
		mark, since = "\x1b[36m"+mark+"\x1b[0m", "\x1b[2m"+since+"\x1b[0m"
	}
	if label == "" {
		return mark + " " + since
	}
	return mark + " " + label + " " + since
}

// elapsed is d in whole seconds.
func elapsed(d time.Duration) string {
	n := int(d / time.Second)
	if n < 60 {
		return fmt.Sprintf("%ds", n)
	}
	return fmt.Sprintf("%dm%02ds", n/60, n%60)
}

// oneLine makes a label fit for a terminal: it may quote a command that a model
// wrote, and with it anything.
func oneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case r < ' ':
			return '␀' + r
		case unicode.IsControl(r):
			return unicode.ReplacementChar
		case unicode.Is(unicode.Bidi_Control, r):
			return -1
		}
		return r
	}, s)
	return strings.Join(strings.Fields(s), " ")
}

// cut shortens s to at most most columns. What was cut is marked.
func cut(s string, most int) string {
	used, fits := 0, 0
	for i, r := range s {
		if used += columns(r); used > most {
			if most < 1 {
				return ""
			}
			return s[:fits] + "…"
		}
		if used < most {
			fits = i + len(string(r)) // here the mark still finds room
		}
	}
	return s
}

// columns is the width of r on a terminal.
func columns(r rune) int {
	if unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) {
		return 0
	}
	if k := width.LookupRune(r).Kind(); k == width.EastAsianWide || k == width.EastAsianFullwidth {
		return 2
	}
	return 1
}
