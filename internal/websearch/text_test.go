package websearch

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	xunicode "golang.org/x/text/encoding/unicode"

	"hako/internal/testload"
	"hako/run/fault"
)

// markdownOf reads a page that is HTML.
func markdownOf(t *testing.T, page string) (title, text string) {
	t.Helper()
	title, text, err := Text(t.Context(), &Page{URL: "https://docs.example.com/guide/page?q",
		Type: "text/html; charset=utf-8", Body: []byte(page)})
	if err != nil {
		t.Fatal(err)
	}
	return title, text
}

func TestText(t *testing.T) {
	for _, tt := range []struct{ name, page, want string }{
		{"paragraphs", "<p>one<p>two<div>three</div>four", "one\n\ntwo\n\nthree\n\nfour"},
		{"entities", "a &lt;b&gt; &amp;lt; &copy;&nbsp;x", "a <b> &lt; © x"},
		{"nothing is escaped", "snake_case *star* [x] 1. # - `", "snake_case *star* [x] 1. # - `"},
		{"headings", "<h1>Learn C#</h1><h2>#</h2><h3><b>x</b>\n<br>y</h3>text", "# Learn C#\n\n## #\n\n### **x** y\n\ntext"},
		{"emphasis", "<b>bold</b>, <i>it</i>, <strong>s</strong>, <em>e</em>, <u>u</u>, <code>c_d</code>",
			"**bold**, *it*, **s**, *e*, u, `c_d`"},
		{"forgotten ends", "<p><b>a<p>b<li>c<b>d", "**a**\n\nb\n\nc**d**"},
		{"links", `<a href="../x y?a=1+2&amp;b=http://c/">rel</a> <a href="//o.example/">host</a> <a href=https://a.example/>https://a.example/</a>`,
			"[rel](https://docs.example.com/x%20y?a=1+2&b=http://c/) [host](https://o.example/) <https://a.example/>"},
		{"links to nowhere", `<a href="javascript:x">js</a> <a href=#top>top</a> <a href=mailto:a@b>m</a> <a>n</a> <a href=/x></a><a href="https://u:p@h/">up</a>`, "js top m n up"},
		{"base", `<base href="https://cdn.example/v2/"><a href=x>y</a>`, "[y](https://cdn.example/v2/x)"},
		{"link around blocks", `<a href=/c><div><h3>Card</h3><p>text</p></div></a>`,
			"[**Card** text](https://docs.example.com/c)"},
		{"brackets in links", `<a href="/a(b)[c]">x</a>`, "[x](https://docs.example.com/a%28b%29%5Bc%5D)"},
		{"lists", "<ul><li>one<li>two<ul><li>in</ul><li>three</ul><ol start=3><li>x<li>y</ol>",
			"- one\n- two\n\n  - in\n- three\n\n3. x\n4. y"},
		{"quote", "<blockquote><p>a<p>b</blockquote>", "> a\n>\n> b"},
		{"code", "<pre><code class='hljs language-go'>if a &lt; b {\n\tx()\n\n\n}\n</code></pre>",
			"```go\nif a < b {\n\tx()\n\n\n}\n```"},
		{"code without language", "<pre>a\n  b</pre>", "```\na\n  b\n```"},
		{"table", "<table><caption>Cap</caption><thead><tr><th>N<th>V</thead><tbody><tr><td>a|b<td><p>1</p><p>2</p><tr><td>c</table>after",
			"Cap\n\n| N | V |\n| --- | --- |\n| a\\|b | 1 2 |\n| c |\n\nafter"},
		{"cells without a row", "<table><td>a<td>b</table>", "| a | b |\n| --- | --- |"},
		{"cells without a table", "<td>a<td>b<tr>c", "a b c"},
		{"huge spans", "<table><tr><td colspan=1000000000 rowspan=1000000000>a<td>b</table>", "| a | b |\n| --- | --- |"},
		{"layout table", "<table><tr><td><h2>L</h2><p>left<td>right<table><tr><td>x<td>y</table></table>",
			"## L\n\nleft\n\nright\n\n| x | y |\n| --- | --- |"},
		{"one column", "<table><tr><td>a<tr><td>b</table>", "a\n\nb"},
		{"end tags stay in their cell", "<b><table><tr><td>x</b></i></p></div><td>y</table>", "| x | y |\n| --- | --- |"},
		{"picture", `<img src=x.png alt="A &amp; B"><img src=y.png> <img alt=hid hidden>`, "A & B"},
		{"ruby", "<ruby>漢字<rp>(</rp><rt>かんじ</rt><rp>)</rp>箱<rt>はこ</ruby>", "漢字(かんじ)箱(はこ)"},
		{"scripts", "a<script>if (a<b) document.write('</p>x')</script><style>p{}</style><noscript>on</noscript><iframe src=x>f</iframe><textarea>t</textarea>b<!-- c -->", "ab"},
		{"hidden", `a<p hidden>h1</p><p style="DISPLAY : none">h2</p><p aria-hidden=true>h3</p><p style="color:red">seen`,
			"a\n\nseen"},
		{"invisible characters", "a\u200b\U000e0041\u202eb\x07\x1b[31mc\ue000", "abc"},
		{"noise", "<nav>menu</nav><header>head</header><p>text</p><aside>ad</aside><div role=navigation>more</div><svg><title>t</title><text>x</text></svg><footer>foot</footer>", "head\n\ntext"},
		{"only noise", "<nav><a href=/a>A</a></nav><footer>foot</footer>", "[A](https://docs.example.com/a)\n\nfoot"},
		{"buttons", "<form><label>Name</label> <input value=x><select><option>o</select><button>Go</button></form>", "Name"},
		{"empty", "<html><body></body></html>", noText},
		{"scripts only", "<div id=root></div><script>render()</script>", noText},
		{"broken", "<", "<"},
		{"broken tag", "a<b <i x=\"", "a"},
		{"definition list", "<dl><dt>t<dd>d<dt>u<dd>e</dl>", "t\n\nd\n\nu\n\ne"},
		{"japanese", "<p>日本語の<b>文</b>章。\n改行</p>", "日本語の**文**章。 改行"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, got := markdownOf(t, tt.page); got != tt.want {
				t.Errorf("got\n%q\nwant\n%q", got, tt.want)
			}
		})
	}
}

