package guest

import (
	"slices"
	"strings"
	"testing"

	"hako/container/guest/wire"
)

func TestOrders(t *testing.T) {
	for _, c := range []Command{
		{Script: "x", Args: []string{"1", ""}, Env: []string{"A=b=c"}, Dir: "d", Timeout: 5},
		{Script: "a\xff", Stdin: strings.NewReader("")},
		{},
	} {
		want := c.Request()
		f := want.Frame(wire.OpExec, 1)
		got, err := wire.ReadCommand(f.Words, f.N)
		if err != nil || got.Details != want.Details || got.Dir != want.Dir || got.Script != want.Script ||
			!slices.Equal(got.Args, want.Args) || !slices.Equal(got.Env, want.Env) {
			t.Errorf("%+v, want %+v, %v", got, want, err)
		}
	}
}
