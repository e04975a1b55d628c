package secretary

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"hako/internal/app/secretary/speech"
	"hako/llm"
	"hako/run/fault"
)

// The cases of the document, with exact texts.
func TestCaseOfPythonFiles(t *testing.T) {
	s, m, h := newSecretary(t,
		`{"text":"確認しますね。","bashActions":[{"command":"ls *.py","reason":"Pythonファイル一覧取得"}]}`,
		`{"text":"現在のディレクトリにはtest.pyとapp.pyの2つのPythonファイルがあります。","bashActions":[]}`)
	h.does["ls *.py"] = outcome{out: "test.py\napp.py\n", dir: "/home/perso/analysis/ai_secretary"}
	s.Requery = true
	log := &memo{}
	s.History = log
	a := chat(t, s, "現在のディレクトリにあるPythonファイルを教えて")
	const blocks = "BASHコマンド実行結果:\n✅ コマンド: ls *.py\n   理由: Pythonファイル一覧取得\n   終了コード: 0\n   標準出力:\ntest.py\napp.py"
	if got, want := m.last(3), "user: 現在のディレクトリにあるPythonファイルを教えて\nassistant: "+
		`{"text":"確認しますね。","bashActions":[{"command":"ls *.py","reason":"Pythonファイル一覧取得"}]}`+"\nsystem: "+
		blocks; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if a.Text != "現在のディレクトリにはtest.pyとapp.pyの2つのPythonファイルがあります。" || !reflect.DeepEqual(a.Earlier, []string{"確認しますね。"}) ||
		a.Asked != 2 {
		t.Errorf("%+v", a)
	}
	got, _ := json.Marshal(a.Results)
	if want := `[{"command":"ls *.py","reason":"Pythonファイル一覧取得","result":{"stdout":"test.py\napp.py\n","stderr":"","exit_code":"0","cwd":"/home/perso/analysis/ai_secretary"},"error":null}]`; string(got) != want {
		t.Errorf("got %s", got)
	}
	var roles []string
	for _, msg := range log.all {
		roles = append(roles, string(msg.Role))
	}
	if !reflect.DeepEqual(roles, []string{"user", "assistant", "system", "assistant"}) || log.all[2].Text != blocks ||
		log.all[1].Text != "確認しますね。" {
		t.Errorf("kept %v", log.all)
	}
}

func TestCaseOfGit(t *testing.T) {
	s, m, h := newSecretary(t, `{"text":"確認します。","bashActions":[{"command":"git log -1 --oneline","reason":"最新コミット取得"}]}`,
		`{"text":"2e50f33です。"}`)
	h.does["git log -1 --oneline"] = outcome{out: "2e50f33 feat: lifelog-systemを追加\n"}
	if a := chat(t, s, "最新のGitコミットを教えて"); a.Text != "確認します。" || a.Asked != 1 {
		t.Errorf("without requery: %+v", a)
	}
	chat(t, s, "それで？")
	if got := m.last(2); !strings.HasPrefix(got, "system: BASHコマンド実行結果:\n✅ コマンド: git log -1 --oneline\n") ||
		!strings.HasSuffix(got, "を追加\nuser: それで？") {
		t.Errorf("got %s", got)
	}
}

func TestCaseOfRefusal(t *testing.T) {
	s, _, h := newSecretary(t, `{"text":"ファイルを削除します。","bashActions":[{"command":"rm -rf /tmp/test","reason":"ファイル削除"}]}`)
	h.does["rm -rf /tmp/test"] = outcome{err: denied("rm -rf /tmp/test", false)}
	a := chat(t, s, "消して")
	got, _ := json.Marshal(a.Results[0])
	const want = `{"command":"rm -rf /tmp/test","reason":"ファイル削除","result":null,"error":"SecurityError: コマンドがホワイトリストに登録されていません: rm"`
	if !strings.HasPrefix(string(got), want) {
		t.Errorf("got %s", got)
	}
	if got, want := s.items[2].Text,
		"BASHコマンド実行結果:\n❌ コマンド: rm -rf /tmp/test\n   理由: ファイル削除\n   エラー: SecurityError: コマンドがホワイトリストに登録されていません: rm\n   対処: to permit it, add a rule"; got != want {
		t.Errorf("got %s", got)
	}
}

