package lenientjson

import (
	"encoding/json"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"hako/internal/testload"
	"hako/run/fault"
)

// plain turns a value into what encoding/json would make of it.
func plain(v Value) any {
	switch v.Kind {
	case Bool:
		return v.Text == "true"
	case Number:
		return json.Number(v.Text)
	case Text:
		return v.Text
	case List:
		all := []any{}
		for _, e := range v.List {
			all = append(all, plain(e))
		}
		return all
	case Object:
		all := map[string]any{}
		for _, m := range v.Members {
			all[m.Name] = plain(m.Value)
		}
		return all
	}
	return nil
}

func TestFind(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"bare":               {`{"text":"a","n":[1,-2.5e3,true,null]}`, `{"text":"a","n":[1,-2.5e3,true,null]}`},
		"fence":              {"はい。\n```json\n{\"text\": \"a\"}\n```\n以上です。", `{"text":"a"}`},
		"bom":                {"\ufeff{\"text\":\"a\"}", `{"text":"a"}`},
		"thoughts":           {"<think>maybe {\"text\":\"draft\"}?</think>\n{\"text\":\"a\"}", `{"text":"a"}`},
		"thoughts, no start": {"hm {x}\n</think>{\"text\":\"a\"}", `{"text":"a"}`},
		"marks in the text":  {`{"text":"</think> is a mark"}`, `{"text":"</think> is a mark"}`},
		"trailing commas":    {`{"text":"a","l":[1,2,],}`, `{"text":"a","l":[1,2]}`},
		"single quotes":      {`{'text': 'it's "fine"', 'b': 'x'}`, `{"text":"it's \"fine\"","b":"x"}`},
		"comments":           {"{ // one\n\"text\": \"a\", /* two */ # three\n\"b\": 1 // four\n}", `{"text":"a","b":1}`},
		"wide punctuation":   {`｛“text”：“全角：，です”，“b”：［1，2］｝`, `{"text":"全角：，です","b":[1,2]}`},
		"wide quotes":        {`{＂text＂：＂a＂}`, `{"text":"a"}`},
		"bare names":         {`{text: "a", ok: True, no: None}`, `{"text":"a","ok":true,"no":null}`},
		"bare text":          {"{text: こんにちは、世界\n}", `{"text":"こんにちは","世界":null}`},
		"quotes inside":      {`{"text":"彼は"はい"と言った","b":1}`, `{"text":"彼は\"はい\"と言った","b":1}`},
		"quotes in command": {`{"text":"a","c":"grep "x, y" f | awk '{print $1}'"}`,
			`{"text":"a","c":"grep \"x, y\" f | awk '{print $1}'"}`},
		"missing comma": {"{\"text\":\"a\"\n\"b\":\"c\" \"d\": 1}", `{"text":"a","b":"c","d":1}`},
		"raw newline":   {"{\"text\":\"a\nb\"}", `{"text":"a\nb"}`},
		"backslashes": {`{"text":"\d+ \u3042 \ud83d\ude00 \ud83d x \uZZ \/"}`, `{"text":"\\d+ あ 😀 ` + "\ufffd" +
			` x \\uZZ /"}`},
		"two objects":       {`{"text":"first"}{"text":"second"}`, `{"text":"first"}`},
		"others before":     {`use ${x} or {"a":1}: {"text":"a"}`, `{"text":"a"}`},
		"wrapped":           {`{"answer":{"text":"a"}}`, `{"text":"a"}`},
		"in a list":         {`[{"text":"a"}]`, `{"text":"a"}`},
		"brace for bracket": {`{"text":"a","l":[{"c":1}}`, `{"text":"a","l":[{"c":1}]}`},
		"bracket for brace": {`{"text":"a","l":[{"c":1]}`, `{"text":"a","l":[{"c":1}]}`},
		"stray bracket":     {`{"text":"a"],"b":1}`, `{"text":"a","b":1}`},
		"name alone":        {`{"text":"a","b",}`, `{"text":"a","b":null}`},
		"twice":             {`{"text":"a","text":"b"}`, `{"text":"b"}`},
	} {
		v, err := Find(c.in, "text")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var want any
		d := json.NewDecoder(strings.NewReader(c.want))
		d.UseNumber()
		if err := d.Decode(&want); err != nil {
			t.Fatal(name, err)
		}
		if got := plain(v); !reflect.DeepEqual(got, want) || v.Cut {
			t.Errorf("%s: got %#v, cut %v", name, got, v.Cut)
		}
	}
}

