package llm

import (
	"time"

	"hako/run/fault"
)

// A Refusal is what a provider said instead of a turn. It is the cause of a [*fault.Error]; [Refuse] makes both.
type Refusal struct {
	Status  int           // of HTTP; zero when the response was truncated or came inside a stream
	Code    string        // the provider's word for it: rate_limit_exceeded
	Message string        // the provider's sentence
	Retry   bool          // the same request may succeed later
	After   time.Duration // not before this has passed; zero means not said
}

// Error implements error: `rate_limit_exceeded: try again in 2s`. The status is told by whoever words the refusal.
func (r *Refusal) Error() string {
	switch {
	case r.Message == "":
		return r.Code
	case r.Code == "":
		return r.Message
	}
	return r.Code + ": " + r.Message
}

// Refuse words a refusal for the user. The kind is Unavailable: whatever the provider's reason, there is no answer to
// be had from it now.
func Refuse(model, why, hint string, r *Refusal) error {
	return &fault.Error{Kind: fault.Unavailable, Op: "ask model", Subject: model, Why: why, Hint: hint, Err: r}
}

// ContextOverflow is the code of a refusal of a dialog that is too long, for all providers.
const ContextOverflow = "context_length_exceeded"
