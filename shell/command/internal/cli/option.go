package cli

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"hako/run/fault"
	"hako/shell"
	"hako/shell/spec"
)

// An Option is one option of a call: the first name in its spec, and its value.
type Option = spec.Arg

// Flags binds options to what they set. A key is the first name of an option in
// the command's spec, or several such names separated by spaces. A value is one of
//
//	*bool, []*bool      becomes true
//	*string             becomes the option's value
//	*[]string           gets the value appended
//	func(), func() error
//	                    is called
//	func(string)        is called with the value
//	func(string) error  is called with the value
//	func(Option) error  is called with name and value
//
// An option without a binding has no effect.
type Flags map[string]any

// Parse splits the words of a call by the spec of its command, applies the options
// in their order, and returns the operands. It reports an invalid option like the
// GNU tools and returns the exit status.
//
// An error of a binding is reported as "name: text", with the exit status that the
// spec has for usage errors. A [shell.Status] and errors that end the script are
// returned as they are.
func Parse(c *shell.Call, flags Flags) (operands []string, err error) {
	opts, operands, err := c.Options()
	if err != nil {
		return nil, err
	}
	for _, o := range opts {
		if err := flags.apply(o); err != nil {
			return nil, optionError(c, err)
		}
	}
	return operands, nil
}

// apply sets what an option is bound to.
func (f Flags) apply(o Option) error {
	switch to := f.find(o.Name).(type) {
	case nil:
	case *bool:
		*to = true
	case []*bool:
		for _, b := range to {
			*b = true
		}
	case *string:
		*to = o.Value
	case *[]string:
		*to = append(*to, o.Value)
	case func():
		to()
	case func() error:
		return to()
	case func(string):
		to(o.Value)
	case func(string) error:
		return to(o.Value)
	case func(Option) error:
		return to(o)
	default:
		panic(fmt.Sprintf("cli: option %s is bound to a %T", o.Name, to))
	}
	return nil
}

func (f Flags) find(name string) any {
	if to, ok := f[name]; ok {
		return to
	}
	for names, to := range f {
		if len(names) < len(name)+2 {
			continue
		}
		for key := range strings.FieldsSeq(names) {
			if key == name {
				return to
			}
		}
	}
	return nil
}

// optionError reports the error of a binding, unless that is done or the shell does it.
func optionError(c *shell.Call, err error) error {
	if _, ok := err.(shell.Status); ok || err == shell.ErrUsage || fault.KindOf(err) != fault.Other {
		return err
	}
	status := 1
	if s := c.Spec; s != nil {
		status = s.Status
	} else if s := spec.Lookup(c.Name); s != nil {
		status = s.Status
	}
	return c.Fail(status, "%v", err)
}

// Set returns a binding that sets a variable to a fixed value.
func Set[T any](to *T, value T) func() {
	return func() { *to = value }
}

// Number returns a binding for a decimal number between low and high. In the message
// about any other value, %s stands for the value.
func Number[T int | int64](to *T, low, high int64, message string) func(string) error {
	return func(text string) error {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < low || n > high {
			return errors.New(strings.Replace(message, "%s", text, 1))
		}
		*to = T(n)
		return nil
	}
}

// NumberInRange is [Number] for commands that report a number out of range as such.
func NumberInRange[T int | int64](to *T, low, high int64, message string) func(string) error {
	return func(text string) error {
		err := Number(to, low, high, message)(text)
		if _, e := strconv.ParseInt(text, 10, 64); err != nil && e == nil {
			err = fmt.Errorf("%w: Numerical result out of range", err)
		}
		return err
	}
}

// Unavailable is a binding for an option of the GNU command that ours does not have.
func Unavailable(o Option) error {
	dashes := "--"
	if len(o.Name) == 1 {
		dashes = "-"
	}
	return fmt.Errorf("option '%s%s' is not available here", dashes, o.Name)
}

// NoPrograms is a binding for an option that names a program to run.
func NoPrograms(program string) error {
	return fmt.Errorf("no program can be run from here: %s", program)
}
