package wire

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"hako/internal/text"
	"hako/llm"
)

const (
	maxErrorBody = 64 << 10 // bytes
	maxMessage   = 400      // characters
)

// A serverError is an error as a server spells it.
type serverError struct {
	code, message string
	status        int // repeated inside; zero means not
}

// refusal reads a response that is an error.
func refusal(status int, header http.Header, body []byte, now time.Time) *llm.Refusal {
	c, _ := find(body)
	r := &llm.Refusal{Status: status, Code: c.code, Message: c.message}
	if r.Code == "" {
		r.Code = codeOf(status)
	}
	if r.Message == "" && !json.Valid(body) && !isPage(header.Get("Content-Type"), body) {
		r.Message = string(body)
	}
	r.Code = overflow(r)
	r.Retry = retryable(r, status, header.Get("X-Should-Retry"))
	r.After = retryAfter(header, r.Message, now)
	return r
}

// RefusalIn makes a refusal of an error that came in the middle of a stream: the whole JSON value, with the error in
// it.
func RefusalIn(data []byte) *llm.Refusal {
	c, _ := find(data)
	r := &llm.Refusal{Code: c.code, Message: c.message}
	switch {
	case r.Code == "" && c.status != 0:
		r.Code = codeOf(c.status)
	case r.Code == "" && r.Message == "":
		r.Code = "unknown_error"
	}
	r.Code = overflow(r)
	r.Retry = retryable(r, c.status, "")
	r.After = retryAfter(nil, r.Message, time.Time{})
	return r
}

// find looks for the error in a JSON value, in any of the forms that servers use. ok is false if there is no member
// error.
func find(data []byte) (c serverError, ok bool) {
	data = bytes.TrimSpace(data)
	var list []json.RawMessage
	if len(data) > 0 && data[0] == '[' && json.Unmarshal(data, &list) == nil && len(list) > 0 {
		data = list[0]
	}
	var body struct {
		Error                 json.RawMessage
		Message, Code, Detail LenientString
	}
	if json.Unmarshal(data, &body) != nil {
		return c, false
	}
	if len(body.Error) > 0 && string(body.Error) != "null" {
		return inner(body.Error), true
	}
	c.message = string(body.Message + body.Detail)
	c.setCode(string(body.Code))
	return c, false
}

// inner reads the value of "error": an object, or a string, which may hold the error of a server behind this one.
func inner(raw json.RawMessage) (c serverError) {
	if raw[0] == '"' {
		json.Unmarshal(raw, &c.message)
		if behind, ok := find([]byte(c.message)); ok {
			return behind
		}
		return c
	}
	var e struct{ Message, Type, Code LenientString }
	if json.Unmarshal(raw, &e) != nil {
		return serverError{message: string(raw)}
	}
	c.message = string(e.Message)
	c.setCode(string(e.Code))
	if c.code == "" {
		c.code = string(e.Type)
	}
	return c
}

// setCode takes a code. A number is the status once more.
func (c *serverError) setCode(code string) {
	if n, err := strconv.Atoi(code); err == nil {
		c.status = n
		return
	}
	c.code = code
}

// codeOf makes a word of a status: bad_gateway.
func codeOf(status int) string {
	text := cmp.Or(strings.ToLower(http.StatusText(status)), "status "+strconv.Itoa(status))
	return strings.ReplaceAll(text, " ", "_")
}

// isPage tells pages for browsers, of which nothing is worth repeating.
func isPage(contentType string, body []byte) bool {
	return strings.Contains(contentType, "html") || bytes.HasPrefix(bytes.TrimSpace(body), []byte{'<'})
}

// overflows are the texts by which servers report that a dialog is too long.
var overflows = []string{"context_length_exceeded", "exceed_context_size", "maximum context length",
	"exceeds the available context size",
	"exceeds the context length", "longer than the context length", "context window", "prompt is too long"}

// overflow returns the code of a refusal, the same one for all dialogs that are too long.
func overflow(r *llm.Refusal) string {
	if r.Status == 0 || r.Status == http.StatusBadRequest || r.Status == http.StatusRequestEntityTooLarge ||
		r.Status >= 500 {
		text := strings.ToLower(r.Code + " " + r.Message)
		for _, words := range overflows {
			if strings.Contains(text, words) {
				return llm.ContextOverflow
			}
		}
	}
	return r.Code
}

// Refuse makes an error of a refusal. The text of the provider is cleaned.
func (p *Service) Refuse(r *llm.Refusal) error {
	r.Message = p.clean(r.Message)
	r.Code = p.clean(r.Code)
	if p.Explain != nil {
		if why, hint := p.Explain(r); why != "" {
			return p.refuse(r, why, hint)
		}
	}
	why, hint := p.explain(r)
	return p.refuse(r, why, hint)
}

// explain gives reason and hint where they are the same for all providers.
func (p *Service) explain(r *llm.Refusal) (why, hint string) {
	status := ""
	if r.Status != 0 {
		status = fmt.Sprintf(" (%d)", r.Status)
	}
	switch {
	case r.Code == llm.ContextOverflow:
		return "the dialog is too long for the model",
			"begin a new one, give it less to read, or take a model that holds more"
	case outOfCredit(r):
		return p.Who + " says that the account is out of credit" + status,
			"check plan and billing of the account that the key" + p.keyOrigin() + " belongs to"
	case r.Status == http.StatusUnauthorized && p.Key == "":
		return p.Who + " requires a key" + status, "set the key for it"
	case r.Status == http.StatusUnauthorized:
		return p.Who + " refused the key" + p.keyOrigin() + status, "check that it is whole, still valid, and meant for " + p.Who
	case r.Status == http.StatusForbidden:
		return p.Who + " denied the request" + status, "check what the key" + p.keyOrigin() + " may do"
	case r.Status == http.StatusTooManyRequests || strings.HasPrefix(r.Code, "rate_limit"):
		return p.Who + " rate-limited the request" + status, "wait a little, or ask for less"
	case r.Retry:
		return p.Who + " failed" + status, "try again later"
	case r.Status == http.StatusNotFound:
		return p.Who + " has no such endpoint" + status, "check the base URL"
	case r.Status == 0:
		return p.Who + " answered with an error", "ask again"
	}
	return p.Who + " did not accept the request" + status, ""
}

// clean makes the text of a server fit for an error: on one line, not too long, and without the key, whole or in part.
func (p *Service) clean(s string) string {
	if len(p.Key) >= 4 {
		s = strings.ReplaceAll(s, p.Key, "[key]")
	}
	words := strings.Fields(text.Visible(s))
	for i, word := range words {
		words[i] = hideKey(word)
	}
	return text.Shorten(strings.Join(words, " "), maxMessage)
}

// hideKey replaces a word that looks like a key. Servers echo the first and last letters of the one they received.
func hideKey(word string) string {
	bare := strings.TrimLeft(word, `"'([{`+"`")
	if strings.HasPrefix(bare, "sk-") || strings.Contains(bare, "***") {
		return "[key]"
	}
	return word
}
