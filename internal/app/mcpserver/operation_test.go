package mcpserver

import (
	"context"
	"errors"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"hako/agent/tool"
	"hako/run/fault"
)

// Every call of a tool without a gate is on record before it is made, and what
// came of it afterwards; what cannot be recorded is not done.
func TestToolsAreOnRecord(t *testing.T) {
	type input struct {
		URL string `json:"url"`
	}
	made := 0
	fetch := tool.New("web_fetch", "fetches", func(ctx context.Context, in input) (string, error) {
		made++
		if OperationOf(ctx).Actor != "mcp:ann" {
			t.Errorf("it is told of %+v", OperationOf(ctx))
		}
		if in.URL != "https://good.example/" {
			return "", &fault.Error{Kind: fault.Denied, Op: "fetch", Subject: in.URL, Why: "no prefix allows it"}
		}
		return "page", nil
	})
	var asked []Operation
	var ended []error
	var broken error
	d := open(t, Options{Maker: newVirtual(""), Caller: byHeader, Tools: []tool.Tool{fetch},
		Record: func(deed Operation) (func(error), error) {
			asked = append(asked, deed)
			return func(err error) { ended = append(ended, err) }, broken
		}})
	c := dial(t, overHTTP(t, d), "ann", stateless, nil)
	call := func(arguments any) bool {
		res, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: "web_fetch", Arguments: arguments})
		if err != nil {
			t.Fatal(err)
		}
		return res.IsError
	}
	long := strings.Repeat("日", maxRecorded)
	if call(args{"url": "https://good.example/"}) || !call(args{"url": "https://bad.example/"}) || !call(args{"url": 1}) ||
		!call(args{"url": long}) {
		t.Error("not what was answered")
	}
	if len(asked) != 4 || len(ended) != 4 || ended[0] != nil || fault.KindOf(ended[1]) != fault.Denied ||
		fault.KindOf(ended[2]) != fault.Invalid {
		t.Fatalf("%+v %v", asked, ended)
	}
	if d := asked[1]; d.Actor != "mcp:ann" || d.What != `web_fetch {"url":"https://bad.example/"}` ||
		d.ID == asked[0].ID || !strings.HasPrefix(d.ID, "mcp-") {
		t.Errorf("%+v", d)
	}
	if n := len(asked[3].What); n > maxRecorded+3 {
		t.Errorf("%d bytes on record", n)
	}
	broken, made = errors.New("the disk is full"), 0
	if !call(args{"url": "https://good.example/"}) || made != 0 {
		t.Errorf("it is done %d times without a record", made)
	}
}
