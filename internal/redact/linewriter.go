package redact

import (
	"io"
	"strings"
)

const (
	// lookAhead is how much of a line is known behind a place that is decided,
	// unless it ends before; no secret worth the name is longer.
	lookAhead = 8 << 10
	// keptBehind is how much of a line stays known before such a place: more
	// than [lookBack] and a name.
	keptBehind = 2 << 10
	// anchorSlack is how far behind the start of a token its anchor may be.
	anchorSlack = 64
	// maxKey is where a private key that does not end is taken for
	// something else: those of 16384 bits need less.
	maxKey = 16 << 10
)

// A lineWriter removes the secrets that can be recognized by their spelling, line by line.
type lineWriter struct {
	out io.Writer
	err error // of out; sticky

	sc  scanner
	off int // of buf in the stream

	buf  strings.Builder
	seen int // bytes of buf that were passed on and are kept to be looked back at
	low  int // where among them the last secret ended
	open int // bytes of buf in which no line was found to end

	places int // where the mark stands instead of a secret
	before int // those of them that stood there already

	key  int  // bytes of a private key that were dropped, counted from 1; 0 means not in one
	long bool // in a secret that is longer than is looked ahead
}

func (l *lineWriter) write(p []byte) {
	for len(p) > 0 {
		n := min(len(p), blockSize-l.buf.Len())
		l.buf.Write(p[:n])
		p = p[n:]
		l.full()
	}
}

func (l *lineWriter) writeString(s string) {
	for s != "" {
		n := min(len(s), blockSize-l.buf.Len())
		l.buf.WriteString(s[:n])
		s = s[n:]
		l.full()
	}
}

func (l *lineWriter) full() {
	if l.buf.Len() == blockSize {
		l.advance(false)
		l.buf.Grow(blockSize - l.buf.Len())
	}
}

// advance writes complete lines, or most of a line that is too long to wait for its end.
func (l *lineWriter) advance(last bool) {
	s := l.buf.String()
	end := len(s)
	if !last {
		end = strings.LastIndexByte(s, '\n') + 1
	}
	if end > 0 || last {
		l.pass(s[:end], end)
		l.keep(s, end, end)
		return
	}
	end = l.pass(s, len(s)-lookAhead)
	l.keep(s, end, max(0, end-keptBehind))
}

// release writes complete lines, if there are any.
func (l *lineWriter) release() {
	s := l.buf.String()
	if strings.IndexByte(s[max(l.open, l.seen):], '\n') < 0 {
		l.open = len(s)
		return
	}
	l.advance(false)
}

// keep makes s[from:] the buffer, of which everything before seen was written.
func (l *lineWriter) keep(s string, seen, from int) {
	l.seen, l.low, l.off, l.open = seen-from, max(0, l.low-from), l.off+from, 0
	l.buf.Reset()
	l.buf.WriteString(s[from:])
}

// pass writes s without its secrets up to limit, or to the end of a secret across it, and returns how far it
// came.
func (l *lineWriter) pass(s string, limit int) int {
	done := l.resume(s, l.seen, limit)
	start, end := 0, 0 // of the line
	stop := min(len(s), limit+anchorSlack)
	for i := nextAnchor(s, done, l.sc.nextStop(l.off, done, stop)); i < stop; i = nextAnchor(s, i+1, l.sc.nextStop(l.off, i+1, stop)) {
		if i >= end {
			start, end = lineAround(s, i)
		}
		before := l.sc
		l.sc.offset = l.off + start
		from, to := l.sc.find(s[start:end], i-start, max(0, l.low-start))
		from, to = max(from+start, done), to+start
		if i >= limit && (to <= from || from >= limit) {
			l.sc = before // it comes again, and must not count twice
			continue
		}
		if to <= from {
			continue
		}
		l.emit(s[done:from])
		l.emit(Mark)
		l.places += 1 - marksWithin(s[from:to], l.before)
		done = l.after(s, from, to, limit)
		l.low, i = done, done-1
	}
	if done < limit {
		l.emit(s[done:limit])
	}
	return max(done, limit)
}

// after returns where the text continues after the secret s[from:to].
func (l *lineWriter) after(s string, from, to, limit int) int {
	switch {
	case opensKey(s[from:to]):
		l.key = 1
	case to == len(s) && limit < len(s):
		l.long = true
	}
	return l.resume(s, to, limit)
}

// opensKey reports whether a private key begins in a removed part of a line and does not end there.
func opensKey(part string) bool {
	at := strings.LastIndex(part, keyBegin)
	if at < 0 {
		return false
	}
	_, to := keyBlock(part, at)
	return to == len(part) && keyStop(part[at:]) < 0
}

// resume returns where the text continues from at, if that is in a secret.
func (l *lineWriter) resume(s string, at, limit int) int {
	if l.long {
		at += span(s[at:], isLongSecretByte)
		l.long = at == len(s)
	}
	for l.key > 0 && at < limit {
		at = l.skipKey(s, at, limit)
	}
	return at
}

func isLongSecretByte(c byte) bool { return !isWordBreak(c) && !isQuote(c) }

// skipKey skips a line of a private key, or as much of it as is available.
func (l *lineWriter) skipKey(s string, at, limit int) int {
	line := s[at:]
	if n := strings.IndexByte(line, '\n'); n >= 0 {
		line = line[:n+1]
	}
	if stop := keyStop(line); stop >= 0 {
		l.key = 0
		return at + stop
	}
	n := min(len(line), limit-at)
	at += n
	if l.key += n; l.key > maxKey {
		l.key = 0
		if s[at-1] == '\n' {
			l.emit("\n")
		}
	}
	return at
}

// lineAround returns the bounds of the line of s[i].
func lineAround(s string, i int) (start, end int) {
	start = strings.LastIndexByte(s[:i], '\n') + 1
	if n := strings.IndexByte(s[i:], '\n'); n >= 0 {
		return start, i + n
	}
	return start, len(s)
}

func (l *lineWriter) emit(s string) {
	if s != "" && l.err == nil {
		_, l.err = io.WriteString(l.out, s)
	}
}
