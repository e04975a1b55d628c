package forge

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

func withCall(ctx context.Context, c *call) context.Context {
	return context.WithValue(ctx, callKey{}, c)
}

// nowhere takes what the mux itself would write: a redirect to a cleaner path.
type nowhere struct{}

func (nowhere) Header() http.Header         { return http.Header{} }
func (nowhere) Write(b []byte) (int, error) { return len(b), nil }
func (nowhere) WriteHeader(int)             {}

// paged answers with one page of a list, and says where the others are.
func paged[V any](c *call, all []V, show func(V) any) {
	page, per := c.number("page", 1), c.number("per_page", pick(c.provider, 30, 20))
	if page < 1 || per < 1 {
		c.refuse(http.StatusBadRequest, "page or per_page is no number")
		return
	}
	if c.cursors && page > farthest && c.query().Get("after") != cursor(page) {
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
		c.labPages(page, per, last, len(all))
	}
	c.json(http.StatusOK, shown)
}

// farthest is the last page that is found by its number alone.
const farthest = 10

// cursor is what the address of a page has besides its number.
func cursor(page int) string { return "Y3Vyc29yOnYy" + itoa(page) + "==" }

func (c *call) number(name string, usual int) int {
	text := c.query().Get(name)
	if text == "" {
		return usual
	}
	n, _ := strconv.Atoi(text)
	return n
}

// link has the addresses of the neighbours, as both providers send them.
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

// labPages are GitLab's own headers. It does not count what is more than ten
// thousand.
func (c *call) labPages(page, per, last, total int) {
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
