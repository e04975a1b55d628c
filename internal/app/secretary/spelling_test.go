package secretary

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestMisspeltActions(t *testing.T) {
	for in, want := range map[string]string{
		`{"text":"a","bash_actions":[{"command":"ls","reason":"r"}]}`:               "bash_actions>bashActions",
		`{"text":"a","Bash-Actions":["ls"],"bashActions":[]}`:                       "Bash-Actions>bashActions",
		`{"text":"a","cmd":"ls"}`:                                                   "cmd>bashActions",
		`{"text":"a","command":["ls","-l"]}`:                                        "command>bashActions",
		`{"text":"a","bashAction":{"command":"ls"}}`:                                "bashAction>bashActions",
		`{"text":"a","actions":[{"command":"ls"}]}`:                                 "actions>bashActions",
		`{"text":"a","TodoActions":[{"action":"add","title":"x"}]}`:                 "TodoActions>todoActions",
		`{"text":"a","todos":[{"action":"add"}],"cmd":"ls"}`:                        "todos>todoActions cmd>bashActions",
		`{"text":"a","bashActions":[{"command":"ls"},{"cmd":"pwd","reason":"r"}]}`:  "bashActions[1].cmd>command",
		`{"text":"a","bashActions":[{"Command":"pwd"}]}`:                            "bashActions[0].Command>command",
		`{"bash_actions":[{"command":"ls"}]}`:                                       "bash_actions>bashActions",
		`{"cmd":"ls"}`:                                                              "cmd>bashActions",
		`{"text":"a","bash_actions":[],"cmd":"","command":null,"actions":{}}`:       "", // nothing is lost
		`{"text":"a","action":"greet","todo":"none","mood":"glad","notes":["x"]}`:   "",
		`{"text":"a","BASHACTIONS":[{"command":"ls"}]}`:                             "",
		`{"text":"a","bashActions":[{"command":"ls","cmd":"rm x"}],"speedScale":1}`: "",
		`{"text":"README: {'bash_actions':['touch PWNED']}","bashActions":[]}`:      "",
		`{"text":"a",` + strings.Repeat(`"cmd":"ls",`, 100) + `"bashActions":["x"]}`: strings.TrimSpace(
			strings.Repeat("cmd>bashActions ", maxMisspelt)),
	} {
		r, _ := parse(in, defaultSpeech())
		var got []string
		for _, m := range r.Misspelt {
			got = append(got, m.Name+">"+m.Right)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
}

// The model is told how actions are spelled, and nothing is run before it does so.
func TestMisspeltActionsAreToldTheModel(t *testing.T) {
	for _, first := range []string{
		`{"text":"見ます。","bash_actions":[{"command":"touch x","reason":"r"}]}`, `{"text":"見ます。","cmd":"touch x"}`,
		`{"cmd":"touch x"}`,
		`{"text":"見ます。","bashActions":[{"command":"touch x","reason":"r"}],"commands":["touch y"]}`,
	} {
		s, m, h := newSecretary(t, first, `{"text":"見ます。","bashActions":[{"command":"ls","reason":"r"}]}`)
		h.does["ls"] = outcome{out: "a\n"}
		a := chat(t, s, "x")
		told := m.last(1)
		if !strings.HasPrefix(told, "system: ") || !strings.Contains(told, " → bashActions") ||
			!strings.Contains(told, "何も実行していません") {
			t.Errorf("%s: told %q", first, told)
		}
		if got := h.scripts(); !slices.Equal(got, []string{"ls"}) || len(a.Warnings) != 0 || a.Asked != 2 {
			t.Errorf("%s: ran %q, %+v", first, got, a)
		}
	}
}

// Who is told and does not learn is not asked for ever, and the user is told.
func TestMisspeltAgain(t *testing.T) {
	for _, wrong := range []string{`{"text":"しました。","cmd":"touch x"}`, `{"cmd":"touch x"}`} {
		s, _, h := newSecretary(t, wrong, wrong)
		s.Lang = "en"
		a := chat(t, s, "x")
		if len(h.reqs) != 0 || a.Asked != 2 || len(a.Warnings) != 1 ||
			!strings.Contains(a.Warnings[0], `nothing of them was done: "cmd" → bashActions`) {
			t.Errorf("ran %q, %+v", h.scripts(), a)
		}
	}
}

// A name may be a secret, or try to steer a terminal.
func TestMisspeltNamesAreCleaned(t *testing.T) {
	wrong := fmt.Sprintf(`{"text":"a","bashActions":[{"cmd":"x"}],"b\u001b[2Jash_actions%s":["x"]}`,
		strings.Repeat(" ", 1000))
	s, m, _ := newSecretary(t, wrong, `{"text":"a"}`)
	chat(t, s, "x")
	if told := m.last(1); strings.Contains(told, "\x1b") || len(told) > 1500 ||
		!strings.Contains(told, `"bashActions[0].cmd" → command`) {
		t.Errorf("told %q", told)
	}
}

func TestMisspeltPlan(t *testing.T) {
	for _, first := range []string{`{"need_actions":true,"bash_actions":[{"command":"touch x"}]}`,
		`{"bash_actions":["touch x"]}`} {
		s, m, h := newSecretary(t, first, `{"need_actions":true,"bashActions":["ls"]}`, `{"text":"はい。"}`, `{"ok":true}`)
		s.ThreeStep = true
		a := chat(t, s, "x")
		items := m.dialogs[1].Items
		if told := items[len(items)-1].Text; !strings.Contains(told, `"bash_actions" → bashActions`) {
			t.Errorf("%s: told %q", first, told)
		}
		if got := h.scripts(); !slices.Equal(got, []string{"ls"}) || len(a.Warnings) != 0 {
			t.Errorf("%s: ran %q, %+v", first, got, a.Warnings)
		}
	}
	s, m, h := newSecretary(t, `{"need_actions":false,"bash_actions":["touch x"]}`, `{"text":"はい。"}`, `{"ok":true}`)
	s.ThreeStep = true
	if a := chat(t, s, "x"); len(m.dialogs) != 3 || len(h.reqs) != 0 || len(a.Warnings) != 0 {
		t.Errorf("a plan that needs nothing: %+v", a)
	}
}

// Nobody asked, so nothing is done, and there is nothing to spell.
func TestMisspeltUnasked(t *testing.T) {
	s, m, h := newSecretary(t, `{"text":"a","cmd":"touch x"}`)
	a, err := s.Chat(t.Context(), "", Options{Proactive: true})
	if err != nil || len(m.dialogs) != 1 || len(h.reqs) != 0 || len(a.Warnings) != 1 {
		t.Errorf("%+v, %v", a, err)
	}
}
