package main

import (
	"context"

	"hako/gate"
	"hako/internal/app"
	"hako/internal/app/asksocket"
	"hako/internal/config"
	"hako/internal/term"
)

// askFor returns what puts a question to the person at the terminal, or else to
// who watches the page of hako serve. Nil means that nobody is there.
func askFor(s streams, conf *config.Config) app.Asker {
	if ask := askAt(s); ask != nil {
		return ask
	}
	return askElsewhere(conf, newShow(s, false, false).note)
}

// askElsewhere returns what puts a question to who watches the page of hako serve,
// after a note about it. Nil means that it does not run.
func askElsewhere(conf *config.Config, note func(string)) app.Asker {
	page := asksocket.Caller{Dir: app.AskSocketDir(conf)}
	if !page.There() {
		return nil
	}
	return func(ctx context.Context, q gate.Question) (gate.Answer, error) {
		note("waiting for an answer at the page of hako serve: " + term.Brief(term.OneLine(q.Command), term.MostReason))
		return page.Ask(ctx, q)
	}
}

// approver is who is asked about what a task wants to run.
func (w *studio) approver(string) app.Asker {
	if w.asked != nil {
		return w.asked
	}
	return askElsewhere(w.conf, func(string) {})
}
