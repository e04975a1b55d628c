package wire

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"hako/llm"
)

func TestPause(t *testing.T) {
	now := time.Date(2026, 5, 1, 10, 0, 0, 0, time.UTC)
	tests := []struct {
		after, ms, message string
		want               time.Duration
	}{
		{"", "", "", 0},
		{"30", "", "", 30 * time.Second},
		{"0.5", "", "", 500 * time.Millisecond},
		{"30", "20", "try again in 5s", 20 * time.Millisecond},
		{"Fri, 01 May 2026 10:00:07 GMT", "", "", 7 * time.Second},
		{"Fri, 01 May 2026 09:00:00 GMT", "", "", 0},
		{"-5", "", "", 0},
		{"NaN", "", "", 0},
		{"1e300", "", "", maxRetryAfter},
		{"soon", "", "Please try again in 1.5s. Visit us.", 1500 * time.Millisecond},
		{"", "x", "Please Try Again In 20ms", 20 * time.Millisecond},
		{"", "", "try again in 6m0s.", 6 * time.Minute},
		{"", "", "try again in 3 seconds", 3 * time.Second},
		{"", "", "try again in 250 ms.", 250 * time.Millisecond},
		{"", "", "try again in 2 minutes", 2 * time.Minute},
		{"", "", "try again in 2 weeks", 0},
		{"", "", "try again in ", 0},
		{"", "", "try again in a while", 0},
		{"", "", "try again in 5", 0},
		{"", "", "İİİİİİİİİİİİİİ try again in ", 0},
	}
	for _, tt := range tests {
		header := http.Header{}
		header.Set("Retry-After", tt.after)
		header.Set("Retry-After-Ms", tt.ms)
		if got := retryAfter(header, tt.message, now); got != tt.want {
			t.Errorf("%+v: %v", tt, got)
		}
	}
}

func TestRefusals(t *testing.T) {
	tests := []struct {
		status        int
		kind, body    string
		should        string
		code, message string
		retry         bool
	}{
		{400, "application/json", `{"error":{"message":"m","code":"c","type":"t"}}`, "true", "c", "m", false},
		{400, "application/json", `{"error":{"message":"m","type":"t"}}`, "", "t", "m", false},
		{400, "application/json", `{"error":{"message":"m","code":400}}`, "", "bad_request", "m", false},
		{404, "application/json", `{"error":"s"}`, "true", "not_found", "s", false},
		{401, "application/json", `{"detail":"Not authenticated"}`, "true", "unauthorized", "Not authenticated", false},
		{422, "application/json", `{"detail":[{"msg":"x"}]}`, "", "unprocessable_entity", `[{"msg":"x"}]`, false},
		{403, "application/json", `{"message":"m","code":"c"}`, "true", "c", "m", false},
		{409, "application/json", `{"error":{"message":"m"}}`, "true", "conflict", "m", true},
		{408, "", "", "", "request_timeout", "", false},
		{408, "", "", "true", "request_timeout", "", true},
		{429, "", "slow\ndown", "", "too_many_requests", "slow\ndown", true},
		{402, "application/json", `{"error":{"message":"m","code":402}}`, "true", "payment_required", "m", false},
		{500, "application/json", `{"error":{"message":"m"}}`, "false", "internal_server_error", "m", false},
		{500, "application/json", `{"error":[1]}`, "", "internal_server_error", "[1]", true},
		{502, "text/html", "<p>gone", "", "bad_gateway", "", true},
		{502, "text/plain", "\n <!doctype html>", "", "bad_gateway", "", true},
		{503, "", "", "", "service_unavailable", "", true},
		{529, "application/json", `{"error":{"type":"overloaded_error","message":"Overloaded"}}`, "", "overloaded_error",
			"Overloaded", true},
		{599, "", "", "", "status_599", "", true},
		{413, "application/json", `{"error":{"message":"prompt is too long: 9 > 8"}}`, "", llm.ContextOverflow,
			"prompt is too long: 9 > 8", false},
		{500, "application/json", `{"error":"the input length exceeds the context length"}`, "", llm.ContextOverflow,
			"the input length exceeds the context length", false},
		{429, "application/json", `{"error":{"message":"see the context window docs","code":"rate_limit_exceeded"}}`, "",
			"rate_limit_exceeded", "see the context window docs", true},
	}
	for _, tt := range tests {
		header := http.Header{}
		header.Set("Content-Type", tt.kind)
		header.Set("X-Should-Retry", tt.should)
		r := refusal(tt.status, header, []byte(tt.body), time.Now())
		if r.Code != tt.code || r.Message != tt.message || r.Retry != tt.retry || r.Status != tt.status {
			t.Errorf("%d %s: %+v", tt.status, tt.body, r)
		}
	}
}

func TestClean(t *testing.T) {
	p := &Service{Key: "secret-of-mine"}
	for text, want := range map[string]string{
		"Bearer secret-of-mine!":                     "Bearer [key]!",
		"key 'sk-proj-abc' is bad":                   "key [key] is bad",
		"ends in ab****cd.":                          "ends in [key]",
		"a\x1b[31mb\x00c\u202ed\r\ne":                "abcd e",
		"日本語":                                        "日本語",
		strings.Repeat("x", 500):                     strings.Repeat("x", maxMessage-1) + "…",
		strings.Repeat("x", 390) + " secret-of-mine": strings.Repeat("x", 390) + " [key]",
		"risk-free":                                  "risk-free",
	} {
		if got := p.clean(text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
	if got := (&Service{Key: "x"}).clean("exact text"); got != "exact text" {
		t.Errorf("%q", got)
	}
}

func TestExplain(t *testing.T) {
	p := &Service{Op: "ask model", Subject: "m", Who: "them"}
	err := p.Refuse(&llm.Refusal{Status: 401, Code: "unauthorized"})
	if got := err.Error(); got != "ask model m: them requires a key (401): unauthorized" {
		t.Error(got)
	}
	p.Explain = func(r *llm.Refusal) (string, string) { return "own words", "own hint" }
	if got := p.Refuse(&llm.Refusal{Code: "c"}).Error(); got != "ask model m: own words: c" {
		t.Error(got)
	}
}
