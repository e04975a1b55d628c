package mcpserver

import (
	"context"
	"crypto/rand"
	"strings"

	"hako/agent/tool"
)

// An Operation is a call of one of [Options.Tools].
type Operation struct {
	ID, Actor string
	What      string // the tool with its arguments, shortened
}

// maxRecorded is how many bytes of a call are recorded.
const maxRecorded = 4 << 10

type operationKey struct{}

// OperationOf returns the operation of a context, or the zero Operation.
func OperationOf(ctx context.Context) Operation {
	deed, _ := ctx.Value(operationKey{}).(Operation)
	return deed
}

// callRecorded calls a tool. The call is recorded before, and its outcome afterwards.
func (d *Server) callRecorded(ctx context.Context, v *toolCall, t tool.Tool) (words string, err error) {
	arguments := string(v.Params.Arguments)
	deed := Operation{ID: "mcp-" + strings.ToLower(rand.Text()), Actor: v.actor,
		What: shortened(t.Name+" "+arguments, maxRecorded)}
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
