package secretary

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"hako/run"
	"hako/run/fault"
)

// desk is where jobs run.
type desk struct {
	started []run.Request
	asked   []string
	busy    bool
}

func (d *desk) Busy() bool { return d.busy }

func (d *desk) Start(_ context.Context, req run.Request) (string, error) {
	d.started = append(d.started, req)
	return "job-1", nil
}

func (d *desk) Ask(_ context.Context, verb, handle string, offset int64) (string, error) {
	d.asked = append(d.asked, fmt.Sprint(verb, " ", handle, " ", offset))
	return "running", nil
}

func TestPlugins(t *testing.T) {
	s, _, h := newSecretary(t)
	list, d := &errands{}, &desk{}
	s.Todos, s.Jobs, s.Dir = list, d, "/w"
	s.Search = func(_ context.Context, q string) (string, error) { return "found " + q, nil }
	s.Scripts = map[string]string{"hello": `echo "$1"`, "todo": "rm -rf x"}
	h.does[`echo "$1"`] = outcome{out: "hi\n"}
	for line, want := range map[string]string{
		`@search Go 1.26 'release notes'`: "found Go 1.26 release notes",
		"@bg make -j4 'a b' | tee log":    "job-1",
		"@job":                            "running",
		"@job output job-1 4096":          "running",
		"@todo list":                      "",
		"@todo add '牛乳 を' 買う --due 2026-01-31 --priority=high": "add: 牛乳 を 買う",
		"@todo complete 3": "complete: ",
		"@hello 'a b' c":   "hi\n",
		"@hello\n":         "hi\n",
	} {
		r, err := s.Command(t.Context(), line)
		if err != nil || r.Error != "" || r.Output == nil || !strings.HasPrefix(r.Output.Stdout, want) ||
			r.Output.ExitCode != "0" {
			t.Errorf("%s: %+v, %v", line, r, err)
		}
	}
	if len(d.started) != 1 || d.started[0].Script != "make -j4 'a b' | tee log" || d.started[0].Timeout != time.Hour ||
		d.started[0].Dir != "/w" {
		t.Errorf("%+v", d.started)
	}
	for _, r := range h.reqs {
		if r.Script != `echo "$1"` || len(r.Args) > 0 && !reflect.DeepEqual(r.Args, []string{"a b", "c"}) {
			t.Errorf("%+v", r)
		}
	}
	for _, a := range list.did {
		if a.Action == "add" && (a.Due != "2026-01-31" || a.Priority != "high" || a.Title != "牛乳 を 買う") ||
			a.Action == "complete" && a.ID != 3 {
			t.Errorf("%+v", a)
		}
	}
	if p := s.Prompt(); !strings.Contains(p, "@hello [ARGUMENTS]: echo") || !strings.Contains(p, "@bg COMMAND") {
		t.Error(p)
	}
}

func TestPluginsThatCannotBe(t *testing.T) {
	s, _, h := newSecretary(t)
	s.Todos, s.Jobs, s.Scripts = &errands{}, &desk{}, map[string]string{"deploy": "make deploy", "search": "rm x"}
	h.does["make deploy"] = outcome{err: denied("make deploy", false)}
	for line, want := range map[string]string{
		"@tood list":            "ExecutionError: run @tood: there is none of that name; there are @bg, @deploy, @job, @todo",
		"@search x":             "ExecutionError: run @search: there is none", // not even by a script of that name
		"@todo add":             "the title is missing",
		"@todo complete":        "the number of the to-do is missing",
		"@todo complete x":      "the number of the to-do is missing",
		"@todo burn 3":          "cannot be done",
		"@todo add x --colour":  "there is no option --colour",
		"@todo add x --due":     "--due needs a value",
		"@todo add 'x":          "not closed",
		"@todo delete 9":        "ExecutionError: delete to-do 9: there is none",
		"@bg":                   "there is no command",
		"@job kill":             "the handle of the job is missing",
		"@job output job-1 abc": "the offset is a number",
		"@job dance":            "cannot be done",
		"@deploy":               "SecurityError: コマンドがホワイトリストに登録されていません: make",
		"@":                     "there is none of that name",
	} {
		r, err := s.Command(t.Context(), line)
		if err != nil || !strings.Contains(r.Error, want) || r.Output != nil {
			t.Errorf("%s: %+v, %v", line, r, err)
		}
	}
	if _, err := s.Command(t.Context(), "ls"); fault.KindOf(err) != fault.Invalid {
		t.Error(err)
	}
	if r, _ := s.Command(t.Context(), "@tood list"); r.Hint != "did you mean @todo?" {
		t.Errorf("%+v", r)
	}
}

func TestPluginsOfTheModel(t *testing.T) {
	s, m, h := newSecretary(t,
		`{"text":"a","bashActions":[{"command":"@todo add 牛乳","reason":"r"},{"command":"@todo add x","confirm":true},{"command":"@hi a","confirm":true,"timeout":7}]}`, `{"text":"b"}`)
	list := &errands{}
	s.Todos, s.Requery, s.Scripts = list, true, map[string]string{"hi": "echo $1"}
	a := chat(t, s, "x")
	if got := m.last(1); !strings.HasPrefix(got,
		"system: BASHコマンド実行結果:\n✅ コマンド: @todo add 牛乳\n   理由: r\n   終了コード: 0\n   標準出力:\nadd: 牛乳\n\n❌ コマンド: @todo add x\n") {
		t.Errorf("got %s", got)
	}
	if len(list.did) != 1 || !strings.HasPrefix(a.Results[1].Error, "SecurityError: ") || !h.reqs[0].Confirm ||
		h.reqs[0].Timeout != 7e9 {
		t.Errorf("%+v, %+v", a.Results, h.reqs)
	}
}

func TestSplitWords(t *testing.T) {
	for line, want := range map[string][]string{
		"": nil, "  ": nil, "a b": {"a", "b"}, `'a b' "c d"e`: {"a b", "c de"}, `a\ b`: {"a b"}, `''`: {""},
		`"a\"b"`: {`a"b`}, `'a\b'`: {`a\b`}, "全角　空白": {"全角", "空白"}, "$HOME *": {"$HOME", "*"},
	} {
		if got, err := splitWords(line); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %q, %v", line, got, err)
		}
	}
	for _, line := range []string{`'a`, `"a`, `a\`} {
		if got, err := splitWords(line); err == nil {
			t.Errorf("%q: %q", line, got)
		}
	}
}

// FuzzCommand checks that no line breaks anything.
func FuzzCommand(f *testing.F) {
	for _, line := range []string{"@todo add 'a b' --due x", "@bg ls | wc", "@job output job-1 -1", "@",
		"@todo update 3 x"} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		s, _, _ := newSecretary(t)
		s.Todos, s.Jobs = &errands{}, &desk{}
		if r, err := s.Command(t.Context(), line); err == nil && (r.Error == "") != (r.Output != nil) {
			t.Errorf("%+v", r)
		}
	})
}
