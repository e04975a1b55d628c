package main

import (
	"hako/gate"
	"hako/internal/app"
	"hako/internal/config"
	"hako/internal/term"
)

// askFor returns what puts a question to the person at the terminal, or else to
// who watches the page of hako serve. Nil means that nobody is there.
func askFor(s streams, conf *config.Config) app.Asker {
	if ask := askAt(s); ask != nil {
		return ask
	}
	return askPage(conf, newShow(s, false, false).note)
}

// askPage returns what puts a question to who watches the page of hako serve,
// after a note about it. Nil means that it does not run.
func askPage(conf *config.Config, note func(string)) app.Asker {
	return app.PageAsker(conf, func(q gate.Question) {
		note("waiting for an answer at the page of hako serve: " + term.Brief(term.OneLine(q.Command), term.MostReason))
	})
}
