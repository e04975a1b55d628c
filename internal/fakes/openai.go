package fakes

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// startTime is the time of all answers: they do not depend on the clock.
var startTime = time.Date(2026, 5, 6, 3, 13, 2, 123456789, time.UTC)

// created is the time of a request, a second after the one before.
func (x *exchange) created() int64 { return startTime.Unix() + int64(x.number) }

// id generates an ID like those of OpenAI, the same every time.
func (x *exchange) id(prefix string, n int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d %d", prefix, x.number, n))
	return prefix + hex.EncodeToString(sum[:])[:24]
}

// callID is the id of a call of the step.
func (x *exchange) callID(i int) string { return cmp.Or(x.step.Calls[i].ID, x.id("call_", i)) }

// remember keeps the answer for the next request. Arguments returns those of a call as the
// client has to repeat them.
func (x *exchange) remember(arguments func(*Call) string) {
	var answer []entry
	if s := x.step.text() + x.step.Refusal; s != "" {
		answer = append(answer, entry{kind: said, text: s})
	}
	for i := range x.step.Calls {
		c := &x.step.Calls[i]
		answer = append(answer, entry{called, x.callID(i), c.Name, arguments(c)})
	}
	x.dialog.answer(len(x.all), answer)
}

// openaiHeaders are the headers of each response of OpenAI.
func (x *exchange) openaiHeaders() map[string]string {
	return map[string]string{
		"x-request-id":                   x.id("req_", 0),
		"openai-processing-ms":           "266",
		"openai-version":                 "2020-10-01",
		"openai-organization":            "user-0123456789",
		"openai-project":                 "proj_0123456789",
		"x-ratelimit-limit-requests":     "10000",
		"x-ratelimit-limit-tokens":       "200000",
		"x-ratelimit-remaining-requests": fmt.Sprint(10000 - x.number),
		"x-ratelimit-remaining-tokens":   fmt.Sprint(200000 - len(x.body)/4),
		"x-ratelimit-reset-requests":     "6ms",
		"x-ratelimit-reset-tokens":       "0s",
	}
}

// defaultErrors are OpenAI's code and type for a status.
var defaultErrors = map[int][2]string{
	http.StatusBadRequest:          {"", "invalid_request_error"},
	http.StatusUnauthorized:        {"invalid_api_key", "invalid_request_error"},
	http.StatusForbidden:           {"unsupported_country_region_territory", "request_forbidden"},
	http.StatusNotFound:            {"model_not_found", "invalid_request_error"},
	http.StatusMethodNotAllowed:    {"method_not_supported", "invalid_request_error"},
	http.StatusTooManyRequests:     {"rate_limit_exceeded", "requests"},
	http.StatusInternalServerError: {"server_error", "server_error"},
	http.StatusServiceUnavailable:  {"server_is_overloaded", "service_unavailable_error"},
}

// errorObject formats an error of OpenAI.
func (r *refusal) errorObject() json.RawMessage {
	usual := defaultErrors[r.status]
	return object("message", r.message, "type", orNull(cmp.Or(r.kind, usual[1])), "param", orNull(r.param), "code",
		orNull(cmp.Or(r.code, usual[0])))
}

func refuseOpenAI(x *exchange, r *refusal) *reply {
	header := x.openaiHeaders()
	if r.status == http.StatusTooManyRequests {
		header["x-ratelimit-remaining-requests"] = "0"
	}
	return &reply{status: r.status, header: header, body: object("error", r.errorObject())}
}

func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// checkKey checks the key of OpenAI.
func checkKey(x *exchange) *refusal {
	given := x.r.Header.Get("Authorization")
	switch {
	case x.sc.Key == "" || given == "Bearer "+x.sc.Key:
		return nil
	case given == "":
		return &refusal{status: http.StatusUnauthorized, code: "missing_api_key",
			message: "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth."}
	}
	return &refusal{status: http.StatusUnauthorized, message: "Incorrect API key provided: " +
		masked(strings.TrimPrefix(given, "Bearer ")) + "."}
}

// masked shows as much of a key as OpenAI does.
func masked(key string) string {
	if len(key) < 12 {
		return "***"
	}
	return key[:4] + strings.Repeat("*", len(key)-8) + key[len(key)-4:]
}

// checkBody parses the body of a request and checks its shape.
func (x *exchange) checkBody() *refusal {
	if mime := x.r.Header.Get("Content-Type"); !strings.HasPrefix(mime, "application/json") {
		return bad("the content type is %q, not application/json", mime)
	}
	var err error
	if x.fields, err = decode(x.body); err != nil {
		return bad("%v", err)
	}
	if why := shapes()[x.on]("", x.fields); why != "" {
		return bad("%s", why)
	}
	x.all = entries(x.on, x.fields)
	return nil
}

func bad(format string, args ...any) *refusal {
	return &refusal{status: http.StatusBadRequest, message: fmt.Sprintf(format, args...)}
}

// knows reports whether a model exists.
func (sc *Scenario) knows(model string) bool {
	return len(sc.Models) == 0 || slices.Contains(sc.Models, model)
}

// checkOpenAI checks what Responses and Chat have in common.
func (x *exchange) checkOpenAI() *refusal {
	if r := checkKey(x); r != nil {
		return r
	}
	if r := x.checkBody(); r != nil {
		return r
	}
	if why := checkRequest(x.on, x.fields); why != "" {
		return bad("%s", why)
	}
	if model := digText(x.fields, "model"); !x.sc.knows(model) {
		return &refusal{status: http.StatusNotFound,
			message: fmt.Sprintf("The model `%s` does not exist or you do not have access to it.", model)}
	}
	return nil
}

// snapshot is the dated name under which OpenAI's models answer.
func (x *exchange) snapshot() string { return digText(x.fields, "model") + "-2025-04-14" }

// usage returns the usage of the answer.
func (x *exchange) usage() Usage {
	if x.step.Usage != nil {
		return *x.step.Usage
	}
	words := len(x.step.text()) + len(x.step.Refusal) + len(x.step.Reasoning)
	for _, c := range x.step.Calls {
		words += len(c.Name) + len(c.arguments())
	}
	return Usage{Input: int64(len(x.body)/4 + 1), Output: int64(words/4 + 1), Reasoning: int64(len(x.step.Reasoning) / 4)}
}

// padding fills a delta up to the same length, against traffic analysis.
func padding(delta string) string {
	const filler = "QmFzZSBvZiBub3Ro"
	return filler[min(len(delta), len(filler)):]
}

// chunks splits arguments as they are streamed: a few characters at a time, at least
// two pieces.
func chunks(s string) []string {
	runes := []rune(s)
	size := max(1, min(4, len(runes)/2))
	var all []string
	for i := 0; i < len(runes); i += size {
		all = append(all, string(runes[i:min(i+size, len(runes))]))
	}
	return all
}

func answerModels(x *exchange) *reply {
	all := []json.RawMessage{}
	for _, name := range x.sc.Models {
		all = append(all, object("id", name, "object", "model", "created", startTime.Unix(), "owned_by", "system"))
	}
	return &reply{header: x.openaiHeaders(), body: object("object", "list", "data", array(all))}
}
