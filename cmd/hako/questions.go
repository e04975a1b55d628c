package main

import (
	"hako/gate"
	"hako/internal/app"
	"hako/internal/config"
	"hako/internal/term"
)

// askFor returns a function that asks the person at the terminal, or else the operator at the console of hako serve.
// Nil means that nobody can be asked.
func askFor(s streams, conf *config.Config) app.Asker {
	if ask := askAt(s); ask != nil {
		return ask
	}
	return askPage(conf, newTranscript(s, false, false).note)
}

// askPage returns a function that asks the operator at the console of hako serve, after a note. Nil means that it does
// not run.
func askPage(conf *config.Config, note func(string)) app.Asker {
	return app.PageAsker(conf, func(q gate.Question) {
		note("waiting for an answer at the page of hako serve: " + term.Brief(term.OneLine(q.Command), term.MaxReason))
	})
}
