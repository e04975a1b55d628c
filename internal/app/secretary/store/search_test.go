package store

import (
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"hako/run/fault"
)

func talk(t testing.TB, texts ...string) *Store {
	t.Helper()
	s := fresh(t)
	for i, text := range texts {
		session, err := s.Resume(fmt.Sprint("s", i%2))
		if err == nil {
			_, err = s.Append(session.ID, Message{Role: User, Text: text})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func TestSearch(t *testing.T) {
	s := talk(t, "明日は牛乳を買う", "Gitの最新コミットを教えて", "100% of users", `say "NEAR(a b)" -- or not`, `c:\dir_x`, "東京都の天気",
		"a*b AND c")
	for query, want := range map[string]string{
		"牛乳を買う":                     "1",
		"牛乳":                        "1", // under three characters
		"乳":                         "1",
		"明日 買う":                     "1",
		"明日　牛乳を":                    "1", // a wide space
		"牛乳 天気":                     "",
		"git":                       "2",
		"コミット":                      "2",
		"0%":                        "3",
		"%":                         "3",
		"_":                         "5",
		"_x":                        "5",
		`\d`:                        "5",
		`c:\dir`:                    "5",
		`"`:                         "4",
		`"NEAR(a`:                   "4",
		"NEAR(a b)":                 "4",
		"--":                        "4",
		"- or":                      "4",
		"-- -or":                    "",
		"a*b":                       "7",
		"*":                         "7",
		"a*":                        "7",
		"AND":                       "7",
		"AND c":                     "7",
		"xxx OR 牛乳を":                "",
		"text:牛乳を":                  "",
		"^明日は":                      "",
		"{text}: 牛乳を":               "",
		"'; drop table message; --": "",
	} {
		hits, err := s.Search(query, 0)
		var got []string
		for _, h := range hits {
			got = append(got, fmt.Sprint(h.Message))
		}
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%s: %v, %v; want %s", query, got, err, want)
		}
	}
}

func TestSearchOrder(t *testing.T) {
	var texts []string
	for i := range 30 {
		texts = append(texts, fmt.Sprint("会議の話 ", i))
	}
	s := talk(t, texts...)
	hits, err := s.Search("会議の話", 0)
	if err != nil || len(hits) != 20 || hits[0].Message != 30 || hits[0].Snippet != "会議の話 29" || hits[0].Name != "s1" ||
		hits[0].Session != 2 || hits[0].Role != User || hits[0].Time.IsZero() {
		t.Errorf("%+v, %v", hits, err)
	}
	if hits, _ := s.Search("会議", 3); len(hits) != 3 {
		t.Errorf("%+v", hits)
	}
}

func TestSearchRefuses(t *testing.T) {
	s := talk(t)
	for _, query := range []string{"", " 　\n", "\x01", strings.Repeat("x", maxQuery+1)} {
		_, err := s.Search(query, 0)
		want(t, err, fault.Invalid, "search")
	}
	if hits, err := s.Search("\xff\xfe", 0); err != nil || len(hits) != 0 {
		t.Errorf("%v, %v", hits, err)
	}
}

func TestSnippet(t *testing.T) {
	long := strings.Repeat("あ", 100) + "TODO\n\n  リスト" + strings.Repeat("い", 100)
	for text, want := range map[string]string{
		"短い todo です":            "短い todo です",
		long:                    "…" + strings.Repeat("あ", 40) + "TODO リスト" + strings.Repeat("い", 29) + "…",
		strings.Repeat("x", 50): strings.Repeat("x", 40) + "…",
		"İİİ todo":              "İİİ todo", // its small form is longer
	} {
		if got := snippet(text, []string{"none", "ToDo"}); got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
}

// FuzzSearch has it that nothing in a query is syntax, and that what was said is
// found by any word of it.
func FuzzSearch(f *testing.F) {
	for _, seed := range []string{"牛乳を買う", `a "b" NEAR(c d) -e* OR {x}: ^y`, "%_\\", "x\x00y", "\xff", "ÀÉ ß İı ſ",
		"👨‍👩‍👧 家族", `"`, `""`, "'"} {
		f.Add("前 "+seed+" 後", seed)
	}
	f.Add("前 後", "\x00")
	s := fresh(f)
	session, err := s.NewSession("")
	if err != nil {
		f.Fatal(err)
	}
	s.db.Exec(`pragma synchronous = off`)
	f.Fuzz(func(t *testing.T, text, query string) {
		s.db.Exec(`delete from message`) // or it gets slower and slower
		m, err := s.Append(session.ID, Message{Role: User, Text: text + " " + query})
		if err != nil {
			return
		}
		hits, err := s.Search(query, 1)
		words := strings.FieldsFunc(query, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) })
		switch {
		case len(words) == 0 || len(query) > maxQuery:
			if fault.KindOf(err) != fault.Invalid {
				t.Fatalf("%q: %v", query, err)
			}
		case err != nil:
			t.Fatalf("%q: %v", query, err)
		case len(hits) != 1 || hits[0].Message != m.ID:
			t.Fatalf("%q is not found: %v", query, hits)
		case !utf8.ValidString(hits[0].Snippet):
			t.Fatalf("%q", hits[0].Snippet)
		}
	})
}
