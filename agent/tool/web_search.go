package tool

import (
	"context"
	_ "embed"

	"hako/internal/websearch"
)

//go:embed web_search.md
var webSearchText string

// webSearchInput is one call of web_search.
type webSearchInput struct {
	Query     string `json:"query"`
	Count     int    `json:"count,omitempty" jsonschema:"1 to 20; default 5"`
	Lang      string `json:"lang,omitempty" jsonschema:"as ja or en"`
	Freshness string `json:"freshness,omitempty" jsonschema:"day, week, month or year"`
}

// WebSearch returns the tool that asks a search engine. Its result is marked as untrusted.
func WebSearch(e websearch.Engine) Tool {
	return New("web_search", webSearchText, func(ctx context.Context, in webSearchInput) (string, error) {
		hits, err := e.Search(ctx, websearch.Query{Text: in.Query, Count: in.Count, Lang: in.Lang, Freshness: in.Freshness})
		if err != nil {
			return "", err
		}
		return websearch.Results(hits), nil
	})
}
