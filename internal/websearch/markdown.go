package websearch

import (
	"bytes"
	"context"
	"strings"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"golang.org/x/net/html"

	"hako/internal/text"
)

// These two replace < and > for the converter, which would make entities of them. The page cannot contain them:
// characters of private use were removed.
const (
	lessThan    = "\uE03C"
	greaterThan = "\uE03E"
)

var (
	veil   = strings.NewReplacer("<", lessThan, ">", greaterThan)
	unveil = strings.NewReplacer(lessThan, "<", greaterThan, ">")
)

// markdown converts a tree to text. If the converter fails or the time is up, it returns the bare text of the tree.
func markdown(ctx context.Context, doc *html.Node) (content string) {
	defer func() {
		if recover() != nil {
			content = bare(doc)
		}
	}()
	if ctx.Err() != nil {
		return bare(doc)
	}
	out, err := newConverter(ctx).ConvertNode(doc)
	if err != nil {
		return bare(doc)
	}
	return trimLines(text.Visible(unveil.Replace(string(out))))
}

// trimLines removes white space from the ends of lines.
func trimLines(s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		b.WriteString(strings.TrimRight(line, " \t\n"))
		b.WriteByte('\n')
	}
	return strings.TrimSpace(b.String())
}

// newConverter returns a converter for one page: it is not safe for concurrent use. Nothing is escaped, since the
// result is not rendered.
func newConverter(ctx context.Context) *converter.Converter {
	c := converter.NewConverter(
		converter.WithPlugins(base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(commonmark.WithListEndComment(false))),
		converter.WithEscapeMode(converter.EscapeModeDisabled),
	)
	c.Register.TextTransformer(func(_ converter.Context, s string) string {
		return veil.Replace(s)
	}, converter.PriorityEarly)
	c.Register.Renderer(func(ours converter.Context, w converter.Writer, n *html.Node) converter.RenderStatus {
		if ctx.Err() != nil {
			panic(ctx.Err()) // the converter cannot be canceled otherwise; see markdown
		}
		return render(ours, w, n)
	}, converter.PriorityEarly)
	return c
}

// render renders headings, links and tables.
func render(ctx converter.Context, w converter.Writer, n *html.Node) converter.RenderStatus {
	switch {
	case n.Type != html.ElementNode:
		return converter.RenderTryNext
	case isHeading(n.Data): // the converter breaks one that ends with #
		if s := oneLine(ctx, n); s != "" {
			w.WriteString("\n\n" + strings.Repeat("#", int(n.Data[1]-'0')) + " " + s + "\n\n")
		}
	case n.Data == "a":
		renderLink(ctx, w, n)
	case n.Data == "table":
		renderTable(ctx, w, n)
	default:
		return converter.RenderTryNext
	}
	return converter.RenderSuccess
}

// oneLine renders what is inside an element on one line.
func oneLine(ctx converter.Context, n *html.Node) string {
	var b bytes.Buffer
	ctx.RenderChildNodes(ctx, &b, n)
	return strings.Join(strings.Fields(b.String()), " ")
}

func renderLink(ctx converter.Context, w converter.Writer, n *html.Node) {
	href := attr(n.Attr, "href")
	if href == "" {
		ctx.RenderChildNodes(ctx, w, n)
		return
	}
	var b bytes.Buffer
	ctx.RenderChildNodes(ctx, &b, n)
	inside := b.String()
	text := strings.Join(strings.Fields(inside), " ")
	switch {
	case text == "":
		w.WriteString(inside)
	case text == href:
		w.WriteString("<" + href + ">")
	default:
		before, after := blanks(inside)
		w.WriteString(before + "[" + text + "](" + href + ")" + after)
	}
}

// blanks returns the spaces that were trimmed from a text.
func blanks(s string) (before, after string) {
	if strings.TrimLeft(s, " \n") != s {
		before = " "
	}
	if strings.TrimRight(s, " \n") != s {
		after = " "
	}
	return before, after
}

// renderTable writes a row per line, after the caption and other content.
func renderTable(ctx converter.Context, w converter.Writer, n *html.Node) {
	var b strings.Builder
	for row := range n.ChildNodes() {
		if isRow(row) {
			renderRow(ctx, &b, row, b.Len() == 0)
			continue
		}
		var stray bytes.Buffer // a caption, or misplaced content
		ctx.RenderNodes(ctx, &stray, row)
		if s := strings.Join(strings.Fields(stray.String()), " "); s != "" {
			w.WriteString("\n\n" + s)
		}
	}
	w.WriteString("\n\n" + b.String() + "\n\n")
}

func isRow(n *html.Node) bool { return n.Type == html.ElementNode && n.Data == "tr" }

func renderRow(ctx converter.Context, b *strings.Builder, row *html.Node, first bool) {
	columns := 0
	for cell := range row.ChildNodes() {
		if cell.Type != html.ElementNode {
			continue
		}
		if columns++; columns == 1 {
			b.WriteByte('|')
		}
		b.WriteString(" " + strings.ReplaceAll(oneLine(ctx, cell), "|", `\|`) + " |")
	}
	if columns == 0 {
		return
	}
	b.WriteByte('\n')
	if first {
		b.WriteString("|" + strings.Repeat(" --- |", columns) + "\n")
	}
}
