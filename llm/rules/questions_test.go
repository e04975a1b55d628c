package rules

import (
	"regexp"
	"strings"
	"testing"
)

// TestAnswers asks every question of the tables and has the real executor carry
// out what the model calls for.
func TestAnswers(t *testing.T) {
	for _, name := range []string{"english.txt", "japanese.txt"} {
		b := newBox(t)
		list := questions(t, name)
		for _, q := range sample(list) {
			text := b.ask(q.request, q.files...)
			for _, want := range q.want {
				want = strings.ReplaceAll(want, `\n`, "\n")
				not, inverted := strings.CutPrefix(want, "!")
				if inverted == strings.Contains(text, strings.TrimPrefix(want, "!")) {
					t.Errorf("%s ← %v\nwant %q in %v:\n%s\n%s", q.request, q.files, not, !inverted, strings.Join(b.commands, "\n"),
						brief(text))
				}
			}
		}
		if len(list) < 150 {
			t.Errorf("%s has only %d questions", name, len(list))
		}
	}
}

// TestDeclines asks what the rules do not know. No answer is to hold a result.
func TestDeclines(t *testing.T) {
	for _, name := range []string{"english_declined.txt", "japanese_declined.txt"} {
		b := newBox(t)
		list := questions(t, name)
		for _, q := range sample(list) {
			if text := b.ask(q.request, q.files...); !declined(text) {
				t.Errorf("%s ← %v was answered:\n%s\n%s", q.request, q.files, strings.Join(b.commands, "\n"), brief(text))
			}
		}
		if len(list) < 50 {
			t.Errorf("%s has only %d requests", name, len(list))
		}
	}
}

func brief(text string) string {
	if r := []rune(text); len(r) > 500 {
		return string(r[:500]) + "…"
	}
	return text
}

// variants asks every question with something added. The answer must be no
// result, unless ok accepts it.
func variants(t *testing.T, forms map[string][]string, ok func(form, text string) bool) {
	for name, list := range forms {
		b := newBox(t)
		for i, q := range sample(questions(t, name)) {
			form := list[i%len(list)]
			request := strings.Replace(form, "%s", strings.TrimRight(q.request, "?.!？。"), 1)
			if text := b.ask(request, q.files...); !declined(text) && !askedBack(text) && !ok(form, text) {
				t.Errorf("%s ← %v was answered:\n%s\n%s", request, q.files, strings.Join(b.commands, "\n"), brief(text))
			}
		}
	}
}

// askedBack reports whether an answer is a question, or tells another way.
func askedBack(text string) bool {
	for _, s := range []string{"Do you mean", "それとも", "hako web search", "hako exec", "one file at a time", "一つのファイル",
		"line breaks in them", "改行を含む引用", "No file was granted", "許可されたファイルがない", "at the same time", "同時には", "UTF-8",
		"only read", "読むことしか", "was not carried out", "実行されませんでした"} {
		if strings.Contains(text, s) {
			return true
		}
	}
	return false
}

// TestQualifiersAreNoticed adds words that change what is meant to questions
// that are understood. None may be answered as if nothing had been added.
func TestQualifiersAreNoticed(t *testing.T) {
	variants(t, map[string][]string{
		"english.txt": {"%s yesterday", "%s since Monday", "%s per customer", "%s unless it is raining",
			"for premium customers, %s", "%s after midnight", "%s but only the important ones", "%s and email it to Bob"},
		"japanese.txt": {"昨日の%s", "先週から%s", "顧客ごとに%s", "雨の日だけ%s", "%s、ただし重要なものだけ", "%s。結果をメールで送って", "%s（税込みで）"},
	}, func(form, text string) bool { // orders.csv has customers
		return strings.HasSuffix(form, "per customer") && strings.Contains(text, "column customer")
	})
}

// TestFiltersAreUsed adds a filter to questions that are understood. An answer
// has to tell of it.
func TestFiltersAreUsed(t *testing.T) {
	variants(t, map[string][]string{
		"english.txt": {`%s, only lines containing "zzz"`, `%s, but only lines that do not contain "zzz"`,
			`%s, without the first 3 lines`, `%s, with line numbers`},
		"japanese.txt": {`「zzz」を含む行について、%s`, `「zzz」を含まない行について、%s`, `先頭の3行を除いて、%s`, `行番号付きで、%s`},
	}, func(form, text string) bool {
		for _, s := range []string{"Nothing found", "見つかりません", "0 lines", "0 行です", "No differences", "違いはありません"} {
			if strings.Contains(text, s) {
				return true
			}
		}
		switch {
		case strings.Contains(form, "zzz"):
			return strings.Contains(text, "zzz")
		case strings.Contains(form, "3"):
			return strings.Contains(text, "without the first 3") || strings.Contains(text, "先頭の 3 行を除く")
		}
		return numberedLine.MatchString(text)
	})
}

var numberedLine = regexp.MustCompile(`(?m)^\d+:|the (?:longest|shortest) line, line \d|行、\d+ 行目`)
