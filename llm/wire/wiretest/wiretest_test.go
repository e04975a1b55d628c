package wiretest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"hako/llm"
)

func TestServe(t *testing.T) {
	for answer, want := range map[string]string{
		"201 text/plain\nX-A: b\n\nline\n\nmore\n": "201 text/plain b line\n\nmore\n EOF",
		"200 text/plain\n\nline\n(cut)\n":          "200 text/plain  line EOF",
		"200 text/plain\n\nline\n(abort)\n":        "200 text/plain  line unexpected EOF",
	} {
		for _, piece := range []int{1, 1 << 20} {
			server := httptest.NewServer(
				http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { serve(w, answer, piece) }))
			resp, err := http.Get(server.URL)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(resp.Body)
			if err == nil {
				err = io.EOF
			}
			got := resp.Status[:3] + " " + resp.Header.Get("Content-Type") + " " + resp.Header.Get("X-A") + " " + string(body) +
				" " + err.Error()
			if got != want {
				t.Errorf("%q: %q", answer, got)
			}
			resp.Body.Close()
			server.Close()
		}
	}
}

func TestCollect(t *testing.T) {
	a := txtar.Parse([]byte("-- m+a/answer --\n200\n-- m+a/want --\nx\\\ny\n-- n/request --\n{}\n"))
	cases := collect(a)
	if len(cases) != 2 || cases[0].want != "xy\n" || cases[1].name != "n" || cases[1].request != "{}\n" ||
		cases[1].dialog == "" {
		t.Errorf("%+v", cases)
	}
}

func TestDescribe(t *testing.T) {
	turn := &llm.Turn{Text: "ab", Calls: []llm.Call{{ID: "i", Name: "n", Arguments: "{}"}}, Model: "m", Source: "s",
		Raw: []byte("[]1")}
	if got := describe(turn, nil,
		[]string{"a"}); got != "text: ab\nstreamed: [\"a\"]\ncall: i n {}\nusage: 0 input, 0 cached, 0 output\nmodel: m\ns: []1\n" {
		t.Error(got)
	}
	err := llm.Refuse("m", "why", "hint", &llm.Refusal{Code: "c", Retry: true, After: time.Second})
	if got := describe(nil, err,
		nil); got != "error: ask model m: why: c\nkind: unavailable\nhint: hint\nretry: after 1s\n" {
		t.Error(got)
	}
}
