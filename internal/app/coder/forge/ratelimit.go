package forge

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// rateLimitReset returns how long no requests are left, from the headers that
// GitHub (X-RateLimit-…) and GitLab (RateLimit-…) send with every response.
func rateLimitReset(h http.Header) (time.Duration, bool) {
	for _, prefix := range []string{"X-Ratelimit-", "Ratelimit-"} {
		reset, err := strconv.ParseInt(h.Get(prefix+"Reset"), 10, 64)
		if h.Get(prefix+"Remaining") == "0" && err == nil {
			return max(0, time.Unix(reset, 0).Sub(serverTime(h))) + time.Second, true // the second is for rounding
		}
	}
	return 0, false
}

// serverTime returns the server's clock: ours may be wrong by more than a limit
// lasts.
func serverTime(h http.Header) time.Time {
	if at, err := http.ParseTime(h.Get("Date")); err == nil {
		return at
	}
	return time.Now()
}

// retryAfter reads a number of seconds or a date.
func retryAfter(h http.Header) time.Duration {
	text := strings.TrimSpace(h.Get("Retry-After"))
	if seconds, err := strconv.Atoi(text); err == nil && seconds > 0 {
		return time.Duration(min(seconds, 7*24*3600)) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, at.Sub(serverTime(h)))
	}
	return 0
}

// responseError makes an error of a response that is no success.
func (t *transport) responseError(res *http.Response, body []byte) error {
	e := &requestError{status: res.StatusCode, message: t.secrets.Text(errorMessage(body)),
		retryAfter: retryAfter(res.Header), clockAhead: time.Since(serverTime(res.Header))}
	wait, usedUp := rateLimitReset(res.Header)
	secondary := isSecondaryLimit(e.message)
	e.rateLimited = e.status == http.StatusTooManyRequests ||
		e.status == http.StatusForbidden && (usedUp || e.retryAfter > 0 || secondary)
	e.permanent = !e.rateLimited && e.status < 500 || e.status == http.StatusNotImplemented
	if !e.rateLimited {
		return e
	}
	e.retryAfter = max(e.retryAfter, wait)
	if e.retryAfter == 0 && secondary {
		e.retryAfter = time.Minute // what GitHub asks for when it names no time
	}
	if e.retryAfter > 0 {
		t.delayRequests(e.retryAfter)
	}
	return e
}

// isSecondaryLimit recognises GitHub's limits on the rate of requests, which have
// the status 403 and differ from a missing permission by their text only.
func isSecondaryLimit(message string) bool {
	message = strings.ToLower(message)
	return strings.Contains(message, "secondary rate limit") || strings.Contains(message, "abuse detection")
}

// errorMessage returns the message of an error response, which has several forms.
func errorMessage(body []byte) string {
	var m struct {
		Message          json.RawMessage
		Error            json.RawMessage
		ErrorDescription string `json:"error_description"`
		Errors           json.RawMessage
	}
	if json.Unmarshal(body[:min(len(body), maxMessage)], &m) != nil {
		return ""
	}
	var parts []string
	for _, raw := range []json.RawMessage{m.Message, m.Error, m.Errors} {
		parts = append(parts, flattenMessage(raw, 0)...)
	}
	return clean(strings.Join(append(parts, m.ErrorDescription), "; "))
}

// flattenMessage collects the texts of a message.
func flattenMessage(raw json.RawMessage, depth int) (texts []string) {
	var (
		text  string
		list  []json.RawMessage
		named map[string]json.RawMessage
	)
	switch {
	case len(raw) == 0 || depth > 3:
	case json.Unmarshal(raw, &text) == nil && text != "":
		texts = []string{text}
	case json.Unmarshal(raw, &list) == nil:
		for _, one := range list {
			texts = append(texts, flattenMessage(one, depth+1)...)
		}
	case json.Unmarshal(raw, &named) == nil && named["message"] != nil:
		texts = flattenMessage(named["message"], depth+1)
	case named != nil:
		texts = []string{clean(string(raw))}
	}
	return texts
}
