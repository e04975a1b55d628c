package console

import (
	"maps"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"hako/internal/app/records"
)

// groups are the beginnings of keys that are put together when a page is drawn.
var groups = []string{"page.", "about.", "key.", "role.", "theme.", "missing.", "verdict.", "effect.", "profile.",
	"final.", "now.only.", "state.", "event.", "phase.", "kind.", "network.",
	"chat.by.", "todo.", "tasks.", "js."}

// TestWords: every text is there in every language, with the same gaps, and
// every text is used.
func TestWords(t *testing.T) {
	all, wanted := catalogues(), usedWords(t)
	gap := regexp.MustCompile(`\{\d\}`)
	for key, en := range all["en"] {
		for _, lang := range languages {
			text, ok := all[lang][key]
			if !ok || strings.TrimSpace(text) == "" {
				t.Errorf("%s: no text for %q", lang, key)
			}
			a, b := gap.FindAllString(en, -1), gap.FindAllString(text, -1)
			slices.Sort(a)
			slices.Sort(b)
			if !slices.Equal(a, b) {
				t.Errorf("%s: %q has other gaps: %q", lang, key, text)
			}
		}
		if !wanted[key] && !slices.ContainsFunc(groups, func(g string) bool { return strings.HasPrefix(key, g) }) {
			t.Errorf("%q is not used", key)
		}
	}
	if len(all["ja"]) != len(all["en"]) {
		t.Errorf("ja has %d texts, en %d", len(all["ja"]), len(all["en"]))
	}
	for key := range wanted {
		if _, ok := all["en"][key]; !ok && !strings.HasSuffix(key, ".") {
			t.Errorf("%q is used and not there", key)
		}
	}
}

// usedWords finds the keys that pages and script name.
func usedWords(t *testing.T) map[string]bool {
	t.Helper()
	used := map[string]bool{}
	files, _ := filepath.Glob("*.templ")
	sources, _ := filepath.Glob("*.go")
	for _, f := range append(files, sources...) {
		if strings.HasSuffix(f, "_test.go") || strings.HasSuffix(f, "_templ.go") {
			continue
		}
		text, _ := os.ReadFile(f)
		for _, m := range regexp.MustCompile(`\.T\("([^"]+)"`).FindAllStringSubmatch(string(text), -1) {
			used[m[1]] = true
		}
	}
	script, err := os.ReadFile("assets/console.js")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`\bT\('([a-zA-Z]+)'`).FindAllStringSubmatch(string(script), -1) {
		used["js."+camel.ReplaceAllStringFunc(m[1], func(s string) string { return "-" + strings.ToLower(s) })] = true
	}
	return used
}

var camel = regexp.MustCompile(`[A-Z]`)

// TestScriptWords: no text for the script is left over.
func TestScriptWords(t *testing.T) {
	script, _ := os.ReadFile("assets/console.js")
	for key := range catalogues()["en"] {
		name, ok := strings.CutPrefix(key, "js.")
		if !ok {
			continue
		}
		word := regexp.MustCompile(`-[a-z]`).ReplaceAllStringFunc(name,
			func(s string) string { return strings.ToUpper(s[1:]) })
		if !regexp.MustCompile(`\b` + word + `\b`).Match(script) {
			t.Errorf("the script never says %q", key)
		}
	}
}

func TestSpoken(t *testing.T) {
	for _, c := range []struct{ accept, cookie, want string }{
		{"", "", "en"}, {"ja", "", "ja"}, {"ja-JP,ja;q=0.9,en;q=0.5", "", "ja"}, {"en-GB,ja;q=0.5", "", "en"},
		{"fr, ja;q=0.4, en;q=0.2", "", "ja"},
		{"de", "", "en"}, {"ja;q=0", "", "en"}, {"en", "ja", "ja"}, {"ja", "en", "en"}, {"ja", "../../x", "ja"},
		{";;;,,,q=", "", "en"},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("Accept-Language", c.accept)
		if c.cookie != "" {
			r.Header.Set("Cookie", langCookie+"="+c.cookie)
		}
		if got := languageOf(r); got != c.want {
			t.Errorf("%q with cookie %q: %s, want %s", c.accept, c.cookie, got, c.want)
		}
	}
}

// TestReasons: every reason of a built-in rule is there in the other language,
// and none besides.
func TestReasons(t *testing.T) {
	left := maps.Clone(reasons()["ja"])
	files, err := filepath.Glob("../../../policy/rules/*.policy")
	if err != nil || len(files) == 0 {
		t.Fatal("no rules", err)
	}
	rule := regexp.MustCompile(`(?m)^(?:allow|ask|deny)\b[^#\n]*# *(.+)$`)
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range rule.FindAllStringSubmatch(string(text), -1) {
			if reasons()["ja"][m[1]] == "" {
				t.Errorf("%s: no Japanese for %q", filepath.Base(f), m[1])
			}
			delete(left, m[1])
		}
	}
	for reason := range left {
		t.Errorf("no rule says %q", reason)
	}
}

func TestReasonsAreSaidInTheReadersLanguage(t *testing.T) {
	en, ja := &page{}, &page{reasons: reasons()["ja"]}
	rules := []records.Rule{{Effect: "allow", Words: "python", Reason: "run Python"},
		{Effect: "deny", Words: "x", Reason: "mine"}}
	for _, c := range []struct {
		p      *page
		filter string
		want   int
	}{{en, "run Python", 1}, {ja, "run Python", 1}, {ja, "の実行", 1}, {en, "の実行", 0}, {ja, "mine", 1}, {ja, "", 2}} {
		if got := c.p.matching(rules, c.filter); len(got) != c.want {
			t.Errorf("%q: %v", c.filter, got)
		}
	}
	if ja.Reason("run Python") != "Python の実行" || en.Reason("run Python") != "run Python" ||
		ja.Reason("mine\u202e") == "mine\u202e" {
		t.Error(ja.Reason("run Python"), en.Reason("run Python"), ja.Reason("mine\u202e"))
	}
}
