package main

import (
	"context"

	"hako/gate"
	"hako/internal/app/asksocket"
	"hako/internal/app/mcpserver"
	"hako/internal/config"
)

// hatchDir is where processes of this user find the page of hako serve.
func hatchDir(conf *config.Config) string { return conf.StateFile("hatch") }

// askFor returns what puts a question to the person at the terminal, or else to
// who watches the page of hako serve. Nil means that nobody is there.
func askFor(s streams, conf *config.Config) asker {
	if ask := askAt(s); ask != nil {
		return ask
	}
	return askElsewhere(conf, newShow(s, false, false).note)
}

// askElsewhere returns what puts a question to who watches the page of hako serve,
// after a note about it. Nil means that it does not run.
func askElsewhere(conf *config.Config, note func(string)) asker {
	page := asksocket.Caller{Dir: hatchDir(conf)}
	if !page.There() {
		return nil
	}
	return func(ctx context.Context, q gate.Question) (gate.Answer, error) {
		note("waiting for an answer at the page of hako serve: " + brief(oneLine(q.Command), mostReason))
		return page.Ask(ctx, q)
	}
}

// approver is who is asked about what a task wants to run.
func (w *studio) approver(string) asker {
	if w.asked != nil {
		return w.asked
	}
	return askElsewhere(w.conf, func(string) {})
}

// elicitation is what clients with a token of hako serve may answer to questions
// about their own commands: nothing, unless the settings let them, and for a whole
// session never.
func elicitation(conf *config.Config) func(caller string) gate.Answer {
	most := gate.No
	if config.ApprovalElicitation.Of(conf).V {
		most = gate.Once
	}
	return func(string) gate.Answer { return most }
}

// askPage has a door ask at the page of hako serve, while that runs, for clients
// who cannot ask or may not answer.
func askPage(o *mcpserver.Options, conf *config.Config) {
	page := asksocket.Caller{Dir: hatchDir(conf)}
	o.Ask, o.Reaches = page.Ask, page.There
}
