package rules

import (
	"strings"
	"testing"

	"hako/llm"
)

// TestWordsOfTables checks which words of a request are values of a table.
func TestWordsOfTables(t *testing.T) {
	g := &tableWords{file: "t.csv", header: []string{"name", "dept", "open_date", "total"}}
	for i, values := range [][]string{{"Max", "りんご", "男", "はい", "I"}, {"IT", "the", "open", "A", "x y"}, {"2026-01-05"},
		{"5", "dept"}} {
		for _, v := range values {
			g.add(i, v)
		}
	}
	for request, want := range map[string]string{
		"how many IT": "IT", "is it open?": "open", "sort by open date": "", "max total": "", "total of Max": "Max",
		"open t.csv": "", "open the file": "",
		"rows with a": "", "grade A": "A", "can I see 5 rows": "", "りんごは何行": "りんご", "男は何人": "男", "男女": "", "行はいくつ": "",
		"sum on 2026-01-05":   "2026-01-05",
		"sum from 2026-01-05": "", "2026-01-05以降": "", "reopen x y": "x y", "dept's sum": "", "Max's total": "Max",
	} {
		l := newRequestText(request)
		l.findAtoms([]llm.File{{Name: "t.csv"}})
		l.findValues(g)
		var got []string
		for i := range l.cells {
			if m := l.valueAt(i); m != nil {
				got = append(got, m.spelled[0])
			}
		}
		if strings.Join(got, ",") != want {
			t.Errorf("%s: %q, want %q", request, got, want)
		}
	}
}

// FuzzWordsOfTables parses anything over a table with any value.
func FuzzWordsOfTables(f *testing.F) {
	f.Add("how many IT's by x", "IT")
	f.Add("りんごの合計", "りんご")
	f.Add("sum of total from 2026-01-05", "2026-01-05")
	f.Fuzz(func(t *testing.T, request, value string) {
		g := &tableWords{file: "t.csv", header: []string{"name", "total", value}}
		g.add(0, value)
		parseWith(request, []llm.File{{Name: "t.csv"}}, g)
	})
}

// TestFailuresAreWorded checks what people read when a command does not work.
func TestFailuresAreWorded(t *testing.T) {
	for result, want := range map[string]string{
		`{"ok":false,"exit_code":124,"error":{"kind":"timeout","reason":"it went over the limit time=4s","hint":"do less"}}`:                            "took too long",
		`{"ok":false,"exit_code":1,"stderr_text":"head: cannot open 'a.csv' for reading: it has 18 MB, the limit file_size is 10 MB\n"}`:                "--limit file_size=18MB",
		`{"ok":false,"exit_code":2,"stderr_text":"head: it is broken\n"}`:                                                                               "did not work",
		`{"ok":false,"exit_code":1,"error":{"kind":"denied","reason":"the option -x of head cannot be used here","hint":"allowed for head are -n -c"}}`: "allowed for head",
	} {
		d := &llm.Dialog{Tools: []llm.Tool{{Name: executeTool}}, Items: []llm.Item{user("sum of x", llm.File{Name: "a.csv"})}}
		turn := next(t, d)
		d.Items = append(d.Items, turn.Item())
		for _, c := range turn.Calls {
			d.Items = append(d.Items, llm.Item{Role: llm.Result, CallID: c.ID, Name: c.Name, Text: result})
		}
		if got := next(t, d).Text; !strings.Contains(got, want) || strings.Contains(got, "NR > 1") {
			t.Errorf("%s\n%s", result, got)
		}
	}
}