func TestMainPart(t *testing.T) {
	long := strings.Repeat("word ", 120)
	for page, want := range map[string]bool{
		"<div>around</div><main>" + long + "</main>":                           false,
		"<div>around</div><div role=main>" + long + "</div>":                   false,
		"<div>around</div><article>" + long + "</article>":                     false,
		"<div>around</div><article>" + long + "</article><article>b</article>": true,
		"<div>around</div><main>short</main><div>" + long + "</div>":           true,
		"<div>around</div><article>short</article>":                            true,
		"<main hidden>" + long + "</main><div>around</div>":                    true,
	} {
		if _, got := markdownOf(t, page); strings.Contains(got, "around") != want {
			t.Errorf("%.60s: %.60s", page, got)
		}
	}
}

func TestTitle(t *testing.T) {
	for page, want := range map[string]string{
		"<title> A &amp;\n B </title><h1>x</h1>":            "A & B",
		"<svg><title>icon</title></svg><title>Page</title>": "Page",
		"<h1>Heading <b>1</b></h1>":                         "Heading **1**",
		"<p>no title":                                       "",
		"<title>one</title><title>two</title>":              "one",
		"<title>\x1b[31mred</title>":                        "red",
		"<title>" + strings.Repeat("長", 400) + "</title>":   strings.Repeat("長", 299) + "…",
	} {
		if got, _ := markdownOf(t, page); got != want {
			t.Errorf("%s: %q, want %q", page, got, want)
		}
	}
}

func TestTypes(t *testing.T) {
	for _, tt := range []struct {
		kind, body, want string
		fails            string
	}{
		{"text/plain", "a <b> \x1b[1mc\r\nd\x00", "a <b> c\nd", ""},
		{"text/plain; charset=utf-8", "日本", "日本", ""},
		{"application/json", `{"a": "<b>"}`, `{"a": "<b>"}`, ""},
		{"application/problem+json", `{}`, `{}`, ""},
		{"application/rss+xml", "<rss/>", "<rss/>", ""},
		{"text/markdown", "# x", "# x", ""},
		{"text/csv", "a,b\n1,2\n", "a,b\n1,2\n", ""},
		{"application/xhtml+xml", "<p>x</p>", "x", ""},
		{"TEXT/HTML", "<p>x</p>", "x", ""},
		{"", "<html><p>x</p>", "x", ""},
		{"", "plain", "plain", ""},
		{"nonsense/", "plain", "plain", ""},
		{"application/pdf", "%PDF-1.7", "", "of type application/pdf, which is not text"},
		{"image/png", "\x89PNG", "", "image/png"},
		{"image/svg+xml", "<svg/>", "", "image/svg+xml"},
		{"application/octet-stream", "abc", "", "application/octet-stream"},
		{"", "%PDF-1.7 x", "", "application/pdf"},
		{"text/plain", "\x00\x01\x02\x03abc\x04\x05", "", "text/plain, but what it holds is not text"},
	} {
		_, got, err := Text(t.Context(), &Page{URL: "https://docs.example.com/", Type: tt.kind, Body: []byte(tt.body)})
		if tt.fails == "" {
			if err != nil || got != tt.want {
				t.Errorf("%s: %q %v, want %q", tt.kind, got, err, tt.want)
			}
			continue
		}
		if fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), tt.fails) || fault.Hint(err) == "" {
			t.Errorf("%s: %v", tt.kind, err)
		}
	}
}

