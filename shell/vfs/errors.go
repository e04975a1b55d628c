package vfs

import (
	"errors"
	"io/fs"
	"strings"
	"unicode"
	"unicode/utf8"

	"hako/run/fault"
)

// problem is a file error in the words of the C library.
type problem string

// The errors that package fs has no name for.
var (
	ErrIsDir       error = problem("Is a directory")
	ErrNotDir      error = problem("Not a directory")
	ErrNotEmpty    error = problem("Directory not empty")
	ErrLoop        error = problem("Too many levels of symbolic links")
	ErrReadOnly    error = problem("Read-only file system")
	errNotGranted  error = problem("Operation not permitted")
	ErrCrossDevice error = problem("Invalid cross-device link")
	ErrInvalid     error = problem("Invalid argument")
	errBusy        error = problem("Device or resource busy")
	errNameTooLong error = problem("File name too long")
	errNoSpace     error = problem("No space left on device")
	errBadFile     error = problem("Bad file descriptor")
)

// Error implements error.
func (p problem) Error() string { return strings.ToLower(string(p[:1])) + string(p[1:]) }

// Is makes the errors answer to their relatives in package fs.
func (p problem) Is(target error) bool {
	switch target {
	case fs.ErrPermission:
		return p == errNotGranted || p == "Permission denied"
	case fs.ErrNotExist:
		return p == "No such file or directory"
	case fs.ErrExist:
		return p == "File exists"
	case fs.ErrInvalid:
		return p == ErrInvalid
	case fs.ErrClosed:
		return p == "Bad file descriptor"
	}
	return false
}

var plain = []struct {
	err   error
	words string
}{
	{fs.ErrNotExist, "No such file or directory"},
	{fs.ErrExist, "File exists"},
	{fs.ErrPermission, "Permission denied"},
	{fs.ErrInvalid, "Invalid argument"},
	{fs.ErrClosed, "Bad file descriptor"},
}

// Reason returns the words the C library has for err, and for a [fault.Error]
// its reason. It names neither operation nor file.
func Reason(err error) string {
	var f *fault.Error
	if errors.As(err, &f) {
		return faultReason(f)
	}
	var p problem
	if errors.As(err, &p) {
		return string(p)
	}
	for _, k := range plain {
		if errors.Is(err, k.err) {
			return k.words
		}
	}
	return capital(innermost(err).Error())
}

func faultReason(f *fault.Error) string {
	if f.Why == "" && f.Err != nil {
		return Reason(f.Err)
	}
	return f.Why
}

func innermost(err error) error {
	for next := errors.Unwrap(err); next != nil; next = errors.Unwrap(err) {
		err = next
	}
	return err
}

func capital(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[n:]
}

// translate turns an error of package os into one of ours. It drops the name
// in it: names of the host mean nothing in the tree and must not show there.
func translate(err error) error {
	if err == nil {
		return nil
	}
	var f *fault.Error
	if errors.As(err, &f) {
		return err
	}
	if p := fromErrno(err); p != nil {
		return p
	}
	for _, k := range plain {
		if errors.Is(err, k.err) {
			return k.err
		}
	}
	cause := innermost(err)
	if strings.Contains(cause.Error(), "escapes") { // os.Root has no exported error for this
		return fs.ErrNotExist
	}
	return cause
}

// wrap says which operation on which name met err, in our words. Faults say so
// themselves.
func wrap(op, name string, err error) error {
	var f *fault.Error
	if err == nil || errors.As(err, &f) {
		return err
	}
	for _, k := range plain {
		if err == k.err {
			err = problem(k.words)
		}
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}

// isMissing reports whether err says that there is no such file.
func isMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) }
