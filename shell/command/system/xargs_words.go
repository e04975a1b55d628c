package system

import (
	"errors"
	"io"
	"strings"

	"hako/shell/command/internal/cli"
	"hako/shell/stream"
)

// splitWords reads lines and cuts them into words. A quoted word may not
// contain a newline; a backslash makes the next byte an ordinary one, a newline too.
func (x *xargs) splitWords(in *stream.Reader) {
	for {
		line, err := in.Line()
		if errors.Is(err, io.EOF) {
			return
		}
		cli.Check(err)
		text := string(line)
		for continued(text) {
			more, err := in.Line()
			if err != nil {
				break
			}
			cli.Check(x.c.Limiter.Fits(int64(len(text) + len(more))))
			text += string(more)
		}
		x.line(strings.TrimSuffix(text, "\n"))
	}
}

// continued reports whether the newline of a line is escaped.
func continued(text string) bool {
	body, ok := strings.CutSuffix(text, "\n")
	if !ok {
		return false
	}
	slashes := len(body) - len(strings.TrimRight(body, `\`))
	return slashes%2 == 1
}

// line adds the words of one line, or with -I the line as one.
func (x *xargs) line(text string) {
	if x.replace != "" {
		if text = strings.TrimLeft(text, " \t"); text != "" {
			item, _ := x.cutItem(text, "")
			x.add(item)
		}
		return
	}
	found := false
	for rest := strings.TrimLeft(text, " \t\v\f\r"); rest != ""; rest = strings.TrimLeft(rest, " \t\v\f\r") {
		var word string
		word, rest = x.cutItem(rest, " \t\v\f\r")
		x.add(word)
		found = true
	}
	// Blank lines do not count; a trailing blank joins the next line.
	if found && (x.maxLines == 0 || strings.TrimRight(text, " \t") == text) {
		x.lineEnd()
	}
}

// cutItem reads one item up to a separator, taking quotes off.
func (x *xargs) cutItem(s, separators string) (item, rest string) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch ch := s[i]; {
		case ch == '\'' || ch == '"':
			end := strings.IndexByte(s[i+1:], ch)
			if end < 0 || strings.Contains(s[i+1:i+1+end], "\n") {
				x.unmatched(ch)
			}
			b.WriteString(s[i+1 : i+1+end])
			i += end + 1
		case ch == '\\' && i+1 < len(s):
			i++
			b.WriteByte(s[i])
		case strings.IndexByte(separators, ch) >= 0:
			return b.String(), s[i:]
		case ch != '\\':
			b.WriteByte(ch)
		}
	}
	return b.String(), ""
}

// unmatched reports a quote without its pair, after the command with the items before.
func (x *xargs) unmatched(quote byte) {
	kind := map[byte]string{'\'': "single", '"': "double"}[quote]
	bad := x.c.Fail(1, "unmatched %s quote; by default quotes are special to xargs unless you use the -0 option", kind)
	x.rest()
	cli.Check(bad)
}
