package console

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"hako/internal/app/secretary/sessions"
)

const (
	maxRendered  = 256 << 10 // maximum bytes of a rendered answer; a longer one is shown as plain text
	maxListDepth = 6         // maximum nesting of lists; deeper ones are shown as plain text
)

// renderMarkdown renders the answer of a model: paragraphs, lists, code blocks, code, bold and links. A link becomes
// its text and URL without an anchor, so that a manipulated model cannot make people click. Other markup stays as
// written.
func renderMarkdown(text string) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		var s markdownWriter
		s.layOut(text)
		_, err := io.WriteString(w, s.String())
		return err
	})
}

// utteranceHTML renders a message. Only messages of the model are Markdown.
func utteranceHTML(m sessions.Message) templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		var s markdownWriter
		s.element(`div class="said"`, func() {
			if m.Role == "assistant" {
				s.layOut(m.Text)
			} else {
				s.text(m.Text)
			}
		})
		_, err := io.WriteString(w, s.String())
		return err
	})
}

// A markdownWriter writes our elements and escaped text, and nothing else.
type markdownWriter struct{ out strings.Builder }

func (s *markdownWriter) String() string { return s.out.String() }

func (s *markdownWriter) text(text string) { s.out.WriteString(templ.EscapeString(visible(text))) }

func (s *markdownWriter) element(tag string, inside func()) {
	name, _, _ := strings.Cut(tag, " ")
	s.out.WriteString("<" + tag + ">")
	inside()
	s.out.WriteString("</" + name + ">")
}

func (s *markdownWriter) layOut(text string) {
	if len(text) > maxRendered {
		s.element("p", func() { s.text(text) })
		return
	}
	s.blocks(strings.Split(text, "\n"), 0)
}

// blocks writes paragraphs, lists and code blocks.
func (s *markdownWriter) blocks(lines []string, depth int) {
	for len(lines) > 0 {
		line := lines[0]
		m, isItem := markOf(line)
		switch {
		case strings.TrimSpace(line) == "":
			lines = lines[1:]
		case fenceOf(line) != "":
			lines = s.fenced(lines)
		case isItem && depth < maxListDepth:
			lines = s.list(lines, m, depth)
		case headingOf(line) != "":
			s.element(`p class="head"`, func() { s.element("strong", func() { s.inline(headingOf(line)) }) })
			lines = lines[1:]
		default:
			lines = s.paragraph(lines, depth)
		}
	}
}

// paragraph writes lines until another block begins.
func (s *markdownWriter) paragraph(lines []string, depth int) (rest []string) {
	n := 1
	for n < len(lines) && !endsParagraph(lines[n], depth) {
		n++
	}
	s.element("p", func() { s.inline(strings.Join(lines[:n], "\n")) })
	return lines[n:]
}

func endsParagraph(line string, depth int) bool {
	_, item := markOf(line)
	return strings.TrimSpace(line) == "" || fenceOf(line) != "" || headingOf(line) != "" || item && depth < maxListDepth
}

// fenceOf returns the fence of a code block that begins with the line, or empty.
func fenceOf(line string) string {
	line = strings.TrimLeft(line, " ")
	for _, mark := range []string{"`", "~"} {
		if n := len(line) - len(strings.TrimLeft(line, mark)); n >= 3 && !strings.Contains(line[n:], mark) {
			return line[:n]
		}
	}
	return ""
}

// fenced writes a code block. Without an end, as in a partial answer, it goes to the end of the text.
func (s *markdownWriter) fenced(lines []string) (rest []string) {
	fence := fenceOf(lines[0])
	end := 1
	for end < len(lines) && strings.TrimSpace(lines[end]) != fence {
		end++
	}
	s.element(`pre class="code" tabindex="0"`, func() {
		s.element("code", func() { s.text(strings.Join(lines[1:end], "\n")) })
	})
	return lines[min(end+1, len(lines)):]
}

// headingOf returns the text of a heading, or empty.
func headingOf(line string) string {
	text := strings.TrimLeft(line, "#")
	if n := len(line) - len(text); n < 1 || n > 6 || !strings.HasPrefix(text, " ") {
		return ""
	}
	return strings.TrimSpace(text)
}

// A mark is the marker of a list item.
type mark struct {
	number string // of the item; empty means an unordered list
	indent int    // before the mark
	width  int    // of the line until its text
}

// markOf returns the marker if the line begins a list item.
func markOf(line string) (m mark, ok bool) {
	text := strings.TrimLeft(line, " ")
	indent := len(line) - len(text)
	if len(text) > 2 && strings.Contains("-*+", text[:1]) && text[1] == ' ' {
		return mark{"", indent, indent + 2}, true
	}
	after := strings.TrimLeft(text, "0123456789")
	digits := text[:len(text)-len(after)]
	if len(digits) < 1 || len(digits) > 3 || len(after) < 3 || after[0] != '.' && after[0] != ')' || after[1] != ' ' {
		return mark{}, false
	}
	return mark{digits, indent, indent + len(digits) + 2}, true
}

