package health

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf16"
)

// A lineWriter rewrites lines; a handler writes one at a time.
type lineWriter struct {
	out     io.Writer
	rewrite func([]byte) []byte
}

// Write implements [io.Writer].
func (w lineWriter) Write(line []byte) (int, error) {
	if _, err := w.out.Write(w.rewrite(line)); err != nil {
		return 0, err
	}
	return len(line), nil
}

const (
	wideSpace = '\u3000'
	del       = 0x7f
)

// rewriteText changes two things in a line of key=value: ideographic spaces, of which
// Japanese text is full, are not escaped, and DEL, the one control character that slog
// lets pass, is. A quote can only open or close a string, in which a backslash begins an
// escape.
func rewriteText(line []byte) []byte {
	escape := []byte(`\u3000`)
	if !bytes.Contains(line, escape) && bytes.IndexByte(line, del) < 0 {
		return line
	}
	var b bytes.Buffer
	quoted := false
	for i := 0; i < len(line); i++ {
		switch {
		case line[i] == '"':
			quoted = !quoted
			b.WriteByte('"')
		case quoted && bytes.HasPrefix(line[i:], escape):
			b.WriteRune(wideSpace)
			i += len(escape) - 1
		case quoted && line[i] == '\\':
			b.Write(line[i : i+2])
			i++
		case line[i] == del:
			b.WriteString(`\x7f`)
		default:
			b.WriteByte(line[i])
		}
	}
	return b.Bytes()
}

// rewriteJSON escapes what JSON lets pass but a terminal may interpret or a person may
// misread: DEL, the C1 controls, and marks that change the direction of writing.
func rewriteJSON(line []byte) []byte {
	if bytes.IndexFunc(line, hidden) < 0 {
		return line
	}
	var b strings.Builder
	for _, r := range string(line) {
		switch {
		case !hidden(r):
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return []byte(b.String())
}

func hidden(r rune) bool {
	return r >= del && r != wideSpace && !strconv.IsPrint(r)
}
