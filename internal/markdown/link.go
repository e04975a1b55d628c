package markdown

import (
	"bytes"
	"strings"
)

// open holds a bracket that may begin a link or an image.
func (in *inline) open(s []byte) int {
	in.hold(node{kind: openNode, open: true}, s)
	return len(s)
}

func (in *inline) image(d []byte, end bool) int {
	switch {
	case len(d) == 1 && !end:
		return 0
	case len(d) > 1 && d[1] == '[':
		return in.open(d[:2])
	}
	return in.literal(d[:1])
}

// close reads ], and the address behind it if the bracket has one.
func (in *inline) close(d []byte, end bool) int {
	o := in.openBracket()
	if o < 0 {
		return in.literal(d[:1])
	}
	if len(d) == 1 && !end {
		return 0
	}
	if len(d) > 1 && d[1] == '(' {
		url, n := destination(d[1:], end)
		if n == 0 {
			return 0
		}
		if n > 0 {
			in.link(o, url)
			return 1 + n
		}
	}
	in.nodes[o].open = false
	in.resolve(o + 1)
	in.release()
	return in.literal(d[:1])
}

func (in *inline) openBracket() int {
	for i := len(in.nodes) - 1; i >= 0; i-- {
		if n := &in.nodes[i]; n.kind == openNode && n.open {
			return i
		}
	}
	return -1
}

// link makes what follows the bracket o a link to url.
func (in *inline) link(o int, url string) {
	image := in.nodes[o].to-in.nodes[o].from == 2
	in.nodes[o].open, in.nodes[o].to = false, in.nodes[o].from
	to := in.flow.out.target(url)
	var shown []byte
	for i := o + 1; i < len(in.nodes); i++ {
		n := &in.nodes[i]
		n.open, n.close, n.url = false, false, to
		n.attr |= link
		if n.kind == delimNode {
			n.to = n.from + n.count
		}
		shown = append(shown, in.held[n.from:n.to]...)
	}
	in.tail(string(shown), url, to)
	if !image {
		in.flatten(o)
	}
	in.release()
}

// flatten takes the brackets around the link o for text: links do not nest.
func (in *inline) flatten(o int) {
	for i := range o {
		if n := &in.nodes[i]; n.kind == openNode && n.open {
			n.open = false
			in.resolve(i + 1)
		}
	}
}

// tail adds the URL: without hyperlinks always, with them only if the text pretends to be another URL.
func (in *inline) tail(shown, url string, to target) {
	switch {
	case strings.TrimSpace(shown) == "":
		in.add(url, link|keep, to)
	case url == "" || shown == url || "mailto:"+shown == url || to != nowhere && !pretends(shown, url):
	default:
		in.add(" (", dim, nowhere)
		in.add(url, dim|keep, nowhere)
		in.add(")", dim|keep, nowhere)
	}
}

// add holds s without releasing anything.
func (in *inline) add(s string, a attr, url target) {
	in.held = append(in.held, s...)
	in.nodes = append(in.nodes, node{kind: textNode, from: len(in.held) - len(s), to: len(in.held), attr: a, url: url})
}

// pretends reports whether shown looks like a URL other than url: as the text of a hyperlink it would hide where the
// link leads.
func pretends(shown, url string) bool {
	shown = strings.ToLower(strings.TrimSpace(shown))
	if !likeAddress(shown) {
		return false
	}
	rest, same := strings.CutPrefix(withoutScheme(strings.ToLower(url)), withoutScheme(shown))
	return !same || rest != "" && !strings.HasPrefix(rest, "/") && !strings.HasPrefix(rest, "?") &&
		!strings.HasPrefix(rest, "#")
}

// likeAddress reports whether s has something of an address or a host's name.
func likeAddress(s string) bool {
	for i := 1; i+1 < len(s); i++ {
		if s[i] == '@' || s[i] == '.' && s[i-1] > ' ' && s[i-1] != '.' && s[i+1] >= 'a' {
			return true
		}
	}
	return strings.Contains(s, "://")
}

func withoutScheme(url string) string {
	for _, scheme := range [...]string{"https://", "http://", "mailto:", "www."} {
		url = strings.TrimPrefix(url, scheme)
	}
	return url
}

// destination parses (url "title") at the beginning of d. It returns its length, zero if more input is needed, and -1
// if there is none.
func destination(d []byte, end bool) (string, int) {
	whole := len(d) >= longestURL || end
	if len(d) > longestURL {
		d = d[:longestURL]
	}
	from := 1 + runOf(d[1:], ' ')
	to, after := addressIn(d, from)
	if to >= 0 {
		after = afterTitle(d, after)
	}
	switch {
	case after == unfinished && !whole:
		return "", 0
	case after < 0:
		return "", noLink
	case d[from] == '<':
		from++
	}
	return unescape(d[from:to]), after
}

