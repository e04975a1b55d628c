package cli

import (
	"context"

	"hako/shell"
)

// An abort is the panic by which nested functions of a command return to its main
// function, which defers [Catch].
type abort struct{ err error }

// Check aborts the command if err is not nil.
func Check(err error) {
	if err != nil {
		panic(abort{err})
	}
}

// CheckStopped aborts the command if the script must end, see [Stopped].
func CheckStopped(ctx context.Context, c *shell.Call) { Check(Stopped(ctx, c)) }

// Catch sets *err to the error of [Check]. A command's main function defers it.
func Catch(err *error) {
	switch r := recover().(type) {
	case nil:
	case abort:
		*err = r.err
	default:
		panic(r)
	}
}

// Try calls f and returns the error of [Check].
func Try(f func()) (err error) {
	defer Catch(&err)
	f()
	return nil
}