func TestFindNothing(t *testing.T) {
	for _, in := range []string{"", "こんにちは。", "{}", `{"a":1}`, "<think>{\"text\":\"a\"}", "{{{{",
		strings.Repeat("[", 1000) + `"text"`,
		strings.Repeat(`{"a":`, 1000)} {
		if v, err := Find(in, "text"); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%.20q: %+v, %v", in, v, err)
		}
	}
	if _, err := Find(strings.Repeat(" ", largest+1), "text"); fault.KindOf(err) != fault.TooLarge {
		t.Error(err)
	}
}

// What is cut off says so, and only that.
func TestCut(t *testing.T) {
	const whole = `{"text":"ab\n","l":[{"c":"rm -rf /tmp/x","t":12},{"c":"ls"}]}`
	for n := len(`{"text":"`); n < len(whole); n++ {
		v, err := Find(whole[:n], "text")
		if err != nil || !v.Cut {
			t.Fatalf("%s: %+v, %v", whole[:n], v, err)
		}
		l, _ := v.Get("l")
		for i, e := range l.List {
			end := strings.Index(whole, "12}") + 3
			if i == 1 {
				end = len(whole) - 2
			}
			if e.Cut != (n < end) {
				t.Errorf("%s: element %d is cut: %v", whole[:n], i, e.Cut)
			}
		}
	}
	if v, err := Find(whole, "text"); err != nil || v.Cut {
		t.Errorf("the whole is cut: %v", err)
	}
}

func TestHostileTextsTakeNoTime(t *testing.T) {
	began := time.Now()
	for _, piece := range []string{`{`, `[`, `"`, `" `, `","`, `"a":`, `{"a":`, `\`, `\u`, `'`, `“`, `/*`, `//`, `#`,
		`"text":`, `{"text":"`, `"a" `, "\n", ":", `x" y`, `</think>`, "\x00", `</think>{"`, `["</think>[",`, `{a `, `{/*`,
		`｛`, "`"} {
		text := `{"x":` + strings.Repeat(piece, (largest-10)/len(piece))
		Find(text, "text")
		var l MemberStream
		for i := 0; i < len(text); i += 1000 {
			l.Hear(text[i:min(len(text), i+1000)])
		}
	}
	if took := time.Since(began); took > testload.Bound(20*time.Second) {
		t.Errorf("took %v", took)
	}
}

func hear(pieces ...string) string {
	l := MemberStream{Members: []string{"text", "bashActions"}}
	var b strings.Builder
	for _, p := range pieces {
		b.WriteString(l.Hear(p))
	}
	return b.String()
}

func TestListener(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"first":     {`{"text":"こんにちは\n\"世界\" \ud83d\ude00\u3042","b":1}`, "こんにちは\n\"世界\" 😀あ"},
		"not first": {`{"bashActions":[{"command":"ls","text":"no"}],"x":{"text":"no"},"text":"yes"}`, "yes"},
		"nested":    {`{"foo":{"text":"no"},"text":"yes"}`, "yes"},
		"wrapped":   {`{"answer":{"text":"a"}}`, "a"},
		"fence":     {"了解 {x}\n```json\n{\"text\" : \"a\"}\n```", "a"},
		"thoughts":  {"<think>{\"text\":\"draft\"}</think>{\"text\":\"a\"}", "a"},
		"prose":     {"こんにちは。text です。", ""},
		"inside":    {`{"text":"彼は"はい"と言った", "b":1}`, `彼は"はい"と言った`},
		"two":       {`{"text":"a"} {"text":"b"}`, "a"},
		"no text":   {`{"bashActions":[]} {"text":"b"}`, ""},
		"a value":   {`{"mood":"text","text":"a"}`, "a"},
		"late":      {`{"bashActions":[{"command":"cat text; ` + strings.Repeat("x", 3000) + `"}],"text":"yes"}`, "yes"},
		"cut":       {`{"text":"半分`, "半分"},
		"lone half": {`{"text":"\ud83dx"}`, "\ufffdx"},
		"wide end":  {`{"text": ""、0`, ""},
		"wide ends": {`{"text": "a"　、　"b"：1｝`, "a"},
		"wide name": {`{"text": "a" “bashActions”：[]}`, "a"},
		"wide rest": {`{"text": "a"あ"、い"}`, `a"あ"、い`},
	} {
		if got := hear(c.in); got != c.want {
			t.Errorf("%s at once: %q", name, got)
		}
		if got := hear(strings.Split(c.in, "")...); got != c.want {
			t.Errorf("%s by letters: %q", name, got)
		}
		var bytes []string
		for i := range len(c.in) {
			bytes = append(bytes, c.in[i:i+1])
		}
		if got := hear(bytes...); got != c.want {
			t.Errorf("%s by bytes: %q", name, got)
		}
	}
}

