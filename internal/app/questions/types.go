package questions

import (
	"time"

	"hako/gate"
)

// A Question is an open question of a gate.
type Question struct {
	ID string `json:"id"` // of the question; that in gate.Question is of the request and not shown
	gate.Question
	Session string    `json:"session,omitempty"` // the conversation it belongs to; may be empty
	Asked   time.Time `json:"asked"`
	Ends    time.Time `json:"ends"` // when silence means no
}
