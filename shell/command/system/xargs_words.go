package system

import (
	"errors"
	"io"
	"strings"

	"hako/shell/stream"
)

// splitWords reads lines and cuts them into words. A quoted word may not
// contain a newline; a backslash makes the next byte an ordinary one, a newline too.
func (x *xargs) splitWords(in *stream.Reader) error {
	for {
		line, err := in.Line()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		text := string(line)
		for continued(text) {
			more, err := in.Line()
			if err != nil {
				break
			}
			if err := x.c.Limiter.Fits(int64(len(text) + len(more))); err != nil {
				return err
			}
			text += string(more)
		}
		if err := x.line(strings.TrimSuffix(text, "\n")); err != nil {
			return err
		}
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

// line takes the words of one line, or with -I the line as one.
func (x *xargs) line(text string) error {
	if x.replace != "" {
		return x.wholeLine(text)
	}
	found := false
	for rest := strings.TrimLeft(text, " \t\v\f\r"); rest != ""; rest = strings.TrimLeft(rest, " \t\v\f\r") {
		word, after, err := cutItem(rest, " \t\v\f\r")
		if err != nil {
			return x.badQuote(err)
		}
		if err := x.add(word); err != nil {
			return err
		}
		rest, found = after, true
	}
	if !found || x.maxLines > 0 && strings.TrimRight(text, " \t") != text {
		return nil // blank lines do not count; a trailing blank joins the next line
	}
	return x.lineEnd()
}

func (x *xargs) wholeLine(text string) error {
	text = strings.TrimLeft(text, " \t")
	if text == "" {
		return nil
	}
	item, _, err := cutItem(text, "")
	if err != nil {
		return x.badQuote(err)
	}
	return x.add(item)
}

func (x *xargs) badQuote(err error) error {
	bad := x.c.Fail(1, "%v", err)
	if e := x.rest(); e != nil {
		return e
	}
	return bad
}

// cutItem reads one item up to a separator, taking quotes off.
func cutItem(s, separators string) (item, rest string, err error) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch ch := s[i]; {
		case ch == '\'' || ch == '"':
			end := strings.IndexByte(s[i+1:], ch)
			if end < 0 || strings.Contains(s[i+1:i+1+end], "\n") {
				return "", "", unmatched(ch)
			}
			b.WriteString(s[i+1 : i+1+end])
			i += end + 1
		case ch == '\\' && i+1 < len(s):
			i++
			b.WriteByte(s[i])
		case strings.IndexByte(separators, ch) >= 0:
			return b.String(), s[i:], nil
		case ch != '\\':
			b.WriteByte(ch)
		}
	}
	return b.String(), "", nil
}

func unmatched(quote byte) error {
	kind := "single"
	if quote == '"' {
		kind = "double"
	}
	return errors.New("unmatched " + kind + " quote; by default quotes are special to xargs unless you use the -0 option")
}
