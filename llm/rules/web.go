package rules

import (
	"strings"

	"hako/internal/lazyregexp"
)

// search searches the web, if the tool is offered, and lists the results.
func (t *conversation) search(q *query) string {
	query := q.web
	if query == "" {
		query = strings.TrimSpace(t.request)
	}
	arguments := jsonText(map[string]string{"query": query})
	if out, ok := t.outputs[searchTool+arguments]; ok {
		if out.Error != nil {
			out.command = "web_search " + query
			t.failed = &out
			return ""
		}
		return t.wordResults(q, out.raw)
	}
	if !t.offered(searchTool) {
		return q.say("I cannot search the web from here. Use hako web search %q, or hako run --auto-search.", query)
	}
	t.want(searchTool, arguments)
	return ""
}

// A hit is one result of a search.
type hit struct{ title, url string }

// wordResults lists titles and URLs.
func (t *conversation) wordResults(q *query, text string) string {
	hits := readHits(text)
	if len(hits) == 0 {
		return q.say("The search found nothing.")
	}
	lines := []string{q.say("I only have rules, so here is what the search found, unjudged:"), ""}
	for i, h := range hits {
		lines = append(lines, itoa(i+1)+". "+h.title, "   "+h.url)
	}
	return strings.Join(lines, "\n")
}

var hitForm = lazyregexp.New(`(?m)^\d+\. (.*)\n\s*(https?://\S+)`)

// readHits reads a list of titles with the addresses below them.
func readHits(text string) (list []hit) {
	for _, m := range hitForm.Get().FindAllStringSubmatch(text, -1) {
		list = append(list, hit{strings.TrimSpace(m[1]), m[2]})
	}
	return list
}