func TestCharsets(t *testing.T) {
	const said = "これは日本語のページです。カタカナ"
	for _, tt := range []struct {
		name, kind, head, text string
		enc                    encoding.Encoding
	}{
		{"header sjis", "text/html; charset=Shift_JIS", "", said, japanese.ShiftJIS},
		{"header x-sjis", "text/html; charset=x-sjis", "", said, japanese.ShiftJIS},
		{"header cp932", `text/html; charset="cp932"`, "", said, japanese.ShiftJIS},
		{"header euc-jp", "text/html; charset=EUC-JP", "", said, japanese.EUCJP},
		{"header iso-2022-jp", "text/html; charset=iso-2022-jp", "", said, japanese.ISO2022JP},
		{"header latin1", "text/html; charset=iso-8859-1", "", "Größe, café", charmap.Windows1252},
		{"header euc-kr", "text/html; charset=euc-kr", "", "한국어", korean.EUCKR},
		{"meta sjis", "text/html", "<meta charset=shift_jis>", said, japanese.ShiftJIS},
		{"old meta euc-jp", "text/html", `<META HTTP-EQUIV="Content-Type" CONTENT="text/html; charset=EUC-JP">`, said,
			japanese.EUCJP},
		{"meta iso-2022-jp", "text/html", "<meta charset='iso-2022-jp'>", said, japanese.ISO2022JP},
		{"meta latin1", "text/html", "<meta charset=latin1>", "Größe", charmap.Windows1252},
		{"xml declaration", "application/xhtml+xml", `<?xml version="1.0" encoding="Shift_JIS"?>`, said, japanese.ShiftJIS},
		{"utf-16", "text/html", "", said, xunicode.UTF16(xunicode.LittleEndian, xunicode.UseBOM)},
		{"utf-16 big", "text/html", "", said, xunicode.UTF16(xunicode.BigEndian, xunicode.UseBOM)},
		{"bom", "text/html; charset=shift_jis", "\ufeff", said, xunicode.UTF8},
		{"header before meta", "text/html; charset=euc-jp", "<meta charset=utf-8>", said, japanese.EUCJP},
		{"nobody says sjis", "text/html", "", said, japanese.ShiftJIS},
		{"nobody says euc-jp", "text/html", "", said, japanese.EUCJP},
		{"nobody says iso-2022-jp", "text/html", "", said, japanese.ISO2022JP},
		{"nobody says utf-8", "text/html", "", said, xunicode.UTF8},
		{"nobody says latin1", "text/html", "", "Größe für Käufer, déjà vu", charmap.Windows1252},
		{"utf-8 called latin1", "text/html; charset=iso-8859-1", "", said, xunicode.UTF8},
		{"sjis called utf-8", "text/html; charset=utf-8", "", said, japanese.ShiftJIS},
		{"unknown name", "text/html; charset=klingon", "<meta charset=x-nonsense>", said, xunicode.UTF8},
		{"plain text", "text/plain; charset=Shift_JIS", "", said, japanese.ShiftJIS},
	} {
		body, err := tt.enc.NewEncoder().String(tt.head + tt.text)
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		_, got, err := Text(t.Context(), &Page{URL: "https://docs.example.com/", Type: tt.kind, Body: []byte(body)})
		if err != nil || got != tt.text {
			t.Errorf("%s: %q %v", tt.name, got, err)
		}
	}
	_, got, err := Text(t.Context(), &Page{Type: "text/html; charset=utf-8", Body: []byte("日本\xff\xe6\x97語")})
	if err != nil || !utf8.ValidString(got) || !strings.HasPrefix(got, "日本\uFFFD") {
		t.Errorf("%q %v", got, err)
	}
}

