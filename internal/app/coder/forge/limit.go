package forge

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// usedUp tells how long a forge has nothing left for us, from the headers that
// GitHub (X-RateLimit-…) and GitLab (RateLimit-…) send with every answer.
func usedUp(h http.Header) (time.Duration, bool) {
	for _, prefix := range []string{"X-Ratelimit-", "Ratelimit-"} {
		if h.Get(prefix+"Remaining") != "0" {
			continue
		}
		reset, err := strconv.ParseInt(h.Get(prefix+"Reset"), 10, 64)
		if err != nil {
			continue
		}
		return max(0, time.Unix(reset, 0).Sub(clockOf(h))) + time.Second, true // the second is for rounding
	}
	return 0, false
}

// clockOf is the forge's own time: ours may be wrong by more than a limit lasts.
func clockOf(h http.Header) time.Time {
	if at, err := http.ParseTime(h.Get("Date")); err == nil {
		return at
	}
	return time.Now()
}

// retryAfter reads seconds or a date.
func retryAfter(h http.Header) time.Duration {
	text := strings.TrimSpace(h.Get("Retry-After"))
	if seconds, err := strconv.Atoi(text); err == nil && seconds > 0 {
		return time.Duration(min(seconds, 7*24*3600)) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, at.Sub(clockOf(h)))
	}
	return 0
}

// refused explains an answer that is no success.
func (c *apiClient) refused(res *http.Response, body []byte) error {
	no := &refusal{status: res.StatusCode, text: c.secrets.Text(said(body)), wait: retryAfter(res.Header),
		ahead: time.Since(clockOf(res.Header))}
	wait, empty := usedUp(res.Header)
	switch res.StatusCode {
	case http.StatusTooManyRequests:
		no.limited = true
	case http.StatusForbidden:
		no.limited = empty || no.wait > 0 || secondary(no.text)
	}
	if no.limited && empty {
		no.wait = max(no.wait, wait)
	}
	if no.limited && no.wait == 0 && secondary(no.text) {
		no.wait = time.Minute // what GitHub asks for when it names no time
	}
	if no.limited && no.wait > 0 {
		c.leaveAlone(no.wait)
	}
	no.final = !no.limited && res.StatusCode < 500 || res.StatusCode == http.StatusNotImplemented
	return no
}

// secondary recognises GitHub's limits of how fast one may ask, which come as
// 403 and are told from a missing right by their text alone.
func secondary(text string) bool {
	text = strings.ToLower(text)
	return strings.Contains(text, "secondary rate limit") || strings.Contains(text, "abuse detection")
}

// said is what a forge gave as its reason: both have several forms of it.
func said(body []byte) string {
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
		parts = append(parts, flat(raw, 0)...)
	}
	return clean(strings.Join(append(parts, m.ErrorDescription), "; "))
}

// flat collects the words of a reason.
func flat(raw json.RawMessage, depth int) []string {
	var (
		text  string
		list  []json.RawMessage
		named map[string]json.RawMessage
		out   []string
	)
	switch {
	case len(raw) == 0 || depth > 3:
	case json.Unmarshal(raw, &text) == nil && text != "":
		out = []string{text}
	case json.Unmarshal(raw, &list) == nil:
		for _, one := range list {
			out = append(out, flat(one, depth+1)...)
		}
	case json.Unmarshal(raw, &named) == nil && named["message"] != nil:
		out = flat(named["message"], depth+1)
	case named != nil:
		out = []string{clean(string(raw))}
	}
	return out
}
