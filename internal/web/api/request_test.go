package api

import (
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"
)

// Whatever a form names to go on with, a browser stays here.
func FuzzBack(f *testing.F) {
	for _, s := range []string{"", "/", "/a?b=c#d", "//evil", "////evil", "/\\evil", "http://evil/x", "javascript:x",
		"/%2f/evil", "?x", "/a/../..//evil", "\t//evil", "/\t/evil"} {
		f.Add(s)
	}
	here, _ := url.Parse("http://here/login")
	f.Fuzz(func(t *testing.T, s string) {
		got := redirectTarget(url.Values{"next": {s}}, "next")
		available, err := here.Parse(got)
		if err != nil || available.Host != "here" || available.Scheme != "http" || !strings.HasPrefix(got, "/") ||
			strings.HasPrefix(got, "//") || strings.Contains(got, "\\") {
			t.Errorf("%q leads to %q", s, got)
		}
	})
}

// No body makes us panic, and none is taken that has other fields than ours.
func FuzzRead(f *testing.F) {
	for _, s := range []string{"", "{}", `{"answer":"once"}`, `{"answer":"once","answer":"deny"}`, `{"Answer":"once"}`,
		`{"answer":{"a":[1]}}`, `[`, `{"a"`, "null", "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, _ := http.NewRequest("POST", "/", strings.NewReader(s))
		r.Header.Set("Content-Type", jsonType)
		var in Decision
		err := (&call{Request: r}).read(&in)
		if err == nil && in.Answer != "" && !strings.Contains(s, `"answer"`) && !strings.Contains(s, `\u`) {
			t.Errorf("%q gives %+v", s, in)
		}
	})
}

func TestFormValues(t *testing.T) {
	type form struct {
		Text string `json:"text"`
		On   bool   `json:"on"`
		N    *int64 `json:"n"`
	}
	got, err := jsonOf(url.Values{"text": {"7"}, "on": {"on"}, "n": {"-3"}, "csrf": {"x"}, "back": {"/"}},
		reflect.TypeFor[form]())
	if err != nil || string(got) != `{"n":-3,"on":true,"text":"7"}`+"\n" {
		t.Errorf("%s, %v", got, err)
	}
	if _, err := jsonOf(url.Values{"n": {"x"}}, reflect.TypeFor[form]()); err == nil {
		t.Error("a word is a number")
	}
}
