package llm

import (
	"time"

	"hako/run/fault"
)

// A Refusal is an error that a provider sent. It is the cause of a [*fault.Error]; [Refuse] makes both.
type Refusal struct {
	Status  int           // of HTTP; zero if the response was truncated or the error came inside of a stream
	Code    string        // the provider's error code: rate_limit_exceeded
	Message string        // the provider's message
	Retry   bool          // the same request may succeed later
	After   time.Duration // the pause before a retry; zero means none given
}

// Error implements error: `rate_limit_exceeded: try again in 2s`.
func (r *Refusal) Error() string {
	switch {
	case r.Message == "":
		return r.Code
	case r.Code == "":
		return r.Message
	}
	return r.Code + ": " + r.Message
}

// Refuse makes an error of a refusal. Its kind is Unavailable.
func Refuse(model, why, hint string, r *Refusal) error {
	return &fault.Error{Kind: fault.Unavailable, Op: "ask model", Subject: model, Why: why, Hint: hint, Err: r}
}

// ContextOverflow is the code of refusals of a dialog that is too long, for all providers.
const ContextOverflow = "context_length_exceeded"
