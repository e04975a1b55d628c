package descriptors

import (
	"context"
	"encoding/json"

	"hako/agent/tool"
	"hako/run/fault"
)

// newTool makes a tool that is counted, and refused after exit.
func newTool[In any](d *Table, name, text string, call func(context.Context, In) (string, error)) tool.Tool {
	t := tool.New(name, text, call)
	t.Stateful = true
	inner := t.Call
	t.Call = func(ctx context.Context, arguments string) (string, error) {
		if err := d.begin(name); err != nil {
			return "", err
		}
		err := precheck(name, arguments)
		answer := ""
		if err == nil {
			answer, err = inner(ctx, arguments)
		}
		d.finished(name, err)
		return answer, err
	}
	return t
}

// begin admits a call. After a script exhausted the budget, every call but exit fails.
func (d *Table) begin(name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.exhausted != nil && name != "exit" {
		return d.exhausted
	}
	if d.exit != nil || d.ctx.Err() != nil {
		return &fault.Error{Kind: fault.Invalid, Op: "call " + name, Why: "the session has ended",
			Hint: "nothing can be done any more; stop calling tools"}
	}
	d.calls++
	return nil
}

// finished counts a call.
func (d *Table) finished(name string, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stats.Calls[name]++
	if err != nil {
		d.stats.Errors++
	}
	if d.calls--; d.calls <= 1 && d.onlyExit != nil {
		close(d.onlyExit)
		d.onlyExit = nil
	}
}

// deprecatedParams are deprecated parameters of spawn.
var deprecatedParams = [][2]string{{"in_fd", "stdin_fd"}, {"out_fd", "stdout_fd"}}

// nonNullParams are parameters that must not be null, because zero is a valid value.
var nonNullParams = []string{"fd", "script", "path", "code"}

// precheck rejects arguments that the decoder would accept, or explain less clearly.
func precheck(name, arguments string) error {
	var given map[string]json.RawMessage
	if json.Unmarshal([]byte(arguments), &given) != nil {
		return nil
	}
	bad := func(why, hint string) error {
		return &fault.Error{Kind: fault.Invalid, Op: "call " + name, Why: why, Hint: hint}
	}
	for _, r := range deprecatedParams {
		if _, ok := given[r[0]]; ok && name == "spawn" {
			return bad("the parameter "+r[0]+" is deprecated", "use "+r[1]+" instead")
		}
	}
	for _, key := range nonNullParams {
		if string(given[key]) == "null" {
			return bad(key+" is null", "give it a value")
		}
	}
	return nil
}
