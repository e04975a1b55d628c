package config

import (
	"fmt"
	"net/url"
	"time"
)

var executeKeys = []key{ExecuteSize, ExecutePrefixes}

// ExecuteSize is how much of its output execute returns at once.
var ExecuteSize = Key[int]{
	Name: "execute.size", Parse: between(1, 4096), Default: constant(4096), Local: harmless,
	Help: "bytes of output returned at once, from 1 to 4096",
}

// ExecutePrefixes are the addresses that execute may fetch.
var ExecutePrefixes = Key[[]string]{
	Name: "execute.url_prefixes", Parse: prefixes, Many: true, Decides: mayFetch,
	Help: "a list of addresses that may be fetched, as https://example.com/docs/",
}

func prefixes(s setting) ([]string, error) {
	for _, word := range s.words {
		u, err := url.Parse(word)
		if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil {
			return nil, fmt.Errorf("%q is not an address such as https://example.com/docs/", word)
		}
	}
	return s.words, nil
}

var approvalKeys = []key{ApprovalTimeout, ApprovalElicitation}

// ApprovalElicitation lets clients answer questions about their own commands.
var ApprovalElicitation = Key[bool]{
	Name: "approval.client_elicitation", Env: "HAKO_APPROVAL_CLIENT_ELICITATION", Parse: truth, Decides: "who approves",
	Help: "true or false: whether MCP clients with a token of hako serve are asked about their own commands (elicitation), instead of an operator at the page",
}

// ApprovalTimeout is how long a question waits; silence is a no.
var ApprovalTimeout = Key[time.Duration]{
	Name: "approval.timeout", Parse: duration, Default: constant(300 * time.Second), Local: harmless,
	Help: "how long a question waits for an answer, as 300s or 5m",
}