// TestHostilePages checks that no page takes long or becomes large.
func TestHostilePages(t *testing.T) {
	if testing.Short() {
		t.Skip("long: much text for one goroutine: nothing for a race detector")
	}
	const size = 1 << 18
	fill := func(s string) string { return strings.Repeat(s, size/len(s)) }
	var marks strings.Builder
	for i := range 500 {
		fmt.Fprintf(&marks, "<b id=%d><font size=%d>", i, i)
	}
	pages := map[string]string{
		"deep":         strings.Repeat("<div>", 100_000) + "core" + strings.Repeat("</div>", 100_000),
		"deep lists":   fill("<ul><li>x"),
		"deep quotes":  strings.Repeat("<blockquote>", 1000) + fill("x<br>"),
		"deep tables":  fill("<table><tr><td>"),
		"marks":        marks.String() + fill("<p>x"),
		"wide row":     strings.Repeat("<table><tr><td>x", 6) + fill("<td>x"),
		"wide table":   "<table>" + fill("<td>")[:size/2] + fill("<tr>")[:size/2],
		"links":        fill("<a href=x>y</a>"),
		"open links":   fill("<a href=x>y"),
		"neighbours":   fill("a<svg></svg>"),
		"comments":     fill("a<!---->"),
		"code":         fill("<b><code>x</code></b>y"),
		"fences":       "<pre>" + fill("`"),
		"attributes":   "<a " + fill("x=y ") + ">z",
		"breaks":       "<b>" + fill("x<br>"),
		"less than":    fill("<"),
		"ampersands":   fill("&"),
		"lists":        fill("<ul></ul><div></div>"),
		"escapes":      fill("\x1b["),
		"ruby":         fill("<rt>x"),
		"main in main": fill("<main>x"),
	}
	long := "https://docs.example.com/" + strings.Repeat("a", 900)
	for name, page := range pages {
		begin := time.Now()
		_, text, err := Text(t.Context(), &Page{URL: long, Type: "text/html; charset=utf-8", Body: []byte(page)})
		if d := time.Since(begin); d > testload.Bound(15*time.Second) || err != nil || len(text) > maxText+len(leftOut) {
			t.Errorf("%s: %d bytes in %v, %v", name, len(text), d, err)
		}
	}
	if _, text := markdownOf(t, pages["deep"]); !strings.HasPrefix(text, "core") || !strings.HasSuffix(text, leftOut) {
		t.Errorf("deep: %q", text)
	}
}

// TestManyLinks has pages on which each link would cost as much as the address
// that it is relative to.
func TestManyLinks(t *testing.T) {
	if testing.Short() {
		t.Skip("long: much text for one goroutine: nothing for a race detector")
	}
	links := strings.Repeat("<a href=x>", (1<<19)/10)
	long := strings.Repeat("x", 100<<10)
	for name, page := range map[string]string{
		"long base": "<base href='http://a/" + long + "'>" + links, "many bases": strings.Repeat("<base href=y/><a href=x>",
			20_000),
		"no base": links, "bad links": strings.Repeat("<a href='%'>", 30_000), "other schemes": strings.Repeat("<a href=a:b>",
			30_000),
		"growing": "<base href=" + strings.Repeat("y/", 400) + ">" + links,
	} {
		for _, address := range []string{"https://docs.example.com/", "https://docs.example.com/?" + long,
			"https://docs.example.com/" + long} {
			begin := time.Now()
			if _, _, err := Text(t.Context(), &Page{URL: address, Type: "text/html", Body: []byte(page)}); err != nil {
				t.Error(err)
			}
			if d := time.Since(begin); d > testload.Bound(15*time.Second) {
				t.Errorf("%s: %v", name, d)
			}
		}
		base, err := url.Parse("https://docs.example.com/" + long[:900])
		if err != nil {
			t.Fatal(err)
		}
		if g := grow(t.Context(), page, base); g.hrefs > maxHrefs || g.links > maxLinks+maxLink {
			t.Errorf("%s: looked at %d links of %d bytes", name, g.hrefs, g.links)
		}
	}
	_, text := markdownOf(t, "<base href='http://a/"+long+"'><base href=https://cdn.example/><a href=x>y</a>")
	if text != "[y](https://cdn.example/x)" {
		t.Error(text)
	}
}