// An answer whose text is never closed is not shown beyond it, and nothing of
// what follows is done.
func TestTextThatIsNotClosed(t *testing.T) {
	for in, want := range map[string]string{
		`{"text": "はい、"bashActions": [{"command": "ls"`:             "はい、",
		`{"text": "はい、"bashActions": [{"command": "ls"}]}`:          "はい、",
		`{"text": "はい、"bashActions`:                                 "はい、",
		`{"text": "はい"bashActions: [{"command": "ls"}]}`:            "はい",
		`{"text": "はい" bashActions = [{"command": "ls"}]}`:          "はい",
		`{"text": "a "b" c "BashActions" ： [{"command": "ls"}]}`:    `a "b" c `,
		`{"text": "a "bashActions"` + strings.Repeat(" ", 99) + `:`: "a ",
		`{“text”： “a ”bashActions”： [｛“command”： “ls”｝]｝`:           "a ",
	} {
		v, err := Find(in, "text", "bashActions")
		text, _ := v.Get("text")
		if _, acts := v.Get("bashActions"); err != nil || acts || text.Text != want || !text.Cut || !v.Cut {
			t.Errorf("%s: %+v, %v", in, v, err)
		}
		if at, by := hear(in), hear(strings.Split(in, "")...); at != want || by != want {
			t.Errorf("%s: heard %q, by letters %q", in, at, by)
		}
	}
	for in, want := range map[string]string{
		`{"text": "It's "quoted" text", "bashActions": []}`:              `It's "quoted" text`,
		`{"text": "the "bashActions" and "text", or "te", "x": []}`:      `the "bashActions" and "text`,
		`{"text": "the "bashActions" list and "textual" x", "x": []}`:    `the "bashActions" list and "textual" x`,
		`{"text": "see \"bashActions\": [] and {\"text\": 1}", "x": []}`: `see "bashActions": [] and {"text": 1}`,
	} {
		v, err := Find(in, "text", "bashActions")
		if text, _ := v.Get("text"); err != nil || text.Text != want || text.Cut {
			t.Errorf("%s: %+v, %v", in, v, err)
		}
		if got := hear(strings.Split(in, "")...); got != want {
			t.Errorf("%s: heard %q", in, got)
		}
	}
}

// What may turn out to be no text is held back, but not for long.
func TestListenerHoldsLittleBack(t *testing.T) {
	const in = `{"text": "a "bashActions" b "todo" c "text"               d "bashActionsAndMore" e`
	l := MemberStream{Members: []string{"text", "bashActions"}}
	shown := 0
	for i := range len(in) {
		shown += len(l.Hear(in[i : i+1]))
		if held := i + 1 - len(`{"text": "`) - shown; held > 40 {
			t.Fatalf("%d are held back at %s", held, in[:i+1])
		}
	}
	if shown != len(in)-len(`{"text": "`) {
		t.Errorf("%d were shown", shown)
	}
}

func TestListenerDoesNotWait(t *testing.T) {
	l := MemberStream{}
	if got := l.Hear(`{"text":"こん`); got != "こん" {
		t.Errorf("got %q", got)
	}
	if got := l.Hear("に\xe3"); got != "に" {
		t.Errorf("got %q", got)
	}
	if got := l.Hear("\x81\xa1\\ud83d"); got != "ち" && got != "\u3061" {
		t.Errorf("got %q", got)
	}
	if got := l.Hear(`\ude00"`); got != "😀" {
		t.Errorf("got %q", got)
	}
}

