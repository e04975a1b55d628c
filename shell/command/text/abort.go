package text

import (
	"errors"
	"fmt"

	"hako/shell"
)

// An abort is the panic by which the interpreters and parsers of this package leave
// nested calls. [catch] turns it into an error.
type abort struct{ err error }

// check aborts if err is not nil.
func check(err error) {
	if err != nil {
		panic(abort{err})
	}
}

// fail aborts with a message and an exit status.
func fail(status int, format string, args ...any) {
	panic(abort{&statusError{shell.Status(status), fmt.Sprintf(format, args...)}})
}

// A statusError is a message that ends a command with an exit status.
type statusError struct {
	status shell.Status
	text   string
}

func (e *statusError) Error() string { return e.text }

// report prints the message of [fail] and returns its exit status. Other errors are
// returned unchanged.
func report(c *shell.Call, err error) error {
	var e *statusError
	if errors.As(err, &e) {
		return c.Fail(int(e.status), "%s", e.text)
	}
	return err
}

// catch is deferred by the functions that [check] and [fail] return to.
func catch(err *error) {
	switch e := recover().(type) {
	case nil:
	case abort:
		*err = e.err
	default:
		panic(e)
	}
}
