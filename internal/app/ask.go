package app

import (
	"context"

	"hako/gate"
	"hako/internal/app/asksocket"
	"hako/internal/config"
)

// PageAsker returns an Asker that sends questions to the web page of hako serve, and calls before first. It
// returns nil if hako serve does not run.
func PageAsker(conf *config.Config, before func(gate.Question)) Asker {
	page := asksocket.Client{Dir: askSocketDir(conf)}
	if !page.Reachable() {
		return nil
	}
	return func(ctx context.Context, q gate.Question) (gate.Answer, error) {
		before(q)
		return page.Ask(ctx, q)
	}
}
