package secretary

import (
	"reflect"
	"strings"
	"testing"

	"hako/run/fault"
)

func TestThreeSteps(t *testing.T) {
	s, m, h := newSecretary(t,
		`{"need_actions":true,"bashActions":[{"command":"ls","reason":"r"}]}`,
		`{"text":"二つです。"}`, `{"ok":false,"problem":"数が違う"}`,
		`{"need_actions":false}`,
		`{"text":"一つです。","bashActions":[{"command":"rm x","reason":"r"}]}`,
		"```json\n{\"ok\": true, \"problem\": \"\",}\n```")
	h.does["ls"] = outcome{out: "a\n"}
	v := &voice{}
	s.ThreeStep, s.Voice = true, v
	a := chat(t, s, "いくつ？")
	if a.Text != "一つです。" || a.Asked != 6 || len(h.reqs) != 1 || len(a.Results) != 1 || len(a.Earlier) != 0 {
		t.Errorf("%+v", a)
	}
	var forms []string
	for _, d := range m.dialogs {
		forms = append(forms, strings.TrimPrefix(d.Format.Name, "secretary_"))
	}
	if !reflect.DeepEqual(forms, []string{"plan", "reply", "check", "plan", "reply", "check"}) {
		t.Errorf("asked for %v", forms)
	}
	if len(v.said) != 1 || v.said[0].Text != "一つです。" {
		t.Errorf("said %+v", v.said)
	}
	items := m.dialogs[1].Items
	if got := items[len(items)-2].Text; !strings.Contains(got, "✅ コマンド: ls") {
		t.Errorf("answered without results: %s", got)
	}
	items = m.dialogs[4].Items
	if got := items[len(items)-1].Text; !strings.Contains(got, "直前の応答には問題がありました: 数が違う") {
		t.Errorf("the problem was not told: %s", got)
	}
	if len(a.Warnings) != 1 || !strings.Contains(a.Warnings[0], "計画にない") {
		t.Errorf("%v", a.Warnings)
	}
}

func TestNeverGoodEnough(t *testing.T) {
	round := []string{`{"need_actions":false}`, `{"text":"はい。"}`, `{"ok":false}`}
	s, _, _ := newSecretary(t, append(append(round, round...), round...)...)
	s.ThreeStep = true
	a := chat(t, s, "x")
	if a.Asked != 9 || a.Text != "はい。" || len(a.Warnings) != 1 {
		t.Errorf("%+v", a)
	}
}

func TestStepsThatFail(t *testing.T) {
	s, _, _ := newSecretary(t, "計画？", `{"text":"はい。"}`, `よい`)
	s.ThreeStep = true
	if a := chat(t, s, "x"); a.Text != "はい。" || len(a.Warnings) != 2 {
		t.Errorf("%+v", a)
	}
	s, _, _ = newSecretary(t, `{"need_actions":false}`, `{"text":"はい。"}`, `!`)
	s.ThreeStep = true
	if a := chat(t, s, "x"); a.Text != "はい。" || a.Partial || len(a.Warnings) != 1 {
		t.Errorf("%+v", a)
	}
	s, _, h := newSecretary(t, `{"need_actions":true,"bashActions":["ls"]}`, `!`)
	s.ThreeStep = true
	a, err := s.Chat(t.Context(), "x", Options{})
	if fault.KindOf(err) != fault.Unavailable || !a.Partial || len(h.reqs) != 1 || len(s.items) != 3 {
		t.Errorf("%v, %+v, remembered %v", err, a, s.items)
	}
}
