package forge

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"hako/run/fault"
)

// errTimeout is the cause of a timeout of our own, as opposed to the caller's.
var errTimeout = errors.New("no response in time")

// errMalformed is a response without what every such response has.
var errMalformed = errors.New("malformed response")

// A requestError is a response that is no success, or the lack of a response.
type requestError struct {
	status      int           // zero means that there was no response
	message     string        // the server's, sanitized
	cause       error         // why there was no response
	rateLimited bool          // the request was not carried out, and may be retried later
	retryAfter  time.Duration // that the server asks for; zero means none
	permanent   bool          // retrying would not help
	clockAhead  time.Duration // our clock minus the server's
}

func (r *requestError) Error() string {
	switch {
	case r.status == 0:
		return r.message
	case r.message == "":
		return fmt.Sprintf("status %d", r.status)
	}
	return fmt.Sprintf("%s (%d)", r.message, r.status)
}

func (r *requestError) Unwrap() error { return r.cause }

// connectionError describes a request without a complete response.
func (t *transport) connectionError(ctx context.Context, err error) error {
	var unknown x509.UnknownAuthorityError
	var check *tls.CertificateVerificationError
	switch {
	case context.Cause(ctx) == errTimeout:
		return &requestError{message: "no response within " + t.timeout.String(), cause: context.DeadlineExceeded}
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &unknown), errors.As(err, &check):
		return &requestError{message: "its certificate is not signed by a trusted authority", cause: err, permanent: true}
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return &requestError{message: "it closed the connection in the middle", cause: err}
	}
	return &requestError{message: t.secrets.Text(clean(unwrapNetError(err).Error())), cause: err}
}

// unwrapNetError removes the addresses that package net adds: they are in the
// message already, or must not be.
func unwrapNetError(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		err = op.Err
	}
	return err
}

// wrapError makes the error that leaves the package of one that a client returned.
func (t *transport) wrapError(op, subject string, err error) error {
	if err == nil {
		return nil
	}
	if wrapped, ok := errors.AsType[*fault.Error](err); ok {
		return wrapped // without what the client has put around it
	}
	out := &fault.Error{Kind: fault.Unavailable, Op: op, Subject: subject}
	failed, ok := errors.AsType[*requestError](err)
	switch {
	case ok:
		t.describe(out, failed)
	case errors.Is(err, context.DeadlineExceeded):
		out.Kind, out.Why, out.Err = fault.Timeout, "the deadline has passed", context.DeadlineExceeded
	case errors.Is(err, context.Canceled):
		out.Kind, out.Why, out.Err = fault.Other, "canceled", context.Canceled
	default: // a response that the client could not decode
		out.Why, out.Hint = t.provider+"'s response makes no sense", "is it a "+t.provider+" server that listens at "+
			t.base.Host+"? see "+t.provider+".api_url"
	}
	return out
}

// identityError wraps the error of asking for the account of the token. Every forge
// can answer that, so NotFound means that the address is wrong.
func (t *transport) identityError(err error) error {
	err = t.wrapError("ask", t.provider+" who we are", err)
	if f, ok := errors.AsType[*fault.Error](err); ok && isNotFound(err) {
		f.Hint = "check whether " + strings.ToUpper(t.provider) + "_API_URL, or " + t.provider +
			".api_url in the settings, is the address of the forge: hako asked " + t.base.String()
	}
	return err
}

// An explainedError is a requestError with a better text.
type explainedError struct {
	text string
	*requestError
}

func (e *explainedError) Error() string { return e.text }
func (e *explainedError) Unwrap() error { return e.requestError }

func (t *transport) describe(out *fault.Error, failed *requestError) {
	text := t.provider + ": " + failed.Error()
	switch {
	case failed.rateLimited:
		text = fmt.Sprintf("%s allows no requests for %v: %s", t.provider, failed.retryAfter.Round(time.Second),
			failed.Error())
		out.Hint = "try again later, or use a token with a higher limit"
	case failed.status == 0 && failed.permanent:
		out.Hint = "name the certificate of its authority: ca_certificates"
	case failed.status == 0:
		text = t.provider + " at " + t.base.Host + ": " + failed.message
		out.Hint = "check whether " + t.base.Host + " can be reached from here"
	default:
		text = t.describeStatus(out, failed, text)
	}
	out.Err = &explainedError{text, failed}
}

func (t *transport) describeStatus(out *fault.Error, failed *requestError, text string) string {
	switch status := failed.status; {
	case status == http.StatusUnauthorized:
		out.Kind, out.Hint = fault.Denied, "set "+tokenVariable(t.provider)+" to a valid token"
		if t.app {
			out.Hint = "check whether the GitHub App is still installed there, and not suspended"
		}
		return t.provider + " refused the token (401)"
	case status == http.StatusForbidden:
		out.Kind, out.Hint = fault.Denied, "give the token the permission: "+permissions[t.provider]
		if t.app {
			out.Hint = "give the GitHub App the permission: " + permissions[GitHub] +
				"; whoever installed it must accept that"
		}
	case notFoundStatus(failed):
		out.Kind, out.Hint = fault.NotFound, "check whether it was deleted or moved, and what the token has access to"
		return fmt.Sprintf("%s has nothing there, or the token has no access (%d)", t.provider, status)
	case status == http.StatusRequestEntityTooLarge:
		out.Kind = fault.TooLarge
	case status < 500:
		out.Kind = fault.Invalid
	case failed.message == "":
		return fmt.Sprintf("the %s server failed (%d)", t.provider, status)
	}
	return text
}

// permissions are what a token needs.
var permissions = map[string]string{
	GitHub: "contents, issues and pull requests, each read and write",
	GitLab: "the scope api, and the role developer in the project",
}

func isNotFound(err error) bool { return fault.KindOf(err) == fault.NotFound }

// notFoundStatus is isNotFound for errors that are not wrapped yet. One that is
// wrapped comes from the request for an App's token: that is not what was not found.
func notFoundStatus(err error) bool {
	if _, wrapped := errors.AsType[*fault.Error](err); wrapped {
		return false
	}
	status := statusOf(err)
	return status == http.StatusNotFound || status == http.StatusGone
}

// Unauthorized reports whether the forge refused the token itself, as opposed to
// an operation that the token does not permit.
func Unauthorized(err error) bool { return statusOf(err) == http.StatusUnauthorized }

// statusOf returns the HTTP status of an error; zero means that there is none.
func statusOf(err error) int {
	if failed, ok := errors.AsType[*requestError](err); ok {
		return failed.status
	}
	return 0
}

// mentions reports whether the server's message contains these words.
func mentions(err error, words string) bool {
	failed, ok := errors.AsType[*requestError](err)
	return ok && strings.Contains(strings.ToLower(failed.message), words)
}
