package markdown

import (
	"strings"
	"unicode/utf8"
)

// attr is a set of text attributes.
type attr uint16

const (
	bold attr = 1 << iota
	italic
	strike
	code
	dim
	link
	title         // a heading
	topTitle      // a heading of the first level
	keep          // an address: not cut at the end of a line
	noAttr   attr = 0
)

// looks are the SGR parameters of the attributes.
var looks = [...]struct {
	attr attr
	code string
}{
	{bold | title | topTitle, "1"}, {dim, "2"}, {italic, "3"}, {link | topTitle, "4"}, {strike, "9"},
	{title, "34"}, {topTitle, "35"}, {code, "36"},
}

// A style is the attributes and the link target of a piece of text.
type style struct {
	attr attr
	url  target
}

// A target is the index of a URL, so that styles are cheap to compare.
type target int32

const nowhere target = 0

// A term is the output buffer. Only it writes escape sequences, and only SGR and OSC 8.
type term struct {
	buf          []byte
	color, links bool
	urls         []string // by target, less one
	asked, cur   style    // the requested style, and the one in effect
}

// target returns the index of url, nowhere if it must not or cannot be linked.
func (t *term) target(url string) target {
	if url = safeURL(url); url == "" || !t.links {
		return nowhere
	}
	t.urls = append(t.urls, url)
	return target(len(t.urls))
}

// forget drops all URLs. No held text may link to one.
func (t *term) forget() { t.urls = t.urls[:0] }

func (t *term) put(s []byte, st style) {
	t.to(st)
	t.buf = append(t.buf, s...)
}

func (t *term) blanks(n int, st style) {
	t.to(st)
	for ; n > 0; n-- {
		t.buf = append(t.buf, ' ')
	}
}

// newline ends a line and resets all attributes, so that a program killed here leaves the terminal as it was.
func (t *term) newline() {
	t.to(style{})
	t.buf = append(t.buf, '\n')
}

// to switches to the style st.
func (t *term) to(st style) {
	if st != t.asked {
		t.asked = st
		t.change(st)
	}
}

func (t *term) change(st style) {
	if st.attr &^= keep; !t.color {
		st.attr = noAttr
	}
	if st.url != t.cur.url {
		t.buf = append(t.buf, "\x1b]8;;"...)
		if st.url != nowhere {
			t.buf = append(t.buf, t.urls[st.url-1]...)
		}
		t.buf = append(t.buf, "\x1b\\"...)
	}
	if st.attr != t.cur.attr {
		t.look(st.attr)
	}
	t.cur = st
}

func (t *term) look(a attr) {
	if t.cur.attr != noAttr {
		t.buf = append(t.buf, "\x1b[0m"...)
	}
	sep := "\x1b["
	for _, l := range looks {
		if a&l.attr != 0 {
			t.buf = append(append(t.buf, sep...), l.code...)
			sep = ";"
		}
	}
	if a != noAttr {
		t.buf = append(t.buf, 'm')
	}
}

// safeURL returns url escaped for an OSC 8 sequence, or nothing: other schemes start programs, and a control character
// would end the sequence.
func safeURL(url string) string {
	scheme, rest, _ := strings.Cut(url, ":")
	switch strings.ToLower(scheme) {
	case "http", "https", "mailto":
	default:
		return ""
	}
	if rest == "" {
		return ""
	}
	var b strings.Builder
	for i := range len(url) {
		if c := url[i]; c > ' ' && c < 0x7f {
			b.WriteByte(c)
		} else {
			b.WriteString("%" + string("0123456789ABCDEF"[c>>4]) + string("0123456789ABCDEF"[c&15]))
		}
	}
	if b.Len() > longestURL {
		return "" // terminals ignore longer ones
	}
	return b.String()
}

const longestURL = 2000

// lastRune returns the last character of s, or a newline if there is none.
func lastRune(s []byte) rune {
	if len(s) == 0 {
		return '\n'
	}
	r, _ := utf8.DecodeLastRune(s)
	return r
}
