package mcpserver

import (
	"context"
	"crypto/rand"
	"strings"

	"hako/agent/tool"
)

// A Operation is a call of a tool that was brought along.
type Operation struct {
	ID, Actor string
	What      string // the tool with its arguments, as far as they are not too long
}

// longestDeed is how many bytes of a call are put on record. What is longer is
// no address and no question, and would only fill the record.
const longestDeed = 4 << 10

type operationKey struct{}

// OperationOf is what the context of a tool's call belongs to; the zero Operation if that
// is no call of a client.
func OperationOf(ctx context.Context) Operation {
	deed, _ := ctx.Value(operationKey{}).(Operation)
	return deed
}

// recorded calls a tool. Every call is on record before, and what came of it
// afterwards, whether it was refused or not.
func (d *Server) recorded(ctx context.Context, v *session, t tool.Tool) (words string, err error) {
	arguments := string(v.Params.Arguments)
	deed := Operation{ID: "mcp-" + strings.ToLower(rand.Text()), Actor: v.actor,
		What: shortened(t.Name+" "+arguments, longestDeed)}
	if d.opts.Record == nil {
		return t.Call(ctx, arguments)
	}
	done, err := d.opts.Record(deed)
	if err != nil {
		return "", err
	}
	defer func() { done(err) }()
	return t.Call(context.WithValue(ctx, operationKey{}, deed), arguments)
}

func shortened(s string, most int) string {
	if len(s) > most {
		s = s[:most] + "…"
	}
	return strings.ToValidUTF8(s, "")
}
