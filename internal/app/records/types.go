package records

import "time"

// An Entry is an event of the record.
type Entry struct {
	Seq    int64     `json:"seq"`
	Time   time.Time `json:"time"`
	ID     string    `json:"id,omitempty"`
	Actor  string    `json:"actor,omitempty"`
	What   string    `json:"what"`             // asked, allowed, denied, started, ended, opened, closed, approved, model…
	Text   string    `json:"text,omitempty"`   // the command, path or model it is about
	Effect string    `json:"effect,omitempty"` // allow, ask, deny
	Rule   string    `json:"rule,omitempty"`
	Reason string    `json:"reason,omitempty"`
	Exit   *int      `json:"exit,omitempty"`
	Error  string    `json:"error,omitempty"`
	Micros int64     `json:"duration_us,omitempty"`
	Bytes  int64     `json:"bytes,omitempty"`
	Tokens int64     `json:"tokens,omitempty"`
	Cost   float64   `json:"cost_usd,omitempty"`
}

// A Query selects events. Empty fields match everything.
type Query struct {
	Text    string    `json:"text,omitempty"`
	Actor   string    `json:"actor,omitempty"`
	What    string    `json:"what,omitempty"`
	Command string    `json:"command,omitempty"`
	Since   time.Time `json:"since,omitzero"`
	Until   time.Time `json:"until,omitzero"`
	Before  int64     `json:"before,omitempty"` // only smaller sequence numbers
	Most    int       `json:"most,omitempty"`   // zero means 100
}

// Stats are statistics of the record.
type Stats struct {
	Requests int64     `json:"requests"`
	Failed   int64     `json:"failed"`
	Denied   int64     `json:"denied"`
	P50      int64     `json:"p50_us"`
	P95      int64     `json:"p95_us"`
	Commands []Counted `json:"commands"`
	Denials  []Counted `json:"denials"`
	Actors   []Counted `json:"actors"`
	Days     []Counted `json:"days"` // oldest first
}

// A Counted is a name with its number of occurrences and failures.
type Counted struct {
	Name   string `json:"name"`
	Count  int64  `json:"count"`
	Failed int64  `json:"failed,omitempty"`
}

// A Chain is the result of a verification of the hash chain.
type Chain struct {
	Whole  bool   `json:"whole"`
	Events int64  `json:"events"`
	Why    string `json:"why,omitempty"` // why it is not whole
}

// A Day is the usage of one day.
type Day struct {
	Day    string       `json:"day"` // 2006-01-02
	Models []ModelUsage `json:"models"`
}

// ModelUsage is the usage of one model.
type ModelUsage struct {
	Model  string  `json:"model"`
	Calls  int64   `json:"calls"`
	Input  int64   `json:"input_tokens"`
	Cached int64   `json:"cached_tokens"`
	Output int64   `json:"output_tokens"`
	Tokens int64   `json:"weighted_tokens"`
	Cost   float64 `json:"cost_usd"`
}

// Left is the remaining budget; negative means no limit.
type Left struct {
	Tokens int64 `json:"tokens"`
	Total  int64 `json:"total"`
}

// A Rule is a rule of the policy.
type Rule struct {
	Effect string `json:"effect"`
	Words  string `json:"words"`
	Reason string `json:"reason,omitempty"`
	Where  string `json:"where"`
}

// A Verdict is a verdict of the policy about a command.
type Verdict struct {
	Command string `json:"command"`
	Effect  string `json:"effect"`
	Why     string `json:"why,omitempty"`
	Rule    string `json:"rule,omitempty"`
	Hint    string `json:"hint,omitempty"`
}
