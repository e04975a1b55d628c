package websearch

import (
	"strings"
	"testing"

	"hako/run/fault"
)

func TestChoose(t *testing.T) {
	g := Options{GoogleKey: "k", GoogleCX: "c"}
	b := Options{BraveKey: "k"}
	s := Options{SearxngURL: "http://localhost:8888"}
	both := Options{GoogleKey: "k", GoogleCX: "c", BraveKey: "k"}
	tests := []struct {
		provider string
		explicit bool
		o        Options
		name     string
		kind     fault.Kind
		says     string // in the error and hint
	}{
		{"", false, both, "google_cse", 0, ""},
		{"google_cse", true, both, "google_cse", 0, ""},
		{"google", true, g, "google_cse", 0, ""},
		{"brave", true, both, "brave", 0, ""},
		{"searxng", true, s, "searxng", 0, ""},
		{"", false, b, "brave", 0, ""},
		{"google_cse", false, Options{GoogleKey: "k", BraveKey: "k", SearxngURL: s.SearxngURL}, "brave", 0, ""},
		{"google_cse", false, s, "searxng", 0, ""},
		{"google_cse", true, b, "", fault.Unavailable, "set GOOGLE_API_KEY and GOOGLE_CSE_CX"},
		{"brave", true, g, "", fault.Unavailable, "set BRAVE_API_KEY"},
		{"", false, Options{}, "", fault.Unavailable,
			"set GOOGLE_API_KEY and GOOGLE_CSE_CX, or BRAVE_API_KEY, or SEARXNG_URL"},
		{"", false, Options{}, "", fault.Unavailable, "Google closes the Custom Search JSON API on 2027-01-01"},
		{"bravo", true, both, "", fault.Invalid, "did you mean brave?"},
		{"yahoo", false, both, "", fault.Invalid, "there are google_cse, google, brave, searxng"},
		{"searxng", true, Options{SearxngURL: "localhost:8888"}, "searxng", fault.Invalid, "https://host"},
		{"searxng", true, Options{SearxngURL: "http://u:secret@[::1"}, "searxng", fault.Invalid, "https://host"},
	}
	for _, tt := range tests {
		e, name, err := Choose(tt.provider, tt.explicit, tt.o)
		if name != tt.name || fault.KindOf(err) != tt.kind || (err == nil) != (e != nil && tt.kind == 0) {
			t.Errorf("%+v: %q %v", tt, name, err)
		}
		if err != nil && !strings.Contains(err.Error()+fault.Hint(err), tt.says) ||
			strings.Contains(outcome(nil, err), "secret") {
			t.Errorf("%+v: %v, hint %s", tt, err, fault.Hint(err))
		}
	}
}

func TestProviders(t *testing.T) {
	if providers[0].name != "google_cse" || !strings.Contains(howToSet(), "2027-01-01") {
		t.Errorf("%+v", providers[0])
	}
	for _, p := range providers {
		if p.name == "" || len(p.needs) == 0 {
			t.Errorf("%+v is not complete", p)
		}
	}
}

func TestQuery(t *testing.T) {
	tests := []struct {
		q    Query
		want string // in the error; empty means none
	}{
		{Query{Text: "x"}, ""},
		{Query{Text: "x", Count: 20, Lang: "ja", Freshness: "day"}, ""},
		{Query{Text: "x", Lang: "PT_br", Freshness: "year"}, ""},
		{Query{Text: "x", Lang: "zh-Hant"}, ""},
		{Query{Text: "x", Lang: "fil"}, ""},
		{Query{}, "nothing to search for"},
		{Query{Text: " \n\x00"}, "nothing to search for"},
		{Query{Text: strings.Repeat("x", 3000)}, "2048 bytes"},
		{Query{Text: "x", Count: 21}, "outside 1 to 20"},
		{Query{Text: "x", Count: -1}, "outside 1 to 20"},
		{Query{Text: "x", Lang: "japanese"}, "not a code"},
		{Query{Text: "x", Lang: "j"}, "not a code"},
		{Query{Text: "x", Lang: "ja&key=1"}, "not a code"},
		{Query{Text: "x", Lang: "ja-"}, "not a code"},
		{Query{Text: "x", Lang: "日本"}, "not a code"},
		{Query{Text: "x", Freshness: "hour"}, "day, week, month or year"},
	}
	for _, tt := range tests {
		q, err := tt.q.check()
		if tt.want == "" {
			if err != nil || q.Count == 0 || q.Lang != strings.ToLower(q.Lang) {
				t.Errorf("%+v became %+v, %v", tt.q, q, err)
			}
			continue
		}
		if fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error()+fault.Hint(err), tt.want) ||
			fault.Hint(err) == "" {
			t.Errorf("%+v: %v, want %q", tt.q, err, tt.want)
		}
	}
}

func TestLanguages(t *testing.T) {
	tests := []struct{ code, restrict, speak, brave, country, searx string }{
		{"ja", "ja", "ja", "jp", "JP", "ja"},
		{"ja-jp", "ja", "ja-JP", "jp", "JP", "ja-JP"},
		{"en", "en", "en", "en", "", "en"},
		{"en-gb", "en", "en-GB", "en-gb", "GB", "en-GB"},
		{"en-us", "en", "en-US", "en", "", "en-US"},
		{"zh", "zh-CN", "zh-CN", "zh-hans", "", "zh"},
		{"zh-hans", "zh-CN", "zh-CN", "zh-hans", "", "zh-CN"},
		{"zh-hant", "zh-TW", "zh-TW", "zh-hant", "", "zh-TW"},
		{"zh-tw", "zh-TW", "zh-TW", "zh-hant", "TW", "zh-TW"},
		{"zh-hk", "zh-TW", "zh-TW", "zh-hant", "HK", "zh-HK"},
		{"pt", "pt", "pt", "pt-br", "BR", "pt"},
		{"pt-pt", "pt", "pt-PT", "pt-pt", "PT", "pt-PT"},
		{"nn", "no", "no", "nb", "", "nn"},
		{"he", "iw", "iw", "he", "", "he"},
		{"iw", "iw", "iw", "he", "", "iw"},
		{"xx", "xx", "xx", "xx", "", "xx"},
		{"", "", "", "", "", "all"},
	}
	for _, tt := range tests {
		restrict, speak := googleLang(tt.code)
		lang, country := braveLang(tt.code)
		if restrict != tt.restrict || speak != tt.speak || lang != tt.brave || country != tt.country ||
			searxLang(tt.code) != tt.searx {
			t.Errorf("%s: google %s %s, brave %s %s, searxng %s", tt.code, restrict, speak, lang, country, searxLang(tt.code))
		}
	}
}
