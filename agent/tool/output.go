package tool

import "hako/internal/redact"

// An output is the whole output of a command, kept so that further pages need no second run.
type output struct {
	stdout []byte
	stderr string
	exit   int

	redacted int // places
}

// page returns one page.
func (o *output) page(start, size int64) Output {
	w := newWindow(start, size)
	_, _ = w.Write(o.stdout) // never fails
	return o.answer(w)
}

// answer returns the page that w has of the output.
func (o *output) answer(w *window) Output {
	page, next, last := w.page()
	out := Output{
		OK: o.exit == 0, StdoutText: validText(page), StderrText: o.stderr, ExitCode: o.exit,
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