// list writes an ordered or unordered list.
func (s *markdownWriter) list(lines []string, first mark, depth int) (rest []string) {
	numbered := first.number != ""
	tag := "ul"
	if numbered {
		n, _ := strconv.Atoi(first.number)
		tag = `ol start="` + strconv.Itoa(n) + `"`
	}
	s.element(tag, func() {
		for len(lines) > 0 {
			m, ok := markOf(lines[0])
			if !ok || (m.number != "") != numbered {
				return
			}
			lines = s.item(lines, m, depth)
		}
	})
	return lines
}

// item writes an item with the lines that are indented below it.
func (s *markdownWriter) item(lines []string, m mark, depth int) (rest []string) {
	inside := []string{lines[0][m.width:]}
	n := 1
	for ; n < len(lines) && m.holds(lines[n:]); n++ {
		inside = append(inside, lines[n][min(indentOf(lines[n]), m.width):])
	}
	for n < len(lines) && strings.TrimSpace(lines[n]) == "" { // between items
		n++
	}
	s.element("li", func() { s.content(inside, depth) })
	return lines[n:]
}

// holds reports whether a line belongs to the item: it is indented, or empty before an indented one.
func (m mark) holds(lines []string) bool {
	if strings.TrimSpace(lines[0]) == "" {
		return len(lines) > 1 && indentOf(lines[1]) >= m.indent+2
	}
	return indentOf(lines[0]) >= m.indent+2
}

func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// content writes an item: its first paragraph inline, then blocks.
func (s *markdownWriter) content(lines []string, depth int) {
	n := 0
	for n < len(lines) && !endsParagraph(lines[n], depth+1) {
		n++
	}
	s.inline(strings.Join(lines[:n], "\n"))
	s.blocks(lines[n:], depth+1)
}

// inline writes text with code, bold and links.
func (s *markdownWriter) inline(text string) {
	noLink := false // no link in the rest; searching repeatedly would be quadratic
	for text != "" {
		at := strings.IndexAny(text, "`*[")
		if at < 0 {
			s.text(text)
			return
		}
		s.text(text[:at])
		text = text[at:]
		used := 0
		switch {
		case text[0] == '`':
			used = s.codeSpan(text)
		case strings.HasPrefix(text, "**"):
			used = s.bold(text)
		case text[0] == '[' && !noLink:
			used = s.link(text)
			noLink = used == 0
		}
		if used == 0 {
			used = max(1, len(text)-len(strings.TrimLeft(text, text[:1])))
			s.text(text[:used])
		}
		text = text[used:]
	}
}

// codeSpan writes the code span at the start of a text and returns its length; zero means none, as for bold and link.
func (s *markdownWriter) codeSpan(text string) int {
	n := len(text) - len(strings.TrimLeft(text, "`"))
	end := strings.Index(text[n:], text[:n])
	if end < 1 {
		return 0
	}
	s.element("code", func() { s.text(text[n : n+end]) })
	return n + end + n
}

func (s *markdownWriter) bold(text string) int {
	end := strings.Index(text[2:], "**")
	if end < 1 {
		return 0
	}
	s.element("strong", func() { s.inline(text[2 : 2+end]) })
	return end + 4
}

// link writes the text of a link and its URL, if that differs.
func (s *markdownWriter) link(text string) int {
	middle := strings.Index(text, "](")
	if middle < 0 {
		return 0
	}
	end := strings.IndexByte(text[middle:], ')')
	if end < 0 {
		return 0
	}
	label, address := text[1:middle], text[middle+2:middle+end]
	s.text(label)
	if address != label {
		s.text(" (" + address + ")")
	}
	return middle + end + 1
}

// serveRendered renders an answer or the outcome of a command for the script, so that there is only one renderer.
func (c *console) serveRendered(w http.ResponseWriter, r *http.Request) {
	_, csrf, ok := c.session(r)
	if !ok || subtle.ConstantTimeCompare([]byte(r.Header.Get("X-CSRF-Token")), []byte(csrf)) != 1 {
		http.Error(w, "{}", http.StatusUnauthorized)
		return
	}
	var in struct {
		Text   string
		Result *sessions.Outcome
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&in); err != nil {
		http.Error(w, "{}", http.StatusBadRequest)
		return
	}
	if in.Result != nil {
		send(w, http.StatusOK, outcome(c.newPage(r, "secretary"), *in.Result))
		return
	}
	send(w, http.StatusOK, renderMarkdown(in.Text))
}
