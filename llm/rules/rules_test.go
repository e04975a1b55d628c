package rules

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"hako/llm"
)

// TestEveryRuleIsUsed sees to it that each phrase of a pack is needed by some
// question of the tables: what none needs is either wrong or missing there.
func TestEveryRuleIsUsed(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it needs every question, and only one goroutine")
	}
	used := map[*grammar][]bool{english: make([]bool, len(english.rules())),
		japanese: make([]bool, len(japanese.rules()))}
	for _, name := range []string{"english.txt", "japanese.txt", "english_declined.txt", "japanese_declined.txt"} {
		for _, q := range questions(t, name) {
			var files []llm.File
			for _, f := range q.files {
				files = append(files, llm.File{Name: f})
			}
			markUsed(q.request, files, used)
		}
	}
	for p, rules := range used {
		for i, ok := range rules {
			if !ok {
				t.Errorf("no question uses %.120s", p.rules()[i].pattern)
			}
		}
	}
}

func markUsed(request string, files []llm.File, used map[*grammar][]bool) {
	p := newParser(request, files)
	if p.q.table = headerOf(p.q.onlyTable()); p.q.table != nil {
		p.findValues(p.q.table)
	}
	for i, r := range p.grammar.rules() {
		before, _ := p.view()
		p.apply(&r)
		if after, _ := p.view(); after != before {
			used[p.grammar][i] = true
		}
	}
}

// headerOf is what is known of a table in testdata.
func headerOf(file string) *tableWords {
	text, err := os.ReadFile(filepath.Join("testdata", file))
	if file == "" || err != nil {
		return nil
	}
	g := &tableWords{file: file}
	for line := range strings.Lines(string(text)) {
		cells := strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(",\t\r\n", r) })
		if g.header == nil {
			g.header = cells
			continue
		}
		for i, cell := range cells[:min(len(cells), len(g.header))] {
			g.add(i, cell)
		}
	}
	return g
}

func TestFold(t *testing.T) {
	for in, want := range map[string]string{
		"Ａｐｐ．ＬＯＧ　の  行数？": "app.log の 行数?", "ﾊﾞﾅﾅﾊﾟﾝｳﾞ": "バナナパンヴ", "か\u3099は\u309A": "がぱ", "3〜5": "3~5", "a\n\tb": "a b",
		"\uE000x": "\uFFFDx", "it’s": "it's", "–": "-",
	} {
		if got := string(foldedRunes(in)); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]string{"ＥＲＲＯＲ": "ERROR", "エラー１": "エラー1"} {
		if got := narrow(in); got != want {
			t.Errorf("%q became %q", in, got)
		}
	}
}

// FuzzFold checks that every cell knows where it stands.
func FuzzFold(f *testing.F) {
	f.Add("ﾊﾞ  x")
	f.Fuzz(func(t *testing.T, s string) {
		at := 0
		for _, c := range foldText(s) {
			if c.from != at || c.to < c.from {
				t.Fatalf("%q: a cell from %d to %d follows %d", s, c.from, c.to, at)
			}
			at = c.to
		}
		if at != len(s) {
			t.Errorf("%q ends at %d", s, at)
		}
	})
}

func TestAtoms(t *testing.T) {
	files := []llm.File{{Name: "app.log"}, {Name: "logs/web.log"}, {Name: "売上 2026.csv"}}
	tests := []struct {
		request string
		marks   string // Q, F, N, D, P in their order
		texts   []string
	}{
		{`lines with "a b" and 'c'`, "QQ", []string{"a b", "c"}},
		{`don't count what's there`, "", nil},
		{"「エラー」と『x』と`y`", "QQQ", []string{"エラー", "x", "y"}},
		{"app.log, APP.LOG and web.log.", "FFF", []string{"app.log", "app.log", "logs/web.log"}},
		{"myapp.log app.logs", "", nil},
		{`"app.log"の行数`, "F", []string{"app.log"}},
		{"売上 2026.csvの3列目", "FN", []string{"売上 2026.csv", "3"}},
		{"lines 3-7", "NN", []string{"3", "7"}},
		{"top5 of 1,000 or 2.5", "NNN", []string{"5", "1,000", "2.5"}},
		{"web01 v2", "", nil},
		{"the 3rd line", "N", []string{"3"}},
		{"on 2026-01-05 at 10:30 from 10.0.0.1", "DDD", []string{"2026-01-05", "10:30", "10.0.0.1"}},
		{"1月5日の5件", "DN", []string{"1月5日", "5"}},
		{"上位五件、二十一行、一番", "NN", []string{"五", "二十一"}},
		{"show .users[].name", "P", []string{".users[].name"}},
		{"the web file", "F", []string{"logs/web.log"}},
	}
	for _, tt := range tests {
		l := newRequestText(tt.request)
		l.findAtoms(files)
		marks, texts := "", []string(nil)
		for _, c := range l.cells {
			if isAtom(c.r) {
				marks += map[rune]string{quoteMark: "Q", fileMark: "F", numberMark: "N", dateMark: "D", pathMark: "P"}[c.r]
				texts = append(texts, l.atoms[c.atom].text)
			}
		}
		if marks != tt.marks || !slices.Equal(texts, tt.texts) {
			t.Errorf("%s: %s %q, want %s %q", tt.request, marks, texts, tt.marks, tt.texts)
		}
	}
	if n := kanjiNumber(newRequestText("百二十三").cells); n != 123 {
		t.Errorf("百二十三 is %v", n)
	}
}

func TestTongue(t *testing.T) {
	for request, want := range map[string]language{
		"count the lines": en, "行数は？": ja, "sum of 個数 in 売上.csv": en, "app.log 行数": ja, "find \"日本語\"": en, "エラー": ja, "": en,
	} {
		if got := parse(request, []llm.File{{Name: "売上.csv"}}).lang; got != want {
			t.Errorf("%s is in %d", request, got)
		}
	}
}

func TestPlain(t *testing.T) {
	for _, tt := range []struct {
		x     float64
		n     int
		want  string
		about bool
	}{{0.1 + 0.2, 6, "0.3", false}, {1.0 / 3, 4, "0.3333", true}, {15013355.840000117, 6, "15013355.84", false},
		{-2, 6, "-2", false}, {1e15, 6, "1000000000000000", false}} {
		if got, about := plain(tt.x, tt.n); got != tt.want || about != tt.about {
			t.Errorf("%v is %s, %v", tt.x, got, about)
		}
	}
}

func TestNamesAreFound(t *testing.T) {
	header := []string{"date", "unit_price", "Product Name", "個数", "売上金額"}
	for word, want := range map[string]int{"unit price": 1, "Unit-Price": 1, "dates": 0, "product": 2, "個数": 3, "売上": 4,
		"個数列": 3, "weight": -1, "": -1, "e": -1} {
		if got := bestName(header, word); got != want {
			t.Errorf("%q is column %d, want %d", word, got, want)
		}
	}
}

func TestBlockHoldsFences(t *testing.T) {
	got := block([]string{"```", "x"})
	if got != "````\n```\nx\n````" || !utf8.ValidString(got) {
		t.Error(got)
	}
}
