package app

import (
	"context"

	"hako/gate"
	"hako/internal/app/asksocket"
	"hako/internal/config"
)

// PageAsker returns what puts a question to who watches the page of hako serve, and
// calls before first. Nil means that hako serve does not run.
func PageAsker(conf *config.Config, before func(gate.Question)) Asker {
	page := asksocket.Client{Dir: AskSocketDir(conf)}
	if !page.There() {
		return nil
	}
	return func(ctx context.Context, q gate.Question) (gate.Answer, error) {
		before(q)
		return page.Ask(ctx, q)
	}
}
