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

// errSlow is why a request was given up here rather than by its caller.
var errSlow = errors.New("no answer in time")

// A refusal is an answer that is no success, or the lack of one.
type refusal struct {
	status  int           // zero means that there was no answer
	text    string        // the forge's reason, cleaned
	cause   error         // of the lack
	limited bool          // nothing was done; it may be asked for later
	wait    time.Duration // that the forge asks for; zero means it asks for none
	final   bool          // asking again would not help
	ahead   time.Duration // of the forge's clock is ours
}

func (r *refusal) Error() string {
	switch {
	case r.status == 0:
		return r.text
	case r.text == "":
		return fmt.Sprintf("it answered %d", r.status)
	}
	return fmt.Sprintf("%s (%d)", r.text, r.status)
}

func (r *refusal) Unwrap() error { return r.cause }

// broken explains a request that got no answer, or half of one.
func (c *apiClient) broken(ctx context.Context, err error) error {
	var unknown x509.UnknownAuthorityError
	var check *tls.CertificateVerificationError
	switch {
	case context.Cause(ctx) == errSlow:
		return &refusal{text: "it did not answer within " + c.slow.String(), cause: context.DeadlineExceeded}
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &unknown), errors.As(err, &check):
		return &refusal{text: "its certificate is signed by nobody we trust", cause: err, final: true}
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return &refusal{text: "it hung up in the middle", cause: err}
	}
	return &refusal{text: c.secrets.Text(clean(bare(err).Error())), cause: err}
}

// bare takes off what net packages put around an error: addresses that were
// said already, or must not be.
func bare(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	var op *net.OpError
	if errors.As(err, &op) {
		err = op.Err
	}
	return err
}

// explain turns what a client returned into the error that crosses borders.
func (c *apiClient) explain(op, subject string, err error) error {
	if err == nil {
		return nil
	}
	var known *fault.Error
	if errors.As(err, &known) {
		return known // without what the client has put around it
	}
	out := &fault.Error{Kind: fault.Unavailable, Op: op, Subject: subject}
	var no *refusal
	switch {
	case errors.As(err, &no):
		c.describe(out, no)
	case errors.Is(err, context.DeadlineExceeded):
		out.Kind, out.Why, out.Err = fault.Timeout, "it was not done in time", context.DeadlineExceeded
	case errors.Is(err, context.Canceled):
		out.Kind, out.Why, out.Err = fault.Other, "it was given up", context.Canceled
	default: // an answer that the client could not read
		out.Why, out.Hint = c.provider+"'s answer makes no sense", "is it a "+c.provider+" server that listens at "+
			c.home.Host+"? see "+c.provider+".api_url"
	}
	return out
}

// stranger explains why nobody could say who we are. Every forge can, so one that
// has nothing there is none: the address leads elsewhere.
func (c *apiClient) stranger(err error) error {
	err = c.explain("ask", c.provider+" who we are", err)
	var f *fault.Error
	if gone(err) && errors.As(err, &f) {
		f.Hint = "see whether " + strings.ToUpper(c.provider) + "_API_URL, or " + c.provider +
			".api_url in the settings, is the address of the forge: hako asked " + c.home.String()
	}
	return err
}

// errNonsense is an answer that lacks what every such answer has.
var errNonsense = errors.New("nonsense")

// told is a refusal in the words of its explanation.
type explainedError struct {
	text string
	*refusal
}

func (t *explainedError) Error() string { return t.text }
func (t *explainedError) Unwrap() error { return t.refusal }

func (c *apiClient) describe(out *fault.Error, no *refusal) {
	text := c.provider + ": " + no.Error()
	switch {
	case no.limited:
		text = fmt.Sprintf("%s wants to be left alone for %v: %s", c.provider, no.wait.Round(time.Second), no.Error())
		out.Hint = "try again later, or use a token with a higher limit"
	case no.status == 0 && no.final:
		out.Hint = "name the certificate of its authority: ca_certificates"
	case no.status == 0:
		text = c.provider + " at " + c.home.Host + ": " + no.text
		out.Hint = "see whether " + c.home.Host + " can be reached from here"
	default:
		text = c.answered(out, no, text)
	}
	out.Err = &explainedError{text, no}
}

// answered explains a status.
func (c *apiClient) answered(out *fault.Error, no *refusal, text string) string {
	switch status := no.status; {
	case status == http.StatusUnauthorized:
		out.Kind, out.Hint = fault.Denied, "set "+tokenName(c.provider)+" to a token that is valid"
		if c.app {
			out.Hint = "see whether the GitHub App is still installed there, and not suspended"
		}
		return c.provider + " refused the token (401)"
	case status == http.StatusForbidden:
		out.Kind, out.Hint = fault.Denied, "give the token the right to it: "+rights[c.provider]
		if c.app {
			out.Hint = "give the GitHub App the right to it: " + rights[GitHub] + "; whoever installed it must accept that"
		}
	case status == http.StatusNotFound || status == http.StatusGone:
		out.Kind, out.Hint = fault.NotFound, "see whether it was deleted or moved, and what the token may see"
		return fmt.Sprintf("%s has nothing there, or the token may not see it (%d)", c.provider, status)
	case status == http.StatusRequestEntityTooLarge:
		out.Kind = fault.TooLarge
	case status < 500:
		out.Kind = fault.Invalid
	case no.text == "":
		return fmt.Sprintf("%s is in trouble (%d)", c.provider, status)
	}
	return text
}

// rights are what a token needs.
var rights = map[string]string{
	GitHub: "contents, issues and pull requests, each read and write",
	GitLab: "the scope api, and the role developer in the project",
}

// gone reports whether something is not there, as opposed to not to be reached.
func gone(err error) bool { return fault.KindOf(err) == fault.NotFound }

// LoggedOut reports whether the forge refused the token itself, as opposed to
// something that the token may not do.
func LoggedOut(err error) bool { return statusOf(err) == http.StatusUnauthorized }

// statusOf is the forge's answer in a number; zero means there was none.
func statusOf(err error) int {
	var no *refusal
	if errors.As(err, &no) {
		return no.status
	}
	return 0
}

// mentions reports whether a refusal has a reason with these words.
func mentions(err error, words string) bool {
	var no *refusal
	return errors.As(err, &no) && strings.Contains(strings.ToLower(no.text), words)
}
