package progress

import (
	"fmt"
	"strings"
	"time"

	"hako/internal/text"
)

const defaultWidth = 80

const frames = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"

// line formats the mark, the label, and the seconds. It is one column narrower than the
// terminal, for the cursor.
func (s *Spinner) line() string {
	columns := defaultWidth
	if s.Width != nil {
		columns = s.Width()
	}
	mark := string([]rune(frames)[s.frame%len([]rune(frames))])
	since := elapsed(time.Since(s.began))
	label := text.ShortenCells(oneLine(s.label), columns-1-len("x ")-len(" ")-len(since))
	if s.Color {
		mark, since = "\x1b[36m"+mark+"\x1b[0m", "\x1b[2m"+since+"\x1b[0m"
	}
	if label == "" {
		return mark + " " + since
	}
	return mark + " " + label + " " + since
}

// elapsed formats whole seconds.
func elapsed(d time.Duration) string {
	n := int(d / time.Second)
	if n < 60 {
		return fmt.Sprintf("%ds", n)
	}
	return fmt.Sprintf("%dm%02ds", n/60, n%60)
}

// oneLine makes a label safe for a terminal: it may contain a command of a model.
func oneLine(s string) string { return text.ForTerminal(strings.Join(strings.Fields(s), " ")) }
