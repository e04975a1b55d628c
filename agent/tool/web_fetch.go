package tool

import (
	"context"
	_ "embed"
	"fmt"

	"hako/internal/websearch"
	"hako/run/fault"
)

//go:embed web_fetch.md
var webFetchText string

// webFetchInput is one call of web_fetch.
type webFetchInput struct {
	URL   string `json:"url"`
	Start int64  `json:"start,omitempty" jsonschema:"0 or a next_start"`
	Size  int64  `json:"size,omitempty" jsonschema:"bytes, up to 4096"` // zero means 4096
}

// webFetchOutput is the result of one call of web_fetch.
type webFetchOutput struct {
	OK         bool   `json:"ok"`
	URL        string `json:"url"`             // the last one, after redirects
	Title      string `json:"title,omitempty"` // with the first passage
	Text       string `json:"text"`
	TotalBytes int64  `json:"total_bytes"`
	NextStart  *int64 `json:"next_start"` // nil when this passage is the last
	Truncated  bool   `json:"truncated"`  // there is more
}

// WebFetch returns the tool that reads pages whose URLs are allowed.
func WebFetch(r *websearch.Reader) Tool {
	return New("web_fetch", webFetchText, func(ctx context.Context, in webFetchInput) (string, error) {
		if in.Size < 0 || in.Size > MaxPage {
			return "", &fault.Error{Kind: fault.Invalid, Op: "fetch", Subject: brief(in.URL),
				Why: fmt.Sprintf("size is %d, outside 1 to %d", in.Size, MaxPage), Hint: "ask for the rest with start=next_start"}
		}
		p, err := r.Read(ctx, in.URL, in.Start, in.Size)
		if err != nil {
			return "", err
		}
		out := webFetchOutput{OK: true, URL: p.URL, Text: p.Text, TotalBytes: p.TotalBytes, NextStart: p.NextStart,
			Truncated: p.NextStart != nil}
		if in.Start == 0 {
			out.Title = p.Title
		}
		return compact(out)
	})
}
