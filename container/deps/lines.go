package deps

import (
	"strings"
	"sync"
	"unicode"

	"hako/internal/redact"
	"hako/internal/text"
)

// longLine is how much of a line is reported.
const longLine = 500

// tailSize is how much of each output a warning contains.
const tailSize = 1500

// lines is a writer that reports each complete line, and keeps the end of the output. It is safe for concurrent use.
type lines struct {
	report func(string) // nil means none

	mu   sync.Mutex
	part []byte // of an incomplete line
	long bool   // the rest of this line is not reported
	tail *text.HeadTail
}

// Write implements [io.Writer]. It never fails.
func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range p {
		switch {
		case c == '\n' || c == '\r': // progress lines are rewritten after a carriage return
			l.finish()
		case len(l.part) < longLine:
			l.part = append(l.part, c)
		default:
			l.long = true
		}
	}
	return len(p), nil
}

func (l *lines) finish() {
	line := strings.TrimRightFunc(redact.Text(text.Visible(string(l.part))), unicode.IsSpace)
	if l.long {
		line += " …"
	}
	l.part, l.long = l.part[:0], false
	if line == "" {
		return
	}
	if l.tail == nil {
		l.tail = &text.HeadTail{Head: -1, Tail: tailSize, Mark: "…"}
	}
	l.tail.Write([]byte(line + "\n"))
	if l.report != nil {
		l.report(line)
	}
}

func (l *lines) flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.finish()
}

func (l *lines) last() string {
	l.flush()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.tail == nil {
		return ""
	}
	_, tail, cut := l.tail.Bytes()
	if cut == 0 {
		return strings.TrimRight(l.tail.String(), "\n")
	}
	_, whole, _ := strings.Cut(string(tail), "\n") // drops an incomplete line
	return "…\n" + strings.TrimRight(whole, "\n")
}

// ending appends the ends of outputs to a sentence. Programs differ in which output has the reason.
func ending(what string, outputs ...*lines) string {
	text := ""
	for _, l := range outputs {
		if last := l.last(); last != "" {
			text += "\n" + last
		}
	}
	if text == "" {
		return what + " and printed nothing"
	}
	return what + "; its last output:" + text
}

// each serializes calls of a function.
func each(report func(string)) func(string) {
	if report == nil {
		return nil
	}
	var one sync.Mutex
	return func(line string) {
		one.Lock()
		defer one.Unlock()
		report(line)
	}
}
