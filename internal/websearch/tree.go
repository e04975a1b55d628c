package websearch

import (
	"context"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/html"

	"hako/internal/text"
)

// Limits of a page. Elements beyond them are left out while their text stays; text beyond its limit is left out.
const (
	maxDepth  = 128     // elements inside one another
	maxNested = 8       // nested lists and quotes: each indents all lines inside
	maxNodes  = 100_000 // elements and texts
	maxText   = 1 << 20 // bytes of text
	maxLinks  = 1 << 20 // bytes of addresses
	maxHrefs  = 20_000  // links whose URL is resolved
)

// glance is the number of tokens between two checks of the deadline.
const glance = 64

// An element is how a tag is treated.
type element uint8

const (
	unknown element = iota // only what is inside counts
	block                  // stands on lines of its own
	mark                   // part of a line, with a meaning in markdown
	void                   // has no inside
	noise                  // of no interest, unless the page has nothing else
	gone                   // never of interest
)

var elements = map[string]element{
	"p": block, "div": block, "section": block, "article": block, "main": block, "header": block, "address": block,
	"figure": block, "figcaption": block, "details": block, "summary": block, "dl": block, "dt": block, "dd": block,
	"fieldset": block, "form": block, "center": block, "hgroup": block, "legend": block, "search": block,
	"h1": block, "h2": block, "h3": block, "h4": block, "h5": block, "h6": block,
	"pre": block, "xmp": block, "listing": block, "plaintext": block, "blockquote": block,
	"ul": block, "ol": block, "menu": block, "dir": block, "li": block,
	"table": block, "caption": block, "tr": block, "td": block, "th": block,

	"a": mark, "b": mark, "strong": mark, "i": mark, "em": mark,
	"code": mark, "kbd": mark, "samp": mark, "tt": mark, "var": mark, "rt": mark,

	"br": void, "hr": void, "img": void, "input": void, "meta": void, "link": void, "base": void, "col": void,
	"area":   void,
	"source": void, "track": void, "embed": void, "param": void, "wbr": void,

	"nav": noise, "footer": noise, "aside": noise,

	"svg": gone, "button": gone, "select": gone, "template": gone, "object": gone, "audio": gone, "video": gone,
	"canvas": gone, "map": gone, "datalist": gone, "dialog": gone, "rp": gone,
}

// silentText are the elements whose content the tokenizer returns as one text that is dropped.
const silentText = " script style noscript iframe noembed noframes textarea "

// spellings maps elements to those that are treated alike.
var spellings = map[string]string{
	"menu": "ul", "dir": "ul", "xmp": "pre", "listing": "pre", "plaintext": "pre", "th": "td",
	"section": "div", "header": "div", "address": "div", "figure": "div", "figcaption": "div", "details": "div",
	"summary": "div",
	"dl":      "div", "dt": "div", "dd": "div", "fieldset": "div", "form": "div", "center": "div", "hgroup": "div",
	"legend": "div", "search": "div",
	"b": "strong", "i": "em", "kbd": "code", "samp": "code", "tt": "code", "var": "code",
}

// An opened element is one on the stack.
type opened struct {
	name  string // in the page
	node  *html.Node
	nests bool // counts as a list or quote
}

// A treeBuilder builds the tree of a page. It replaces html.Parse, which copies open formatting into every paragraph as
// the standard requires, so that 1 MB can become a hundred million nodes, and which refuses deeply nested pages. Here
// every tag makes at most one node, within the limits above.
type treeBuilder struct {
	doc   *html.Node
	stack []opened
	among map[string]int  // how many of a name are in the stack
	text  strings.Builder // not yet in the tree

	base  *url.URL // the base URL of links; nil means no links
	title string

	based bool // the page has set the base

	nested, nodes, chars, links, hrefs int
	cut                                bool // something was left out
}

// grow builds the tree of a page, or of as much of it as there is time for. A small page is read in any case.
func grow(ctx context.Context, page string, base *url.URL) *treeBuilder {
	g := &treeBuilder{doc: &html.Node{Type: html.DocumentNode}, base: base, among: map[string]int{}}
	z := html.NewTokenizer(strings.NewReader(page))
	silent := false
	for n := 1; ; n++ {
		kind := z.Next()
		if n%glance == 0 && ctx.Err() != nil {
			kind, g.cut = html.ErrorToken, true
		}
		switch kind {
		case html.ErrorToken:
			g.closeTo(0)
			g.flush()
			return g
		case html.TextToken:
			if !silent {
				g.write(string(z.Text()))
			}
			continue
		case html.StartTagToken, html.SelfClosingTagToken:
			t := z.Token()
			silent = strings.Contains(silentText, " "+t.Data+" ")
			switch {
			case silent:
			case t.Data == "title":
				g.readTitle(z)
			default:
				g.start(t.Data, t.Attr)
			}
			continue
		case html.EndTagToken:
			name, _ := z.TagName()
			g.end(string(name))
		}
		silent = false
	}
}

