package tool

import "hako/internal/redact"

// maxOutput is the size of the largest output that is kept whole.
const maxOutput = 1 << 20

// An output is what a command left behind, kept so that its further pages do not mean running it again.
type output struct {
	stdout []byte
	stderr string
	exit   int

	redacted int // places
}

// page answers with one page.
func (o *output) page(start, size int64) Output {
	w := newWindow(start, size)
	_, _ = w.Write(o.stdout) // a window takes everything
	return o.answer(w)
}

// answer spells the page that w has of the output.
func (o *output) answer(w *window) Output {
	page, next, last := w.page()
	out := Output{
		OK: o.exit == 0, StdoutText: text(page), StderrText: o.stderr, ExitCode: o.exit,
		TotalBytes: w.total, Truncated: !last, Redacted: o.redacted, Note: redact.ModelNote(o.redacted),
	}
	if !last {
		out.NextStart = &next
	}
	if note := charsetNote(page); len(o.stderr)+len(note) <= MaxPage {
		out.StderrText += note
	}
	return out
}

// A tape is a window that also keeps the whole stream, as long as it is not too large.
type tape struct {
	*window
	all  []byte
	lost bool // nothing is kept
}

// Write implements [io.Writer].
func (t *tape) Write(p []byte) (int, error) {
	record(t, p)
	return t.window.Write(p)
}

// WriteString implements [io.StringWriter].
func (t *tape) WriteString(s string) (int, error) {
	record(t, s)
	return t.window.WriteString(s)
}

func record[T string | []byte](t *tape, p T) {
	switch {
	case t.lost:
	case len(t.all)+len(p) > maxOutput:
		t.all, t.lost = nil, true
	default:
		t.all = append(t.all, p...)
	}
}