// heard returns what an observer ends up with.
func heard(s *Secretary) func() (text string, types []string) {
	var text string
	var types []string
	s.Observe = func(e Event) {
		switch e.Type {
		case "text":
			text += e.Text
			if strings.Contains(e.Text, "{") || strings.Contains(text, `"text`) {
				text += "RAW"
			}
		case "again":
			if !strings.HasSuffix(text, "RAW") {
				text = ""
			}
		}
		if len(types) == 0 || types[len(types)-1] != e.Type {
			types = append(types, e.Type)
		}
	}
	return func() (string, []string) { return text, types }
}

func TestBrokenAnswers(t *testing.T) {
	const good = `{"text":"はい。"}`
	for name, c := range map[string]struct {
		answers []string
		want    string
		partial bool
	}{
		"good":             {[]string{good}, "はい。", false},
		"fence":            {[]string{"```json\n" + good + "\n```"}, "はい。", false},
		"thoughts":         {[]string{"<think>{\"text\":\"いいえ\"}</think>" + good}, "はい。", false},
		"trailing comma":   {[]string{`{"text":"はい。","bashActions":[],}`}, "はい。", false},
		"no end":           {[]string{`{"text":"はい。","bashActions":[`}, "はい。", false},
		"prose, then good": {[]string{"承知しました。", good}, "はい。", false},
		"prose twice":      {[]string{"承知しました。", "わかりました。"}, "わかりました。", false},
		"prose and JSON":   {[]string{"x", "わかりました。{\"foo\":1}"}, "わかりました。", false},
		"only JSON":        {[]string{`{"foo":1}`, `[{"bar":2}]`}, "（応答を読み取れませんでした。もう一度言い換えてみてください。）", false},
		"thoughts only":    {[]string{"<think>hm", "<think>hm"}, "（応答を読み取れませんでした。もう一度言い換えてみてください。）", false},
		"half, then good":  {[]string{`{"text":"は`, good}, "はい。", false},
		"half twice":       {[]string{`{"text":"は`, `{"text":"はい`}, "はい…", true},
		"nothing":          {[]string{`{"text":""}`, good}, "はい。", false},
		"nothing twice":    {[]string{"", ""}, "（応答を読み取れませんでした。もう一度言い換えてみてください。）", false},
		"answer in answer": {[]string{`{"text":"{\"text\":\"はい。\"}"}`}, "はい。", false},
	} {
		s, m, _ := newSecretary(t, c.answers...)
		end := heard(s)
		a := chat(t, s, "やあ")
		shown, _ := end()
		if a.Text != c.want || shown != c.want || a.Partial != c.partial || a.Asked != len(c.answers) {
			t.Errorf("%s: %q, shown %q, %+v", name, a.Text, shown, a)
		}
		if len(s.items) != 2 || s.items[1].Text != fmt.Sprintf(`{"text":"%s"}`, c.want) {
			t.Errorf("%s: remembered %q", name, s.items)
		}
		if len(c.answers) == 2 && !strings.Contains(m.last(1), "もう一度答えてください") {
			t.Errorf("%s: asked again with %s", name, m.last(1))
		}
	}
}

func TestModelDown(t *testing.T) {
	s, m, _ := newSecretary(t, `!`, `!{"text":"ちょっ`, `{"text":"はい。"}`)
	a, err := s.Chat(t.Context(), "一", Options{})
	if fault.KindOf(err) != fault.Unavailable || !a.Partial || len(s.items) != 0 {
		t.Errorf("%v, %+v, remembered %v", err, a, s.items)
	}
	a, err = s.Chat(t.Context(), "二", Options{})
	if err == nil || a.Text != "ちょっ […]" || !a.Partial {
		t.Errorf("%v, %+v", err, a)
	}
	chat(t, s, "三")
	if got := m.last(9); got != "user: 二\nassistant: {\"text\":\"ちょっ […]\"}\nuser: 三" {
		t.Errorf("got %s", got)
	}
}

func TestModelDownInRequery(t *testing.T) {
	s, m, h := newSecretary(t, `{"text":"見ます。","bashActions":[{"command":"ls","reason":"r"}]}`, `!`, `{"text":"はい。"}`)
	h.does["ls"] = outcome{out: "a\n"}
	s.Requery = true
	a, err := s.Chat(t.Context(), "見て", Options{})
	if fault.KindOf(err) != fault.Unavailable || a.Text != "見ます。" || !a.Partial || len(a.Results) != 1 {
		t.Errorf("%v, %+v", err, a)
	}
	chat(t, s, "それで？")
	if got := m.last(2); !strings.Contains(got, "✅ コマンド: ls") {
		t.Errorf("forgotten: %s", got)
	}
}

