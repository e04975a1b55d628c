package rules

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"

	"hako/llm"
	"hako/policy"
)

// FuzzRequest has any text asked. Nothing may panic, every conversation ends
// with words, and execute accepts every command: had a request left its quotes,
// it would be refused for its form.
func FuzzRequest(f *testing.F) {
	for _, name := range []string{"english.txt", "japanese.txt", "english_declined.txt", "japanese_declined.txt"} {
		for i, q := range sample(questions(f, name)) {
			if i%4 == 0 {
				f.Add(q.request, byte(i))
			}
		}
	}
	f.Add("how many lines contain \"'; rm -rf /\"", byte(0))
	f.Add("「$(id)」を含む行を「`」で", byte(1))
	f.Add("sum of \"a\\\"b\" where 'x' > -1e9", byte(2))
	f.Add("lines 3 to 999999999999999999999", byte(3))
	f.Add("ﾊﾞﾅﾅ を含む行、３～５行目", byte(4))
	grants := [][]string{{"app.log"}, {"sales.csv"}, {"users.json"}, {"a.txt", "b.txt"}, {"quoted.csv", "売上.csv"},
		{"lines.jsonl"}, {}, {"notes.txt"}, {"java.log"}}
	b := newBox(f)
	f.Fuzz(func(t *testing.T, request string, which byte) {
		b.t = t
		if !utf8.ValidString(request) || len(request) > longestRequest {
			return
		}
		text := b.ask(request, grants[int(which)%len(grants)]...)
		if strings.TrimSpace(text) == "" {
			t.Errorf("%q: no answer", request)
		}
		for _, o := range b.refused {
			if !harmless(o) {
				t.Errorf("%q: execute refused %s", request, o)
			}
		}
	})
}

// harmless are refusals that are about the data, not the form of a command.
func harmless(reason string) bool {
	for _, s := range []string{"NUL byte", "longer than 8192", "the sed script is not understood", "invalid UTF-8"} {
		if strings.Contains(reason, s) {
			return true
		}
	}
	return false
}

// FuzzQuote checks that the shell reads back exactly the words of a command.
func FuzzQuote(f *testing.F) {
	for _, s := range []string{"", "a b", "'", "';rm -rf /'", "$(id)", "`id`", "\\", "\n", "*?[", "~", "-x", "日本", "a\tb",
		"!", "{a,b}", "#", "\"$HOME\"", "\r"} {
		f.Add(s, "x.txt")
	}
	f.Fuzz(func(t *testing.T, word, file string) {
		if !utf8.ValidString(word) || !utf8.ValidString(file) || strings.ContainsAny(word+file, "\x00\uFFFD") || file == "" {
			return
		}
		command := from(file).then("grep", "-F", word).then("sort").String()
		script, err := policy.ParseScript(command)
		if err != nil {
			t.Fatalf("%s: %v", command, err)
		}
		var words []string
		syntax.Walk(script, func(n syntax.Node) bool {
			if call, ok := n.(*syntax.CallExpr); ok {
				for _, w := range call.Args {
					words = append(words, plainWord(t, w))
				}
			}
			return true
		})
		if want := []string{"grep", "-F", word, operand(file), "sort"}; !slices.Equal(words, want) {
			t.Errorf("%q is read as %q", command, words)
		}
	})
}

// plainWord is the text of a word without its quotes; anything but plain and
// single-quoted text is a mistake.
func plainWord(t *testing.T, w *syntax.Word) string {
	var b strings.Builder
	for _, part := range w.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			b.WriteString(strings.ReplaceAll(p.Value, `\'`, "'"))
		case *syntax.SglQuoted:
			b.WriteString(p.Value)
		default:
			t.Fatalf("a word has a %T", part)
		}
	}
	return b.String()
}

// FuzzDialog has any results come back.
func FuzzDialog(f *testing.F) {
	f.Add(`{"ok":true,"stdout_text":"x","exit_code":0}`, "sum of a", "s.csv")
	f.Add(`{"ok":true,"stdout_text":"a,b\n1,2\n","exit_code":0}`, "top 5 error messages", "x.log")
	f.Add(`{`, "エラーの上位5件", "x.json")
	f.Add(`{"ok":true,"stdout_text":"{\"docs\":1,\"type\":\"array\",\"paths\":[[]]}"}`, "names from x.json", "x.json")
	f.Fuzz(func(t *testing.T, result, request, file string) {
		if len(request) > longestRequest {
			return
		}
		d := &llm.Dialog{Tools: []llm.Tool{{Name: executeTool}, {Name: listTool}, {Name: searchTool}},
			Items: []llm.Item{user(request, llm.File{Name: file, Bytes: 9})}}
		for range 4 {
			turn, err := New().Next(t.Context(), d)
			if err != nil {
				t.Fatal(err)
			}
			if len(turn.Calls) == 0 {
				return
			}
			d.Items = append(d.Items, turn.Item())
			for _, c := range turn.Calls {
				d.Items = append(d.Items, llm.Item{Role: llm.Result, CallID: c.ID, Name: c.Name, Text: result})
			}
		}
	})
}
