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
	cmd := command("web", nil, needSubcommand)
	cmd.AddCommand(newWebSearch(s), newWebFetch(s))
	return cmd
}

func newWebSearch(s streams) *cobra.Command {
	var o common
	var q websearch.Query
	var raw bool
	cmd := command("web search", nil, func(cmd *cobra.Command, args []string) error {
		text, err := requestFrom(s, args, false)
		if err != nil {
			return err
		}
		q.Text = text
		return o.webSearch(cmd, s, q, raw)
	})
	f := cmd.Flags()
	o.register(f)
	f.IntVar(&q.Count, "count", 5, "list `N` results, 1 to 20")
	f.StringVar(&q.Lang, "lang", "", "prefer pages in `LANGUAGE`, as ja or en")
	f.StringVar(&q.Freshness, "freshness", "", "only pages of the last `SPAN`: day, week, month or year")
	f.BoolVar(&raw, "raw", false, "do not cut anything to the width of the terminal")
	o.registerJSON(f, "")
	return cmd
}

func (o *common) webSearch(cmd *cobra.Command, s streams, q websearch.Query, raw bool) error {
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
	w := newTranscript(s, o.json, false)
	w.spinner.Start("searching with " + name)
	hits, err := e.Search(cmd.Context(), q)
	w.spinner.Stop()
	if err != nil {
		return err
	}
	return o.output(s.out, append([]websearch.Hit{}, hits...), func() error { return printHits(s, hits, raw) })
}

func printHits(s streams, hits []websearch.Hit, raw bool) error {
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
	all         bool
}

func newWebFetch(s streams) *cobra.Command {
	var o fetchOptions
	cmd := command("web fetch", nil, func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return &fault.Error{Kind: fault.Invalid, Op: "web fetch",
				Why:  fmt.Sprintf("there are %d addresses where one is wanted", len(args)),
				Hint: "hako web fetch --allow-url https://example.com/docs/ https://example.com/docs/a.html"}
		}
		return o.run(cmd, s, args[0])
	})
	f := cmd.Flags()
	o.common.register(f)
	f.StringArrayVar(&o.URLs, "allow-url", nil, "allow URLs below `PREFIX`")
	f.Int64Var(&o.start, "start", 0, "start at byte `N` of the text")
	f.Int64Var(&o.size, "size", 4096, "print at most `N` bytes, 1 to 4096")
	f.BoolVar(&o.all, "all", false, "print the whole text")
	o.registerJSON(f, "")
	return cmd
}

func (o *fetchOptions) run(cmd *cobra.Command, s streams, url string) error {
	conf, b, err := o.openApp()
	if err != nil {
		return err
	}
	defer b.Close()
	if err := b.RecordNetwork("user")(url); err != nil {
		return err
	}
	r := &websearch.Reader{Fetcher: o.Fetcher(conf)}
	w := newTranscript(s, o.json, false)
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