func TestRounds(t *testing.T) {
	more := `{"text":"もう一度。","bashActions":[{"command":"ls","reason":"r"}]}`
	s, _, h := newSecretary(t, more, more, more)
	s.Requery, s.Rounds = true, 2
	a := chat(t, s, "見て")
	if len(h.reqs) != 2 || a.Asked != 3 || len(a.Warnings) != 1 {
		t.Errorf("%d runs, %+v", len(h.reqs), a)
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("enough")
	s, _, h := newSecretary(t, `{"text":"a","bashActions":[{"command":"one","reason":""},{"command":"two","reason":""}]}`)
	s.Requery = true
	h.does["one"] = outcome{do: func(context.Context) { cancel(stop) }, err: context.Canceled}
	a, err := s.Chat(ctx, "x", Options{})
	if !errors.Is(err, stop) || len(h.reqs) != 1 || len(a.Results) != 2 ||
		a.Results[1].Error != "ExecutionError: 中断されました" || a.Results[0].Error != a.Results[1].Error {
		t.Errorf("%v, %+v", err, a)
	}
	if len(s.items) != 3 {
		t.Errorf("remembered %v", s.items)
	}
}

func TestHistoryBreaks(t *testing.T) {
	s, _, _ := newSecretary(t, `{"text":"a"}`, `{"text":"b"}`)
	s.History = &memo{full: true}
	if a := chat(t, s, "一"); a.Text != "a" || len(a.Warnings) != 1 ||
		!strings.Contains(a.Warnings[0], "the disk is full") {
		t.Errorf("%+v", a)
	}
	if a := chat(t, s, "二"); a.Text != "b" || len(a.Warnings) != 0 {
		t.Errorf("%+v", a)
	}
}

func TestResume(t *testing.T) {
	s, _, h := newSecretary(t, `{"text":"見ます。","bashActions":[{"command":"ls","reason":"r"}]}`, `{"text":"はい。"}`)
	h.does["ls"] = outcome{out: "a\n"}
	log := &memo{}
	s.History = log
	chat(t, s, "見て")
	chat(t, s, "どう？")
	other, m, _ := newSecretary(t, `{"text":"うん。"}`)
	other.Resume(log.all)
	chat(t, other, "続き")
	if len(other.turns) != 3 || !reflect.DeepEqual(other.items[:len(s.items)], s.items) {
		t.Errorf("got %s", m.last(20))
	}
	other.Forget()
	if len(other.items) != 0 {
		t.Errorf("remembered %v", other.items)
	}
}

func TestLongTalk(t *testing.T) {
	var answers []string
	for i := range 30 {
		answers = append(answers, fmt.Sprintf(`{"text":"答え%d"}`, i))
	}
	s, m, _ := newSecretary(t, answers...)
	s.Context = 4000
	for i := range 30 {
		chat(t, s, fmt.Sprintf("質問%d%s", i, strings.Repeat("あ", 200)))
		d := m.dialogs[i]
		n := llm.Estimate(d.System) + llm.Estimate(string(d.Format.Schema)) + weight(d.Items)
		if n > 3000 {
			t.Fatalf("%d tokens", n)
		}
		if last := d.Items[len(d.Items)-1]; !strings.HasPrefix(last.Text, fmt.Sprintf("質問%dあ", i)) {
			t.Fatalf("the last is %q", last.Text)
		}
	}
	first := m.dialogs[29].Items[:2]
	if first[0].Role != llm.System || first[0].Text != "（これより前の会話は省略されています）" || first[1].Role != llm.User {
		t.Errorf("begins with %q", first)
	}
}

func TestLongLastTurn(t *testing.T) {
	s, m, _ := newSecretary(t, `{"text":"a"}`)
	s.Context = 4000
	chat(t, s, "はじめ"+strings.Repeat("あ", 50000)+"おわり")
	text := m.dialogs[0].Items[0].Text
	if llm.Estimate(text) > 3000 || !strings.HasPrefix(text, "はじめ") || !strings.HasSuffix(text, "おわり") ||
		!strings.Contains(text, "中略") {
		t.Errorf("%d tokens", llm.Estimate(text))
	}
}

type overflows struct{ says }

func (m *overflows) Next(ctx context.Context, d *llm.Dialog) (*llm.Turn, error) {
	if len(m.dialogs) == 0 {
		m.dialogs = append(m.dialogs, *d)
		m.answers = append([]string{""}, m.answers...)
		return nil, llm.Refuse("m", "too long", "", &llm.Refusal{Code: llm.ContextOverflow})
	}
	return m.says.Next(ctx, d)
}

func TestContextOverflow(t *testing.T) {
	s, _, _ := newSecretary(t)
	m := &overflows{says{t: t, answers: []string{`{"text":"はい。"}`}}}
	s.Model = m
	if a := chat(t, s, strings.Repeat("あ", 4500)); a.Text != "はい。" || a.Asked != 2 ||
		weight(m.dialogs[1].Items) >= weight(m.dialogs[0].Items) {
		t.Errorf("%+v", a)
	}
}

func TestProactive(t *testing.T) {
	s, m, h := newSecretary(t, `{"text":""}`, `{"text":"締切が近いです。","bashActions":[{"command":"ls","reason":"r"}]}`,
		`{"text":"はい。"}`)
	todo := &errands{did: make([]TodoAction, 1)}
	s.Todos = todo
	a, err := s.Chat(t.Context(), "", Options{Proactive: true, News: "job-1 が終わりました"})
	if err != nil || !a.Silent || a.Text != "" || len(s.items) != 0 {
		t.Errorf("%+v, %v, %v", a, err, s.items)
	}
	if got := m.last(2); !strings.HasPrefix(got, "system: 現在のTODO:\n1 牛乳\nsystem: しばらく誰も話していません。") ||
		!strings.HasSuffix(got, "新しい知らせ:\njob-1 が終わりました") {
		t.Errorf("got %s", got)
	}
	a, err = s.Chat(t.Context(), "", Options{Proactive: true})
	if err != nil || a.Silent || a.Text != "締切が近いです。" || len(h.reqs) != 0 || len(a.Warnings) != 1 {
		t.Errorf("%+v, %v", a, err)
	}
	if got := m.last(2); !strings.HasPrefix(got, "system: 現在のTODO:\n1 牛乳\n") {
		t.Errorf("the list was not told again: %s", got)
	}
	chat(t, s, "ありがとう")
	if got := m.last(2); got != "assistant: {\"text\":\"締切が近いです。\",\"bashActions\":[{\"command\":\"ls\",\"reason\":\"r\"}]}\nuser: ありがとう" {
		t.Errorf("got %s", got)
	}
}

func TestVoice(t *testing.T) {
	s, _, _ := newSecretary(t, `{"text":"はい。","speedScale":1.5}`)
	v := &voice{err: errors.New("engine is down")}
	s.Voice = v
	s.Speech = speech.Speech{Voice: speech.Voice{Speaker: "00000000-0000-0000-0000-000000000000", Style: 7}}
	a := chat(t, s, "やあ")
	if len(v.said) != 1 || v.said[0].Text != "はい。" || v.said[0].Speed != 1.5 || v.said[0].Style != 7 ||
		!reflect.DeepEqual(a.Warnings, []string{"engine is down"}) {
		t.Errorf("%+v, %+v", v.said, a)
	}
}

func TestSecretsAreNotShown(t *testing.T) {
	s, m, h := newSecretary(t,
		`{"text":"password=hunter22 ですね","bashActions":[{"command":"login --password hunter22","reason":"r"}]}`,
		`{"text":"a"}`)
	h.does["login --password hunter22"] = outcome{out: "token=ghp_abcdefghijklmnopqrstuvwxyz0123456789\n"}
	log := &memo{}
	s.History = log
	a := chat(t, s, "password=hunter22")
	chat(t, s, "x")
	all := fmt.Sprint(m.dialogs[1].Items, log.all, a)
	for _, msg := range log.all {
		all += string(msg.Meta)
	}
	if strings.Contains(all, "hunter22") || strings.Contains(all, "ghp_") {
		t.Errorf("got %s", all)
	}
	if !strings.Contains(all, "1か所の秘密情報を[redacted]に置き換えました") {
		t.Errorf("the model is not told: %s", all)
	}
	if h.reqs[0].Script != "login --password hunter22" {
		t.Errorf("ran %q", h.reqs[0].Script)
	}
}

func TestPrompt(t *testing.T) {
	s, m, _ := newSecretary(t, `{"text":"a"}`)
	s.Todos, s.Name, s.Extra = &errands{}, "ハコ", "関西弁で話す"
	s.Timeout, s.Actions = 45e9, 7
	chat(t, s, "x")
	d := m.dialogs[0]
	for _, want := range []string{"あなたの名前はハコです。", "2026-01-02", "## BASHコマンド実行機能", "- Git: git status, git log", "### 応答例",
		"### 制約事項", "タイムアウトは45秒です", "7件まで",
		"## TODOリスト", "@todo add", "関西弁で話す", "危険なコマンド（rm -rf、chmod 777など）は実行できません"} {
		if !strings.Contains(d.System, want) {
			t.Errorf("%q is not in\n%s", want, d.System)
		}
	}
	if d.Format == nil || d.Format.Name != "secretary_reply" ||
		strings.ContainsAny(strings.ReplaceAll(d.System, "{\n", ""), "$") || strings.Contains(d.System, "{commands}") {
		t.Errorf("%+v", d.Format)
	}
	s.Lang, s.Runner, s.Todos = "en", nil, nil
	if p := s.Prompt(); strings.Contains(p, "bashActions field") || strings.Contains(p, "## Running") ||
		!strings.Contains(p, "Answer with exactly one JSON object") {
		t.Errorf("got %s", p)
	}
}

// Both languages have the same words.
func TestWords(t *testing.T) {
	names := func(lang string) (all []string) {
		s := Secretary{Lang: lang}
		for line := range strings.Lines(s.promptText("words")) {
			name, _, _ := strings.Cut(line, ":")
			all = append(all, name)
			if s.message(name) == "" {
				t.Errorf("%s is empty", name)
			}
		}
		return all
	}
	if ja, en := names("ja"), names("en"); !reflect.DeepEqual(ja, en) {
		t.Errorf("%v\n%v", ja, en)
	}
}

func TestNothingSaid(t *testing.T) {
	s, _, _ := newSecretary(t)
	if _, err := s.Chat(t.Context(), " \n", Options{}); fault.KindOf(err) != fault.Invalid {
		t.Error(err)
	}
}

func TestWordsAreHarmless(t *testing.T) {
	s, _, _ := newSecretary(t, `{"text":" a\u001b[31m\r\nb\u202e "}`)
	end := heard(s)
	watch := s.Observe
	s.Observe = func(e Event) {
		if strings.ContainsAny(e.Text, "\x1b\r\u202e") {
			t.Errorf("told %q", e.Text)
		}
		watch(e)
	}
	a := chat(t, s, "x")
	if shown, _ := end(); a.Text != "a\ufffd[31m\nb\ufffd" || strings.TrimSpace(shown) != a.Text {
		t.Errorf("%q, shown %q", a.Text, shown)
	}
}

func TestBudgetIsTold(t *testing.T) {
	s, m, _ := newSecretary(t, `{"text":"a"}`, `{"text":"b"}`)
	left := "[3 calls left]"
	s.Left = func() string { return left }
	chat(t, s, "x")
	if got := m.last(1); got != "system: [3 calls left]" {
		t.Errorf("got %s", got)
	}
	left = ""
	chat(t, s, "y")
	if got := m.last(9); got != "user: x\nassistant: {\"text\":\"a\"}\nuser: y" {
		t.Errorf("got %s", got)
	}
}

// Words that stand for an answer which could not be read are marked, until there
// is one that can.
func TestGarbledAnswers(t *testing.T) {
	s, _, _ := newSecretary(t, "[[[[", "{{{", "seven", "seven", `{"text":"八"}`)
	for i, want := range []bool{true, false, false} {
		if a := chat(t, s, "x"); a.Garbled != want || a.Text == "" {
			t.Errorf("%d: %q is garbled: %v", i, a.Text, a.Garbled)
		}
	}
	s, _, _ = newSecretary(t, wants("ls"), "[[[[", "{{{")
	s.Requery = true
	if a := chat(t, s, "x"); !a.Garbled || len(a.Results) != 1 {
		t.Errorf("after a command: %+v", a)
	}
}
