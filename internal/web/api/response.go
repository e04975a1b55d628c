package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"hako/run/fault"
)

// An ErrorBody is the body of every error response.
type ErrorBody struct {
	Error ErrorText `json:"error"`
}

// An ErrorText describes an error.
type ErrorText struct {
	Kind    string `json:"kind"`
	Op      string `json:"op"`
	Subject string `json:"subject,omitempty"`
	Why     string `json:"why"`
	Hint    string `json:"hint,omitempty"`
}

// A refusal is an error with its own HTTP status.
type refusal struct {
	fault  *fault.Error
	status int
	wait   time.Duration // until a retry is possible; zero means unknown
}

func (r *refusal) Error() string { return r.fault.Error() }
func (r *refusal) Unwrap() error { return r.fault }

func refuse(status int, e *fault.Error) error { return &refusal{fault: e, status: status} }

var statuses = map[fault.Kind]int{
	fault.Other: http.StatusInternalServerError, fault.Invalid: http.StatusBadRequest, fault.Denied: http.StatusForbidden,
	fault.Exhausted: http.StatusTooManyRequests, fault.Timeout: http.StatusGatewayTimeout,
	fault.NotFound: http.StatusNotFound,
	fault.TooLarge: http.StatusRequestEntityTooLarge, fault.Unavailable: http.StatusServiceUnavailable,
}

func statusOf(err error) int {
	if r, ok := errors.AsType[*refusal](err); ok {
		return r.status
	}
	if _, ours := errors.AsType[*fault.Error](err); !ours && errors.Is(err, context.DeadlineExceeded) {
		return http.StatusGatewayTimeout
	}
	return statuses[fault.KindOf(err)]
}

// bodyOf describes an error. Errors that are not a *fault.Error were not written for clients and are only logged.
func bodyOf(err error) ErrorBody {
	e, ours := errors.AsType[*fault.Error](err)
	if !ours {
		return ErrorBody{ErrorText{Kind: fault.Other.String(), Op: "answer", Why: "something went wrong inside",
			Hint: "the log of the server says what"}}
	}
	why := e.Why
	if why == "" && e.Err != nil {
		why = e.Err.Error()
	}
	return ErrorBody{ErrorText{Kind: fault.KindOf(err).String(), Op: e.Op, Subject: e.Subject, Why: why,
		Hint: fault.Hint(err)}}
}

func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	status := statusOf(err)
	if status >= http.StatusInternalServerError && r.Context().Err() == nil {
		s.log().Error("request failed", "method", r.Method, "path", r.URL.Path, "error", err)
	}
	if refused, ok := errors.AsType[*refusal](err); ok && refused.wait > 0 {
		w.Header().Set("Retry-After", seconds(refused.wait))
	}
	if status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	send(w, status, bodyOf(err))
}

// seconds rounds up, so that a client does not retry too early.
func seconds(d time.Duration) string {
	return strconv.FormatInt(int64((d+time.Second-1)/time.Second), 10)
}

// send sends a response as JSON.
func send(w http.ResponseWriter, status int, body any) {
	if status == http.StatusNoContent {
		w.WriteHeader(status)
		return
	}
	b, err := encode(body)
	if err != nil {
		status = http.StatusInternalServerError
		b, _ = encode(bodyOf(err))
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(b)))
	w.WriteHeader(status)
	w.Write(b) // the client may be gone
}

// encode encodes a value in one line without escaping < and >, which commands are full of: no response is interpreted
// as HTML.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return b.Bytes(), err
}