var seeds = []string{`{"text":"a"}`, "```json\n{\"text\":\"a\",}\n```", `{'text':'it's'}`, `{"text":"\ud83d\ude00 \u`,
	`{"bashActions":[{"command":"ls"`, `｛“text”：“a”，｝`,
	"<think>x</think>{text: a}", `{"text":"</think>{'text':'b'}"}`, `{"a":"{'text':'b'}"}`, `{"a":{"text":1},"text":"b"}`,
	`{"text":"x" "y"}`, "{\"text\":\"\xe3\x81"}

// FuzzFind checks that nothing panics, and that what is JSON is read as such.
func FuzzFind(f *testing.F) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v, err := Find(s, "text")
		trimmed := strings.TrimSpace(s)
		if !utf8.ValidString(s) || !strings.HasPrefix(trimmed, "{") || strings.Contains(s, "</think") &&
			!json.Valid([]byte(trimmed)) {
			return
		}
		var want map[string]any
		d := json.NewDecoder(strings.NewReader(trimmed))
		d.UseNumber()
		if d.Decode(&want) != nil || strings.Count(s, "{")+strings.Count(s, "[") > 60 {
			return
		}
		if _, ok := want["text"]; !ok {
			return
		}
		if err != nil || v.Cut || !reflect.DeepEqual(plain(v), any(want)) {
			t.Errorf("got %#v, %v, want %#v", plain(v), err, want)
		}
	})
}

// FuzzListener checks that pieces do not matter, and that proper answers are
// passed on whole.
func FuzzListener(f *testing.F) {
	for i, s := range seeds {
		f.Add(s, i+1)
	}
	f.Fuzz(func(t *testing.T, s string, size int) {
		if len(s) > 4096 || size < 1 {
			return
		}
		var pieces []string
		for i := 0; i < len(s); i += min(size, len(s)) {
			pieces = append(pieces, s[i:min(len(s), i+min(size, len(s)))])
		}
		got := hear(pieces...)
		var want struct{ Text *string }
		if strings.HasPrefix(s, `{"text":`) && json.Unmarshal([]byte(s), &want) == nil && strings.Count(s, `text`) == 1 &&
			strings.Count(strings.ToLower(s), `text`) == 1 && want.Text != nil &&
			utf8.ValidString(s) && !strings.Contains(s, "</think") && got != *want.Text {
			t.Errorf("heard %q of %q", got, *want.Text)
		}
	})
}

var member = regexp.MustCompile(`(?i)"bashActions"?[ \n\t]*[:=]`)

// FuzzListenerShowsNoMembers checks that what nobody escaped is never shown with
// the members behind it, and that what is heard is what is read in the end.
func FuzzListenerShowsNoMembers(f *testing.F) {
	for i, s := range []string{`はい、"bashActions": [{"command": "ls"`, `It's "quoted" text", "bashActions": []}`,
		`a" x "bashActions" : []}`, `a" bashActions= 1`, `""bashActions":`, "a\" \n \"bashActions\":",
		`a", b", "bashActions": []}`, `"、0`} {
		f.Add(s, i+1)
	}
	f.Fuzz(func(t *testing.T, s string, size int) {
		if len(s) > 4096 || size < 1 || strings.Contains(s, `\`) {
			return
		}
		whole := `{"text": "` + s
		var pieces []string
		for i := 0; i < len(whole); i += min(size, len(whole)) {
			pieces = append(pieces, whole[i:min(len(whole), i+min(size, len(whole)))])
		}
		got := hear(pieces...)
		if member.MatchString(got) {
			t.Errorf("%s: showed %q", whole, got)
		}
		v, err := Find(whole, "text", "bashActions")
		if text := first(v); err == nil && utf8.ValidString(s) && text != got {
			t.Errorf("%s: heard %q, read %q", whole, got, text)
		}
	})
}

// first is the first text of an object, which is the one that is heard.
func first(v Value) string {
	for _, m := range v.Members {
		if m.Name == "text" {
			return m.Value.Text
		}
	}
	return ""
}
