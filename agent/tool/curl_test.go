package tool

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"hako/internal/websearch"
	"hako/run/fault"
)

func newSite(t *testing.T) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/missing":
			http.NotFound(w, r)
		case "/away":
			http.Redirect(w, r, "http://example.com/", http.StatusFound)
		case "/big":
			w.Write(make([]byte, 10_000))
		default:
			fmt.Fprintf(w, "%s %s 日本語\n", r.Method, r.URL.RequestURI())
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func TestCurl(t *testing.T) {
	s := newSite(t)
	e, _ := newExecutor(t, nil, &websearch.Fetcher{Prefixes: []string{s.URL}, MaxBytes: 9000})
	tests := []struct{ command, want string }{
		{"curl URL/a", "GET /a 日本語\n"},
		{"curl -sSfL --compressed URL/a", "GET /a 日本語\n"},
		{"curl -s 'URL/a?b=1&c=2' | tr a-z A-Z", "GET /A?B=1&C=2 日本語\n"},
		{"curl URL/a URL/b | wc -l", "2\n"},
	}
	for _, tt := range tests {
		out := e.Call(t.Context(), Input{Command: strings.ReplaceAll(tt.command, "URL", s.URL)})
		if !out.OK || out.StdoutText != tt.want {
			t.Errorf("%s: %+v %v", tt.command, out, out.Error)
		}
	}
}

func TestCurlFails(t *testing.T) {
	s := newSite(t)
	e, _ := newExecutor(t, nil, &websearch.Fetcher{Prefixes: []string{s.URL}, MaxBytes: 9000})
	for command, want := range map[string]string{
		"curl URL/missing": "404 Not Found",
		"curl URL/big":     "9000 bytes",
		"curl":             "usage: curl",
	} {
		out := e.Call(t.Context(), Input{Command: strings.ReplaceAll(command, "URL", s.URL)})
		if out.OK || out.Error != nil || out.ExitCode == 0 || !strings.Contains(out.StderrText, want) {
			t.Errorf("%s: %+v %v", command, out, out.Error)
		}
	}
	for command, want := range map[string]string{
		"curl URL/away":                     "redirects to http://example.com/",
		"curl http://example.com/":          "no allowed URL prefix",
		"curl -d x URL/a":                   "the option -d of curl",
		"curl -X POST URL/a":                "the option -X of curl",
		"curl --upload-file x URL/a":        "the option --upload-file of curl",
		"curl -so out URL/a":                "the option -o of curl",
		"curl -H 'Cookie: a=b' URL/a":       "the option -H of curl",
		"curl file:///etc/passwd":           "only http and https",
		"curl URL/../etc":                   "dot segments",
		"curl URL/a http://169.254.169.254": "no allowed URL prefix",
	} {
		out := e.Call(t.Context(), Input{Command: strings.ReplaceAll(command, "URL", s.URL)})
		if out.OK || out.Error == nil || !strings.Contains(out.Error.Error(), want) || out.Error.Hint == "" {
			t.Errorf("%s: %+v %v", command, out, out.Error)
		}
	}
}

// TestCurlAlone makes sure that the command holds without the check before it.
func TestCurlAlone(t *testing.T) {
	s := newSite(t)
	e, ran := newExecutor(t, nil, &websearch.Fetcher{Prefixes: []string{s.URL}})
	for _, script := range []string{"curl -o x " + s.URL, "curl http://example.com/", "curl file:///etc/passwd"} {
		out, _, err := e.run(t.Context(), program{script: script}, 0, MaxPage)
		if err == nil && out.OK {
			t.Errorf("%s: %+v", script, out)
		}
		if k := fault.KindOf(err); err != nil && k != fault.Denied {
			t.Errorf("%s: %v", script, err)
		}
	}
	if len(ran.scripts) != 3 {
		t.Errorf("ran %q", ran.scripts)
	}
}