// addressIn returns where the address at i ends, and where what follows begins.
func addressIn(d []byte, i int) (to, after int) {
	if i == len(d) || d[i] != '<' {
		to = unangled(d, i)
		return to, to
	}
	after = angled(d, i)
	return after - 1, after
}

const (
	noLink     = -1
	unfinished = -2
)

// angled returns where the address in angle brackets at i ends.
func angled(d []byte, i int) int {
	for i++; i < len(d); i++ {
		switch d[i] {
		case '\\':
			i++
		case '>':
			return i + 1
		case '\n', '<':
			return noLink
		}
	}
	return unfinished
}

// unangled returns where the bare address at i ends.
func unangled(d []byte, i int) int {
	for depth := 0; i < len(d); i++ {
		switch d[i] {
		case '\\':
			i++
		case '(':
			depth++
		case ' ', '\n':
			return i
		case ')':
			if depth == 0 {
				return i
			}
			depth--
		}
	}
	return unfinished
}

// afterTitle returns where the link ends whose address ends at i.
func afterTitle(d []byte, i int) int {
	for i < len(d) && (d[i] == ' ' || d[i] == '\n') {
		i++
	}
	if i < len(d) && (d[i] == '"' || d[i] == '\'') {
		quote := d[i]
		for i++; i < len(d) && d[i] != quote; i++ {
			if d[i] == '\\' {
				i++
			}
		}
		i++
		for i < len(d) && (d[i] == ' ' || d[i] == '\n') {
			i++
		}
	}
	switch {
	case i >= len(d):
		return unfinished
	case d[i] != ')':
		return noLink
	}
	return i + 1
}

// autolink parses <url>. Any other < is text, that of HTML too.
func (in *inline) autolink(d []byte, end bool) int {
	n := 1
	for n < len(d) && n < longestURL && d[n] > ' ' && d[n] != '<' && d[n] != '>' {
		n++
	}
	if n == len(d) && !end && n < longestURL && maybeAddress(d[1:]) {
		return 0
	}
	if n == len(d) || d[n] != '>' {
		return in.literal(d[:1])
	}
	url := string(d[1:n])
	if !maybeAddress(d[1:n]) || !strings.Contains(url, "@") && !hasScheme(url) {
		return in.literal(d[:1])
	}
	in.address(d[1:n])
	return n + 1
}

// maybeAddress reports whether more text can make an address of s.
func maybeAddress(s []byte) bool {
	i := bytes.IndexFunc(s, func(r rune) bool { return !isAlnum(r) && !strings.ContainsRune("+-._", r) })
	return i < 0 || s[i] == ':' || s[i] == '@'
}

func hasScheme(url string) bool {
	scheme, rest, ok := strings.Cut(url, ":")
	return ok && rest != "" && len(scheme) > 1 &&
		strings.IndexFunc(scheme, func(r rune) bool { return !isAlnum(r) && r != '+' && r != '-' && r != '.' }) < 0
}

// address shows an address that is its own text.
func (in *inline) address(s []byte) {
	url := string(s)
	if !hasScheme(url) {
		url = "mailto:" + url
	}
	in.text(s, link|keep, in.flow.out.target(url))
}

// bare parses a URL without markup.
func (in *inline) bare(d []byte, end bool) int {
	if isAlnum(in.prev) {
		return in.literal(d[:1])
	}
	n := 0
	for _, scheme := range [...]string{"https://", "http://"} {
		k := 0
		for k < len(d) && k < len(scheme) && d[k] == scheme[k] {
			k++
		}
		if k == len(d) && k < len(scheme) && !end {
			return 0
		}
		if k == len(scheme) {
			n = k
		}
	}
	if n == 0 {
		return in.literal(d[:1])
	}
	return in.bareEnd(d, n, end)
}

// bareEnd parses the rest of the URL d from n on. Trailing punctuation belongs to the sentence, and so does what is not
// ASCII: in Japanese no space separates them.
func (in *inline) bareEnd(d []byte, n int, end bool) int {
	scheme := n
	for n < len(d) && n < longestURL && d[n] > ' ' && d[n] < 0x7f && strings.IndexByte("<>[]`|\"\\", d[n]) < 0 {
		n++
	}
	if n == len(d) && n < longestURL && !end {
		return 0
	}
	surplus := bytes.Count(d[:n], []byte(")")) - bytes.Count(d[:n], []byte("("))
	for n > scheme && (strings.IndexByte("?!.,:;*_~'", d[n-1]) >= 0 || d[n-1] == ')' && surplus > 0) {
		if d[n-1] == ')' {
			surplus--
		}
		n--
	}
	if n == scheme {
		return in.literal(d[:n])
	}
	in.address(d[:n])
	return n
}
