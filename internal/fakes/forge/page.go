package forge

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// discard drops what the mux itself would write: a redirect to a cleaner path.
type discard struct{}

func (discard) Header() http.Header         { return http.Header{} }
func (discard) Write(b []byte) (int, error) { return len(b), nil }
func (discard) WriteHeader(int)             {}

// paged answers with one page of a list, and with links to the others.
func paged[V any](c *call, all []V, show func(V) any) {
	page, per := c.number("page", 1), c.number("per_page", pick(c.provider, 30, 20))
	if page < 1 || per < 1 {
		c.refuse(http.StatusBadRequest, "page or per_page is no number")
		return
	}
	if c.cursors && page > lastNumbered && c.query().Get("after") != cursor(page) {
		c.refuse(http.StatusUnprocessableEntity,
			"Pagination with the page parameter is not supported for large datasets, please use cursor based pagination (after/before)")
		return
	}
	from := min((page-1)*per, len(all))
	to := min(from+per, len(all))
	shown := make([]any, 0, to-from)
	for _, one := range all[from:to] {
		shown = append(shown, show(one))
	}
	last := max(1, (len(all)+per-1)/per)
	c.link(page, last)
	if c.provider == GitLab {
		c.gitlabPages(page, per, last, len(all))
	}
	c.json(http.StatusOK, shown)
}

// lastNumbered is the last page that needs no cursor.
const lastNumbered = 10

// cursor is the parameter of a page's URL besides its number.
func cursor(page int) string { return "Y3Vyc29yOnYy" + itoa(page) + "==" }

func (c *call) number(name string, defaultValue int) int {
	text := c.query().Get(name)
	if text == "" {
		return defaultValue
	}
	n, _ := strconv.Atoi(text)
	return n
}

// link sets the header with the URLs of the other pages, as both providers do.
func (c *call) link(page, last int) {
	var links []string
	add := func(rel string, to int) {
		q := c.r.URL.Query()
		q.Set("page", itoa(to))
		if c.cursors && to > 1 {
			q.Set("after", cursor(to))
		}
		u := url.URL{Path: c.r.URL.Path, RawPath: c.r.URL.RawPath, RawQuery: q.Encode()}
		links = append(links, "<"+c.base()+u.String()+`>; rel="`+rel+`"`)
	}
	if page > 1 {
		add("prev", page-1)
		add("first", 1)
	}
	if page < last {
		add("next", page+1)
		add("last", last)
	}
	if len(links) > 0 {
		c.header.Set("Link", strings.Join(links, ", "))
	}
}

// gitlabPages sets GitLab's own headers. It does not count more than ten thousand.
func (c *call) gitlabPages(page, per, last, total int) {
	c.header.Set("X-Page", itoa(page))
	c.header.Set("X-Per-Page", itoa(per))
	c.header.Set("X-Next-Page", "")
	if page < last {
		c.header.Set("X-Next-Page", itoa(page+1))
	}
	if total <= 10_000 {
		c.header.Set("X-Total", itoa(total))
		c.header.Set("X-Total-Pages", itoa(last))
	}
}
