package main

import (
	"context"
	"time"

	"hako/audit"
	"hako/internal/app/mcpserver"
	"hako/run/fault"
)

// record puts on record that an MCP client calls a tool that has no gate, and
// what came of it: one that is refused is denied, as a command would be.
func (m *mcpMaker) record(deed mcpserver.Deed) (done func(error), err error) {
	began := time.Now()
	return func(err error) {
		end := audit.Event{What: audit.Ended, ID: deed.ID, Actor: deed.Actor, Micros: time.Since(began).Microseconds()}
		if err != nil {
			end.Exit, end.Error, end.Kind = 1, err.Error(), fault.KindOf(err).String()
		}
		if fault.KindOf(err) == fault.Denied {
			_ = m.log.Append(audit.Event{What: audit.Denied, ID: deed.ID, Actor: deed.Actor, Script: deed.What, Effect: "deny", Reason: err.Error(), Kind: end.Kind})
		}
		_ = m.log.Append(end) // it is done; that it was asked is on record
	}, m.log.Append(audit.Event{What: audit.Asked, ID: deed.ID, Actor: deed.Actor, Script: deed.What})
}

// fetchedBy puts on record which page was fetched for which client.
func (m *mcpMaker) fetchedBy(ctx context.Context, url string, bytes int64) {
	deed := mcpserver.DeedOf(ctx)
	_ = m.log.Append(audit.Event{What: audit.Opened, ID: deed.ID, Actor: deed.Actor, Mode: "network", Path: url, Bytes: bytes})
}