// TestConversionEnds has the caller give up in the middle of a large page.
func TestConversionEnds(t *testing.T) {
	gone := errors.New("gone")
	for _, piece := range []string{"<a href=x>y</a>", "<table><tr><td>x", "<ul><li>x", "<b>x<br>", "<div><p>x"} {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(20*time.Millisecond, func() { cancel(gone) })
		page := &Page{URL: "https://docs.example.com/", Type: "text/html",
			Body: []byte(strings.Repeat(piece, maxPage/len(piece)))}
		begin := time.Now()
		_, text, err := Text(ctx, page)
		if d := time.Since(begin); d > testload.Bound(5*time.Second) || !errors.Is(err, gone) || text != "" {
			t.Errorf("%s: %d bytes in %v, %v", piece, len(text), d, err)
		} else {
			t.Logf("%s: %v", piece, d)
		}
	}
	ctx, cancel := contextThatIsOver(t)
	defer cancel()
	g := grow(ctx, strings.Repeat("<p>x", 10_000), nil)
	if g.nodes > 2*glance || !g.cut {
		t.Errorf("%d nodes after the end", g.nodes)
	}
}

func TestTimeIsUp(t *testing.T) {
	ctx, cancel := contextThatIsOver(t)
	defer cancel()
	_, text, err := read(ctx, &Page{Type: "text/html", Body: []byte("<h1>a</h1><p>b <b>c</b></p>")})
	if err != nil || strings.Join(strings.Fields(text), " ") != "a b c" {
		t.Errorf("%q %v", text, err)
	}
}

func TestLongPage(t *testing.T) {
	if testing.Short() {
		t.Skip("long: much text for one goroutine: nothing for a race detector")
	}
	for _, kind := range []string{"text/html", "text/plain"} {
		_, text, err := Text(t.Context(), &Page{Type: kind, Body: []byte(strings.Repeat("文字 ", 700_000))})
		if err != nil || len(text) > maxText+len(leftOut) || !strings.HasSuffix(text, leftOut) || !utf8.ValidString(text) {
			t.Errorf("%s: %d bytes, %v", kind, len(text), err)
		}
	}
}

func FuzzText(f *testing.F) {
	for _, s := range []string{
		"<p>a<b>b</p>c", "<table><tr><td>x<table><td>y</table></table>", "<ul><li><ol><li>x</ul>", "<h1>#</h1>",
		"<a href=x><h2>y</a>",
		"<pre><code>`\n", "<ruby>a<rt>b", "\xff\xfe<\x00p\x00", "<meta charset=iso-2022-jp>\x1b$B$3",
		"<b><i><b><a><pre><code>", "<main><nav><template hidden>",
		"<code><pre>x</pre></code><code></code>", "<blockquote><h1><blockquote><li>", "<?xml encoding='x'?>",
	} {
		f.Add([]byte(s), "text/html")
		f.Add([]byte(s), "")
	}
	f.Fuzz(func(t *testing.T, body []byte, kind string) {
		title, text, err := Text(t.Context(), &Page{URL: "https://docs.example.com/a", Type: kind, Body: body})
		if err != nil {
			return
		}
		for _, s := range []string{title, text} {
			if !utf8.ValidString(s) || strings.ContainsFunc(s, hidden) {
				t.Fatalf("%q as %q became %q", body, kind, s)
			}
		}
		if len(text) > 1000+400*len(body) {
			t.Fatalf("%d bytes became %d", len(body), len(text))
		}
	})
}

// TestTagSoup makes pages of tags by chance: the converter must never need to
// be rescued.
func TestTagSoup(t *testing.T) {
	var names []string
	for name := range elements {
		names = append(names, name)
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		var b strings.Builder
		for range 1 + rnd.IntN(40) {
			name := names[rnd.IntN(len(names))]
			b.WriteString([]string{"<" + name + ">", "</" + name + ">", "<" + name + " href=x hidden>", "x", " #", "\n", "`",
				"<" + name + " href=y>"}[rnd.IntN(8)])
		}
		func() {
			defer func() {
				if r := recover(); r != nil {
					t.Errorf("%q: %v", b.String(), r)
				}
			}()
			doc := shape(grow(t.Context(), b.String(), nil).doc)
			if _, err := newConverter(t.Context()).ConvertNode(doc); err != nil {
				t.Errorf("%q: %v", b.String(), err)
			}
		}()
	}
}

func hidden(r rune) bool {
	return r != '\n' && r != '\t' && r != '\u200c' && r != '\u200d' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co)
}
