package wire

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"hako/llm"
)

// maxRetryAfter bounds the pause that a server may ask for.
const maxRetryAfter = 24 * time.Hour

// outOfCredit reports whether a refusal is about billing. Retrying does not help.
func outOfCredit(r *llm.Refusal) bool {
	switch r.Code {
	case "insufficient_quota", "credit_balance_exhausted", "billing_hard_limit_reached", "billing_not_active":
		return true
	}
	return r.Status == http.StatusPaymentRequired
}

// retryable reports whether the same request may succeed later. The header X-Should-Retry, true or false, decides for
// statuses that are not plainly our fault.
func retryable(r *llm.Refusal, status int, should string) bool {
	switch {
	case outOfCredit(r) || r.Code == llm.ContextOverflow:
		return false
	case status == http.StatusBadRequest, status == http.StatusUnauthorized, status == http.StatusForbidden,
		status == http.StatusNotFound:
		return false
	case should == "true" || should == "false":
		return should == "true"
	case status == http.StatusTooManyRequests || status >= 500:
		return true
	}
	return r.Status == 0 && busy(r.Code)
}

// busy reports whether a code inside a stream stands for 429 or 5xx.
func busy(code string) bool {
	switch code {
	case "rate_limit_exceeded", "server_error", "slow_down", "server_is_overloaded", "overloaded_error",
		"internal_server_error", "network_error", "insufficient_system_resource":
		return true
	}
	return false
}

// retryAfter returns after which pause the server wants to be asked again; zero means that it did not say.
func retryAfter(header http.Header, message string, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(header.Get("Retry-After-Ms"), 64); err == nil {
		return bounded(ms * float64(time.Millisecond))
	}
	after := header.Get("Retry-After")
	if seconds, err := strconv.ParseFloat(after, 64); err == nil {
		return bounded(seconds * float64(time.Second))
	}
	if date, err := http.ParseTime(after); err == nil {
		return bounded(float64(date.Sub(now)))
	}
	return retryAfterIn(message)
}

func bounded(ns float64) time.Duration {
	if !(ns > 0) { // not a number is not more than zero either
		return 0
	}
	return time.Duration(min(ns, float64(maxRetryAfter)))
}

// retryAfterIn reads a pause out of a sentence: "Please try again in 1.5s."
func retryAfterIn(message string) time.Duration {
	const words = "try again in "
	at := strings.Index(strings.ToLower(message), words)
	if at < 0 || at+len(words) > len(message) {
		return 0
	}
	fields := strings.Fields(message[at+len(words):])
	if len(fields) == 0 {
		return 0
	}
	amount := strings.TrimRight(fields[0], ".,;!")
	if d, err := time.ParseDuration(amount); err == nil {
		return bounded(float64(d))
	}
	n, err := strconv.ParseFloat(amount, 64)
	if err != nil || len(fields) < 2 {
		return 0
	}
	return bounded(n * float64(unit(fields[1])))
}

func unit(word string) time.Duration {
	switch {
	case strings.HasPrefix(word, "ms"), strings.HasPrefix(word, "milli"):
		return time.Millisecond
	case strings.HasPrefix(word, "min"):
		return time.Minute
	case strings.HasPrefix(word, "s"):
		return time.Second
	}
	return 0
}
