package console

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"hako/internal/app/secretary/sessions"
	"hako/internal/testload"
)

// laid is an answer as the page shows it.
func laid(t testing.TB, text string) string {
	t.Helper()
	var b bytes.Buffer
	if err := renderMarkdown(text).Render(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestSaid(t *testing.T) {
	for in, want := range map[string]string{
		"":                           "",
		"one\ntwo\n\nthree":          "<p>one\ntwo</p><p>three</p>",
		"## What to do\nthis":        `<p class="head"><strong>What to do</strong></p><p>this</p>`,
		"#no heading":                "<p>#no heading</p>",
		"use `rm -r a*` **now**":     "<p>use <code>rm -r a*</code> <strong>now</strong></p>",
		"``a`b``":                    "<p><code>a`b</code></p>",
		"**bold `code`**":            "<p><strong>bold <code>code</code></strong></p>",
		"2 * 3 ** 4 ` [x]":           "<p>2 * 3 ** 4 ` [x]</p>",
		"[docs](https://x.test/a)!":  "<p>docs (https://x.test/a)!</p>",
		"[x](javascript:alert(1))":   "<p>x (javascript:alert(1))</p>",
		"[https://a](https://a)":     "<p>https://a</p>",
		"list:\n- a\n- b\nend":       "<p>list:</p><ul><li>a</li><li>b</li></ul><p>end</p>",
		"* a\n\n* b":                 "<ul><li>a</li><li>b</li></ul>",
		"  - a\n  - b":               "<ul><li>a</li><li>b</li></ul>",
		"1. a\n   - x\n   - y\n2. b": `<ol start="1"><li>a<ul><li>x</li><li>y</li></ul></li><li>b</li></ol>`,
		"3) c\n4) d":                 `<ol start="3"><li>c</li><li>d</li></ol>`,
		"2026. Was it":               "<p>2026. Was it</p>",
		"- a\n\n  more\n- b":         "<ul><li>a<p>more</p></li><li>b</li></ul>",
		"- a\n  more":                "<ul><li>a\nmore</li></ul>",
		"-\n--- \n-x":                "<p>-\n--- \n-x</p>",
		"```sh\nls | wc -l\n\n# x\n```\nafter": `<pre class="code" tabindex="0"><code>ls | wc -l` + "\n\n" +
			`# x</code></pre><p>after</p>`,
		"~~~\n```\n~~~":          `<pre class="code" tabindex="0"><code>` + "```" + `</code></pre>`,
		"```\nnot over":          `<pre class="code" tabindex="0"><code>not over</code></pre>`,
		"- a\n  ```\n  b\n  ```": `<ul><li>a<pre class="code" tabindex="0"><code>b</code></pre></li></ul>`,
		"``` a ``` b":            "<p><code> a </code> b</p>",
		"- **請求書**: 10日\n- `ls`": "<ul><li><strong>請求書</strong>: 10日</li><li><code>ls</code></li></ul>",
	} {
		if got := laid(t, in); got != want {
			t.Errorf("%q:\n got %s\nwant %s", in, got, want)
		}
	}
}

// safeTags are all that an answer may become.
var safeTags = map[string]bool{"html": true, "head": true, "body": true, "p": true, "ul": true, "ol": true, "li": true,
	"pre": true, "code": true, "strong": true}

// harmless fails if something else than safe elements came of a text, or if it
// hides anything.
func harmless(t testing.TB, in, out string) {
	t.Helper()
	elements(t, out, func(n *html.Node) {
		if !safeTags[n.Data] {
			t.Errorf("%q becomes <%s>: %s", in, n.Data, out)
		}
		for _, a := range n.Attr {
			if a.Key != "class" && a.Key != "tabindex" && a.Key != "start" {
				t.Errorf("%q gets %s=%q", in, a.Key, a.Val)
			}
		}
	})
	if strings.IndexFunc(out, deceptive) >= 0 {
		t.Errorf("%q hides something: %q", in, out)
	}
}

var wraps = []string{"%", "`%`", "``%``", "**%**", "[%](%)", "- %", "1. %", "  - %", "```%\n%\n```", "# %", "- a\n  %",
	"> %", "<%>", "**[`%`](%)**", "![%](%)", "| % | % |", "<!-- % -->", "&lt;%&gt;", "```\n%", "**%"}

// TestSaidHostile: whatever a model says, in whatever marks, stays text.
func TestSaidHostile(t *testing.T) {
	for _, bad := range []string{hostile, "</code></pre><script>alert(1)</script>", `" onmouseover="alert(1)`,
		"<svg/onload=alert(1)>", "<a href=javascript:alert(1)>x</a>", "&#60;script&#62;", "<style>*{display:none}</style>",
		"]()<img src=x>", "\xff\xfe<b>"} {
		for _, wrap := range wraps {
			in := strings.ReplaceAll(wrap, "%", bad)
			harmless(t, in, laid(t, in))
		}
	}
}

func FuzzSaid(f *testing.F) {
	for _, wrap := range wraps {
		f.Add(strings.ReplaceAll(wrap, "%", hostile))
	}
	f.Fuzz(func(t *testing.T, in string) { harmless(t, in, laid(t, in)) })
}

// TestSaidQuick: no text takes long, however it is made.
func TestSaidQuick(t *testing.T) {
	for _, part := range []string{"[", "](", "[a](", "`", "**", "**`", "- ", "  ", "- a\n  ", "  - \n", "```\n", "1. a\n",
		"* * ", "`` ` "} {
		text := strings.Repeat(part, maxRendered/len(part))
		began := time.Now()
		laid(t, text)
		if took := time.Since(began); took > testload.Bound(2*time.Second) {
			t.Errorf("%d bytes of %q take %v", len(text), part, took)
		}
	}
	deep := ""
	for n := range 2000 {
		deep += strings.Repeat("  ", n%100) + "- a\n"
	}
	harmless(t, "a deep list", laid(t, deep))
	if long := laid(t, strings.Repeat("**a** ", maxRendered)); strings.Contains(long, "<strong>") {
		t.Error("a very long text is laid out")
	}
}

// TestConversation: what she says is laid out, what people say is not.
func TestConversation(t *testing.T) {
	w := newWorld(false)
	w.messages = []sessions.Message{{Role: "user", Text: "**a** <b>"}, {Role: "assistant", Text: "**b** <i>"},
		{Role: "odd", Text: "- c"}}
	_, page := openDoor(t, w).get(t, "/secretary")
	for _, want := range []string{`<div class="said">**a** &lt;b&gt;</div>`,
		`<div class="said"><p><strong>b</strong> &lt;i&gt;</p></div>`, `<div class="said">- c</div>`} {
		if !strings.Contains(page, want) {
			t.Errorf("%s is not in the page", want)
		}
	}
}

// TestLayOut: only pages of somebody who has logged in are answered.
func TestLayOut(t *testing.T) {
	d := openDoor(t, newWorld(false))
	post := func(cookie, proof, body string) int {
		r, _ := http.NewRequest("POST", d.URL+renderRoute, strings.NewReader(body))
		r.AddCookie(&http.Cookie{Name: "hako_session", Value: cookie})
		r.Header.Set("X-CSRF-Token", proof)
		resp, err := d.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if resp.StatusCode == 200 && resp.Header.Get("Content-Security-Policy") != csp {
			t.Errorf("%v", resp.Header)
		}
		return resp.StatusCode
	}
	for _, c := range []struct {
		cookie, proof, body string
		want                int
	}{
		{goodCookie, goodCSRF, `{"text":"x"}`, 200}, {"x", goodCSRF, `{"text":"x"}`, 401},
		{goodCookie, "x", `{"text":"x"}`, 401}, {goodCookie, "", `{"text":"x"}`, 401},
		{goodCookie, goodCSRF, `{`, 400}, {goodCookie, goodCSRF, `{"text":"` + strings.Repeat("x", 1<<20) + `"}`, 400},
	} {
		if got := post(c.cookie, c.proof, c.body); got != c.want {
			t.Errorf("%+.60v: %d", c, got)
		}
	}
}
