package websearch

import (
	"context"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"hako/internal/text"
	"hako/run/fault"
)

// Limits of the conversion of a page.
const (
	maxPage     = 4 << 20 // bytes that are looked at
	convertTime = 5 * time.Second
)

// leftOut ends a text that is not complete.
const leftOut = "\n\n[the rest of the page is left out]\n"

// noText is the text of a page without text.
const noText = "[the page has no text; it may need scripts, which are not run]"

// Text returns the title and the text of a page: HTML as markdown, with absolute links and without scripts, menus and
// hidden elements; any other text as it is. The text is valid UTF-8 without control characters. What takes longer than
// 5 s is left out. When ctx ends, there is no text.
func Text(ctx context.Context, p *Page) (title, text string, err error) {
	limited, cancel := context.WithTimeout(ctx, convertTime)
	defer cancel()
	title, text, err = read(limited, p)
	if ctx.Err() != nil {
		return "", "", context.Cause(ctx)
	}
	return title, text, err
}

func read(ctx context.Context, p *Page) (title, content string, err error) {
	body, short := p.Body, false
	if len(body) > maxPage {
		body, short = body[:maxPage], true
	}
	kind := mediaType(p)
	switch {
	case isHTML(kind):
		var cut bool
		title, content, cut = readHTML(ctx, decode(body, p.Type), p.URL)
		short = short || cut
	case isText(kind):
		if content = decode(body, p.Type); garbage(content) {
			return "", "", notText(p, kind+", but what it holds is not text")
		}
		content = text.Visible(content)
	default:
		return "", "", notText(p, "of type "+kind+", which is not text")
	}
	if len(content) > maxText {
		content, short = text.Prefix(content, maxText), true
	}
	if short {
		content += leftOut
	}
	return title, content, nil
}

func notText(p *Page, why string) error {
	return &fault.Error{Kind: fault.Invalid, Op: "read", Subject: cut(p.URL), Why: "the page is " + why,
		Hint: "look for a page of HTML or plain text"}
}

// readHTML converts a page to markdown.
func readHTML(ctx context.Context, page, address string) (title, content string, short bool) {
	base, err := url.Parse(address)
	if err != nil || base.Host == "" {
		base = nil
	} else if base.RawQuery, base.Fragment, base.RawFragment = "", "",
		""; len(base.String()) > maxLink { // relative links do not inherit those
		base = nil
	}
	g := grow(ctx, page, base)
	if content = markdown(ctx, shape(g.doc)); content == "" {
		content = noText
	}
	title = text.Shorten(g.title, maxTitle)
	if title == "" {
		line, _, _ := strings.Cut(content, "\n")
		if heading, ok := strings.CutPrefix(line, "# "); ok {
			title = text.Shorten(clean(heading), maxTitle)
		}
	}
	return title, content, g.cut
}

// mediaType is the media type of the page without parameters, detected from its body if the server sends none.
func mediaType(p *Page) string {
	kind, _, err := mime.ParseMediaType(p.Type)
	if err != nil || kind == "" {
		kind, _, _ = mime.ParseMediaType(http.DetectContentType(p.Body))
	}
	return text.Shorten(clean(kind), 80)
}

func isHTML(kind string) bool { return kind == "text/html" || kind == "application/xhtml+xml" }

// textTypes are the media types of text beside text/*.
var textTypes = []string{
	"application/json", "application/xml", "application/javascript", "application/ecmascript", "application/yaml",
	"application/x-yaml",
	"application/toml", "application/x-ndjson", "application/jsonl", "application/sql", "application/x-sh",
	"application/x-tex", "application/graphql",
}

func isText(kind string) bool {
	return strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "+json") || strings.HasSuffix(kind, "+xml") &&
		kind != "image/svg+xml" ||
		slices.Contains(textTypes, kind)
}

// garbage reports whether more than a tenth of a text is not valid.
func garbage(text string) bool {
	bad, all := 0, 0
	for _, r := range text {
		all++
		if r == utf8.RuneError || r < ' ' && r != '\n' && r != '\r' && r != '\t' && r != '\f' && r != '\x1b' {
			bad++
		}
	}
	return bad*10 > all
}
