package websearch

import (
	"strings"

	"golang.org/x/net/html"
)

// The least text of a main part.
const (
	enoughMain    = 200
	enoughArticle = 500
)

// shape returns the readable part of a tree: the main part if one is marked, without menus, footers and hidden
// elements. A page of nothing but menus is kept whole.
func shape(doc *html.Node) *html.Node {
	drop(doc, "template")
	if readable(doc) {
		drop(doc, "nav")
	}
	if part := mainPart(doc); part != nil {
		part.Parent.RemoveChild(part)
		doc = &html.Node{Type: html.DocumentNode}
		doc.AppendChild(part)
	}
	join(doc)
	flatten(doc)
	return doc
}

// readable reports whether there is any text outside of menus.
func readable(n *html.Node) bool {
	for c := range n.ChildNodes() {
		switch {
		case c.Type == html.TextNode && strings.TrimSpace(c.Data) != "":
			return true
		case c.Type == html.ElementNode && c.Data != "nav" && readable(c):
			return true
		}
	}
	return false
}

// drop removes the elements of a name.
func drop(n *html.Node, name string) {
	for c := n.FirstChild; c != nil; {
		next := c.NextSibling
		if c.Type == html.ElementNode && c.Data == name {
			n.RemoveChild(c)
		} else {
			drop(c, name)
		}
		c = next
	}
}

// join merges adjacent texts. The converter would do it too, but in quadratic time.
func join(n *html.Node) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type != html.TextNode {
			join(c)
			continue
		}
		if c.NextSibling == nil || c.NextSibling.Type != html.TextNode {
			continue
		}
		var b strings.Builder
		b.WriteString(c.Data)
		for next := c.NextSibling; next != nil && next.Type == html.TextNode; next = c.NextSibling {
			b.WriteString(next.Data)
			n.RemoveChild(next)
		}
		c.Data = b.String()
	}
}

// mainPart finds the main element, or the only article.
func mainPart(doc *html.Node) *html.Node {
	var article *html.Node
	articles := 0
	for n := range doc.Descendants() {
		switch {
		case n.Type != html.ElementNode:
		case n.Data == "main" && len(bare(n)) >= enoughMain:
			return n
		case n.Data == "article":
			article = n
			articles++
		}
	}
	if articles == 1 && len(bare(article)) >= enoughArticle {
		return article
	}
	return nil
}

// flatten turns layout tables into blocks.
func flatten(n *html.Node) {
	for c := range n.ChildNodes() {
		flatten(c)
	}
	if n.Type != html.ElementNode || n.Data != "table" || !arranges(n) {
		return
	}
	n.Data = "div"
	for row := range n.ChildNodes() {
		if !isRow(row) {
			continue
		}
		row.Data = "div"
		for cell := range row.ChildNodes() {
			if cell.Type == html.ElementNode {
				cell.Data = "div"
			}
		}
	}
}

// arranges reports whether a table is for layout, not for data: it has one column, or cells with blocks that do not fit
// on a line.
func arranges(table *html.Node) bool {
	columns := 0
	for row := range table.ChildNodes() {
		n := 0
		for cell := range row.ChildNodes() {
			if cell.Type == html.ElementNode && cell.Data == "td" {
				n++
			}
		}
		columns = max(columns, n)
	}
	if columns < 2 {
		return true
	}
	for n := range table.Descendants() {
		switch {
		case n.Type != html.ElementNode:
		case n.Data == "table", n.Data == "pre", n.Data == "hr", nests(n.Data), isHeading(n.Data):
			return true
		}
	}
	return false
}

// bare returns the text of a tree, blocks on lines of their own.
func bare(n *html.Node) string {
	var b strings.Builder
	writeBare(&b, n)
	return strings.TrimSpace(b.String())
}

func writeBare(b *strings.Builder, n *html.Node) {
	if n.Type == html.TextNode {
		b.WriteString(n.Data)
		return
	}
	line := n.Type == html.ElementNode && elements[n.Data] != mark
	if line {
		b.WriteByte('\n')
	}
	for c := range n.ChildNodes() {
		writeBare(b, c)
	}
	if line {
		b.WriteByte('\n')
	}
}