// readTitle reads a title. The first one outside of pictures is the page's.
func (g *treeBuilder) readTitle(z *html.Tokenizer) {
	if z.Next() == html.TextToken && g.title == "" && g.find("svg", "") < 0 {
		g.title = clean(string(z.Text()))
	}
}

// write adds text.
func (g *treeBuilder) write(s string) {
	if room := maxText - g.chars; len(s) > room {
		s, g.cut = text.Prefix(s, max(room, 0)), true
	}
	g.chars += len(s)
	g.text.WriteString(s)
}

// flush adds the pending text to the tree.
func (g *treeBuilder) flush() {
	if g.text.Len() == 0 {
		return
	}
	s := strings.ReplaceAll(text.Visible(g.text.String()), "\u00a0", " ")
	g.text.Reset()
	if s != "" {
		g.add(&html.Node{Type: html.TextNode, Data: s})
	}
}

func (g *treeBuilder) add(n *html.Node) {
	g.nodes++
	g.top().AppendChild(n)
}

func (g *treeBuilder) top() *html.Node {
	if len(g.stack) == 0 {
		return g.doc
	}
	return g.stack[len(g.stack)-1].node
}

// start opens an element.
func (g *treeBuilder) start(name string, attrs []html.Attribute) {
	kind := elements[name]
	switch {
	case unseen(attrs) && kind != void:
		kind = gone
	case kind == void:
		g.void(name, attrs)
		return
	}
	switch role := attr(attrs, "role"); {
	case role == "main":
		name, kind = "main", block
	case slices.Contains([]string{"navigation", "search", "contentinfo"}, role):
		kind = noise
	}
	switch {
	case !g.place(name, kind):
		g.text.WriteByte('\n')
	case kind != unknown:
		g.open(name, kind, attrs)
	}
}

// open puts a new element into the tree.
func (g *treeBuilder) open(name string, kind element, attrs []html.Attribute) {
	if len(g.stack) >= maxDepth || g.nodes >= maxNodes {
		g.cut = true
		g.text.WriteByte('\n') // to separate words
		return
	}
	g.flush()
	n := &html.Node{Type: html.ElementNode, Data: name, Attr: g.keep(name, attrs)}
	if s, ok := spellings[name]; ok {
		n.Data = s
	}
	inside := nests(n.Data)
	if inside {
		g.nested++
	}
	switch {
	case kind == noise:
		n.Data = "nav"
	case kind == gone:
		n.Data = "template"
	case inside && g.nested > maxNested:
		n.Data = "div"
	}
	g.add(n)
	g.stack = append(g.stack, opened{name, n, inside})
	g.among[name]++
	if name == "rt" {
		g.text.WriteByte('(')
	}
}

func nests(name string) bool { return name == "ul" || name == "ol" || name == "blockquote" }

// void adds an element without content.
func (g *treeBuilder) void(name string, attrs []html.Attribute) {
	switch name {
	case "img":
		if !unseen(attrs) {
			g.write(text.Shorten(clean(attr(attrs, "alt")), 200))
		}
	case "base":
		g.rebase(attr(attrs, "href"))
	case "hr", "br":
		if name == "hr" {
			g.close("p", cells)
		}
		if g.nodes >= maxNodes {
			g.text.WriteByte('\n')
			return
		}
		g.flush()
		g.add(&html.Node{Type: html.ElementNode, Data: name})
	}
}

// rebase sets the base of links, once. A base that is longer than a link may be is ignored.
func (g *treeBuilder) rebase(href string) {
	if g.base == nil || g.based || href == "" || len(href) > maxLink {
		return
	}
	g.based = true
	if u, err := g.base.Parse(href); err == nil && len(u.String()) <= maxLink {
		g.base = u
	}
}

// Where the search for an open element stops.
const (
	cells = " td th caption table "
	rows  = " table "
	lists = " ul ol menu dir " + cells
)

// place closes elements that a new one ends implicitly, as an item ends the one before it. It reports whether the
// element is allowed there.
func (g *treeBuilder) place(name string, kind element) bool {
	switch name {
	case "li":
		g.close("li", lists)
	case "dt", "dd":
		g.close("dt dd", " dl "+cells)
	case "a", "rt":
		g.close(name, cells)
	case "thead", "tbody", "tfoot", "tr", "caption":
		return g.backTo("table", "")
	case "td", "th":
		return g.cell()
	case "table":
		if at := g.find("table td th caption", ""); at >= 0 && g.stack[at].name == "table" {
			g.closeTo(at)
		}
		g.close("b strong i em code kbd samp tt var", cells) // formatting does not extend over rows
	}
	if isHeading(name) {
		g.close("h1 h2 h3 h4 h5 h6", cells)
	}
	if kind == block || kind == noise {
		g.close("p", cells)
	}
	// A <b> inside of a <b> is mostly a forgotten </b>.
	return kind != mark || g.find(name, cells) < 0
}

