package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"hako/internal/app"
	"hako/internal/term"
	"hako/internal/text"
	"hako/internal/websearch"
	"hako/run/fault"
)

func newWeb(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "web",
		Short: "Search the web, or fetch a page as text",
		Example: `  hako web search "go 1.26 release notes" --count 5
  hako web fetch --allow-url https://go.dev/doc/ https://go.dev/doc/install`,
		RunE: func(cmd *cobra.Command, args []string) error { return needSubcommand(cmd, args) },
	}
	cmd.AddCommand(newWebSearch(s), newWebFetch(s))
	return cmd
}

func newWebSearch(s streams) *cobra.Command {
	var o common
	var q websearch.Query
	var raw, asJSON bool
	cmd := &cobra.Command{
		Use:   "search QUERY",
		Short: "Search the web and list title, address and snippet",
		Long: `search asks the engine of search.provider: google_cse (GOOGLE_API_KEY and
GOOGLE_CSE_CX), brave (BRAVE_API_KEY) or searxng (SEARXNG_URL). The default is
google_cse; if only another one is set up, that is used. Google closes the
Custom Search JSON API on 2027-01-01.`,
		Example: `  hako web search "go 1.26" --count 5 --lang ja --freshness week
  hako web search "rust async" --json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := requestFrom(s, args, false)
			if err != nil {
				return err
			}
			q.Text = text
			return webSearch(cmd, s, &o, q, raw, asJSON)
		},
	}
	f := cmd.Flags()
	o.register(f)
	f.IntVar(&q.Count, "count", 5, "list `N` results, 1 to 20")
	f.StringVar(&q.Lang, "lang", "", "prefer pages in `LANGUAGE`, as ja or en")
	f.StringVar(&q.Freshness, "freshness", "", "only pages of the last `SPAN`: day, week, month or year")
	f.BoolVar(&raw, "raw", false, "do not cut anything to the width of the terminal")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func webSearch(cmd *cobra.Command, s streams, o *common, q websearch.Query, raw, asJSON bool) error {
	conf, err := o.load()
	if err != nil {
		return err
	}
	if q.Count < 1 || q.Count > 20 {
		return &fault.Error{Kind: fault.Invalid, Op: "web search", Why: fmt.Sprintf("--count is %d, outside 1 to 20",
			q.Count)}
	}
	e, name, err := app.SearchEngine(conf)
	if err != nil {
		return err
	}
	b, err := app.Open(conf)
	if err != nil {
		return err
	}
	defer b.Close()
	if err := b.RecordNetwork("user")(name + ": " + q.Text); err != nil {
		return err
	}
	w := newShow(s, asJSON, false)
	w.spinner.Start("searching with " + name)
	hits, err := e.Search(cmd.Context(), q)
	w.spinner.Stop()
	if err != nil {
		return err
	}
	return printHits(s, hits, raw, asJSON)
}

func printHits(s streams, hits []websearch.Hit, raw, asJSON bool) error {
	if asJSON {
		if hits == nil {
			hits = []websearch.Hit{}
		}
		return encode(s.out, hits)
	}
	if len(hits) == 0 {
		fmt.Fprintln(s.err, "hako: nothing was found")
		return nil
	}
	width := 0
	if !raw {
		width = max(term.Columns(s.out), 80)
	}
	_, err := fmt.Fprint(s.out, websearch.Format(hits, width))
	return err
}

// fetchOptions are the flags of hako web fetch.
type fetchOptions struct {
	common
	app.ReadOnlyOptions
	start, size int64
	all, json   bool
}

func newWebFetch(s streams) *cobra.Command {
	var o fetchOptions
	cmd := &cobra.Command{
		Use:   "fetch URL",
		Short: "Fetch one page as text, if its address is allowed",
		Long: `fetch gets a page with GET, turns HTML into text, and prints it page by page.
The address must begin with one that was allowed, by --allow-url or the setting
web.url_prefixes: scheme, host and port must be equal and the path below it.`,
		Example: `  hako web fetch --allow-url https://go.dev/doc/ https://go.dev/doc/install
  hako web fetch --all --allow-url https://example.com/ https://example.com/a.html`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return &fault.Error{Kind: fault.Invalid, Op: "web fetch",
					Why:  fmt.Sprintf("there are %d addresses where one is wanted", len(args)),
					Hint: "hako web fetch --allow-url https://example.com/docs/ https://example.com/docs/a.html"}
			}
			return o.run(cmd, s, args[0])
		},
	}
	f := cmd.Flags()
	o.common.register(f)
	f.StringArrayVar(&o.URLs, "allow-url", nil, "let pages below `PREFIX` be fetched")
	f.Int64Var(&o.start, "start", 0, "start at byte `N` of the text")
	f.Int64Var(&o.size, "size", 4096, "print at most `N` bytes, 1 to 4096")
	f.BoolVar(&o.all, "all", false, "print the whole text")
	f.BoolVar(&o.json, "json", false, "print JSON")
	return cmd
}

func (o *fetchOptions) run(cmd *cobra.Command, s streams, url string) error {
	conf, err := o.load()
	if err != nil {
		return err
	}
	b, err := app.Open(conf)
	if err != nil {
		return err
	}
	defer b.Close()
	if err := b.RecordNetwork("user")(url); err != nil {
		return err
	}
	r := &websearch.Reader{Fetcher: o.Fetcher(conf)}
	w := newShow(s, o.json, false)
	w.spinner.Start("fetching")
	defer w.spinner.Stop()
	for {
		p, err := r.Read(cmd.Context(), url, o.start, o.size)
		if err != nil {
			return err
		}
		w.spinner.Stop()
		if err := o.print(s, p); err != nil || p.NextStart == nil || !o.all {
			return err
		}
		o.start = *p.NextStart
	}
}

func (o *fetchOptions) print(s streams, p websearch.Passage) error {
	if o.json {
		return encode(s.out, p)
	}
	body := p.Text
	if isTerminal(s.out) {
		body = text.ForTerminal(body)
	}
	if p.NextStart == nil && !strings.HasSuffix(body, "\n") {
		body += "\n"
	}
	if _, err := fmt.Fprint(s.out, body); err != nil {
		return err
	}
	if p.NextStart != nil && !o.all {
		fmt.Fprintf(s.err, "hako: %d of %d bytes; the next page: --start %d\n", *p.NextStart, p.TotalBytes, *p.NextStart)
	}
	return nil
}