// cell makes room for a cell of a table, with a row around it.
func (g *treeBuilder) cell() bool {
	if g.backTo("tr", rows) {
		return true
	}
	if !g.backTo("table", "") {
		return false
	}
	g.open("tr", block, nil)
	return true
}

// backTo closes everything inside the innermost element of that name.
func (g *treeBuilder) backTo(name, stop string) bool {
	at := g.find(name, stop)
	if at >= 0 {
		g.closeTo(at + 1)
	}
	return at >= 0
}

func isHeading(name string) bool {
	return len(name) == 2 && name[0] == 'h' && name[1] >= '1' && name[1] <= '6'
}

// end closes an element, and those that were left open inside it.
func (g *treeBuilder) end(name string) {
	switch {
	case name == "br":
		g.void("br", nil)
	case name == "table":
		g.close("table", "")
	case name == "tr" || name == "td" || name == "th" || name == "caption":
		g.close(name, rows)
	case isHeading(name):
		g.close("h1 h2 h3 h4 h5 h6", cells)
	default:
		g.close(name, cells)
	}
}

// find returns the index of the innermost open element with one of the names, or -1. It stops at the elements of stop.
func (g *treeBuilder) find(names, stop string) int {
	if !g.any(names) { // most searches fail; this makes them cheap on a deep page
		return -1
	}
	for i := len(g.stack) - 1; i >= 0; i-- {
		name := " " + g.stack[i].name + " "
		if strings.Contains(" "+names+" ", name) {
			return i
		}
		if strings.Contains(stop, name) {
			return -1
		}
	}
	return -1
}

func (g *treeBuilder) any(names string) bool {
	for name := range strings.FieldsSeq(names) {
		if g.among[name] > 0 {
			return true
		}
	}
	return false
}

func (g *treeBuilder) close(names, stop string) {
	if at := g.find(names, stop); at >= 0 {
		g.closeTo(at)
	}
}

func (g *treeBuilder) closeTo(depth int) {
	for len(g.stack) > depth {
		last := g.stack[len(g.stack)-1]
		if last.name == "rt" {
			g.text.WriteByte(')')
		}
		g.flush()
		if last.nests {
			g.nested--
		}
		g.among[last.name]--
		g.stack = g.stack[:len(g.stack)-1]
	}
}

// keep returns the attributes that are used, sanitized.
func (g *treeBuilder) keep(name string, attrs []html.Attribute) []html.Attribute {
	switch name {
	case "a":
		if href := g.resolve(attr(attrs, "href")); href != "" {
			return []html.Attribute{{Key: "href", Val: href}}
		}
	case "ol":
		if n, err := strconv.Atoi(attr(attrs, "start")); err == nil && n > 0 && n < 1e6 {
			return []html.Attribute{{Key: "start", Val: strconv.Itoa(n)}}
		}
	case "pre", "code":
		if lang := language(attr(attrs, "class")); lang != "" {
			return []html.Attribute{{Key: "class", Val: "language-" + lang}}
		}
	}
	return nil
}

// resolve makes a link absolute. Links within the page, and those of other schemes, become empty.
func (g *treeBuilder) resolve(href string) string {
	href = strings.TrimSpace(href)
	if g.base == nil || href == "" || href[0] == '#' || len(href) > maxLink || g.links > maxLinks || g.hrefs >= maxHrefs {
		return ""
	}
	g.hrefs++
	u, err := g.base.Parse(href)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.User != nil {
		return ""
	}
	s := linkSafe.Replace(clean(u.String()))
	if g.links += len(s); len(s) > maxLink || g.links > maxLinks {
		return ""
	}
	return s
}

// linkSafe escapes characters that would end a link of markdown.
var linkSafe = strings.NewReplacer(" ", "%20", "(", "%28", ")", "%29", "<", "%3C", ">", "%3E", "[", "%5B", "]", "%5D")

// language finds the language of a program in a class: language-go, lang-go.
func language(class string) string {
	for c := range strings.FieldsSeq(class) {
		_, lang, ok := strings.Cut(c, "lang-")
		if !ok {
			_, lang, ok = strings.Cut(c, "language-")
		}
		if ok && len(lang) < 20 && strings.Trim(strings.ToLower(lang), "abcdefghijklmnopqrstuvwxyz0123456789+#-") == "" {
			return lang
		}
	}
	return ""
}

func attr(attrs []html.Attribute, key string) string {
	for _, a := range attrs {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

// unseen reports whether an element is hidden. A model must not read what a person does not see.
func unseen(attrs []html.Attribute) bool {
	for _, a := range attrs {
		switch a.Key {
		case "hidden":
			return true
		case "aria-hidden":
			return a.Val == "true"
		case "style":
			style := strings.ToLower(strings.Join(strings.Fields(a.Val), ""))
			if strings.Contains(style, "display:none") || strings.Contains(style, "visibility:hidden") {
				return true
			}
		}
	}
	return false
}
