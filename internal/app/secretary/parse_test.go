package secretary

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"hako/internal/app/secretary/speech"
)

func TestParseWhole(t *testing.T) {
	const in = `{"text":"現在のディレクトリを確認しますね。","speakerUuid":"3C37646F-3881-5374-2a83-149267990abd","styleId":2,"speedScale":1.2,"volumeScale":0.5,
		"pitchScale":0.05,"intonationScale":1.5,"prePhonemeLength":0.2,"postPhonemeLength":0.3,"outputSamplingRate":48000,
		"prosodyDetail":[[{"phoneme":"k-o","hira":"こ","accent":1}]],
		"todoActions":[{"action":"add","title":"牛乳","due":"2026-01-31","note":"n","priority":"high"}],
		"bashActions":[{"command":"pwd","reason":"確認","timeout":5,"confirm":true}]}`
	want := Reply{Speech: speech.Speech{Text: "現在のディレクトリを確認しますね。",
		Voice:   speech.Voice{Speaker: "3c37646f-3881-5374-2a83-149267990abd", Style: 2},
		Tone:    speech.Tone{Speed: 1.2, Volume: 0.5, Pitch: 0.05, Intonation: 1.5, Before: 0.2, After: 0.3, Rate: 48000},
		Accents: speech.Accents{{{Phoneme: "k-o", Hira: "こ", Accent: 1}}}},
		TodoActions: []TodoAction{{Action: "add", Title: "牛乳", Due: "2026-01-31", Note: "n", Priority: "high"}},
		BashActions: []Action{{"pwd", "確認", 5, true}}}
	got, err := parse(in, defaultSpeech())
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestParseFillsIn(t *testing.T) {
	for in, want := range map[string]string{
		`{"text":"a"}`: `{}`,
		`{"text":"a","styleId":null,"speedScale":"1.5","volumeScale":9,"pitchScale":-3,"prePhonemeLength":"x","outputSamplingRate":8000,"speakerUuid":"../../x"}`: `{"speedScale":1.5,"volumeScale":2,"pitchScale":-0.15}`,
		`{"text":"a","bashActions":{"command":"ls","reason":null}}`:                                `{"bashActions":[{"command":"ls","reason":""}]}`,
		`{"text":"a","bashActions":["ls",3,null,{"cmd":"x"}]}`:                                     `{"bashActions":[{"command":"ls","reason":""},{"command":"","reason":""}]}`,
		`{"text":"a","bashActions":[{"command":["rm","x"],"reason":"r"}]}`:                         `{"bashActions":[{"command":"","reason":"r"}]}`,
		`{"text":"a","bashActions":[{"command":"ls","timeout":"9999","confirm":"maybe"}]}`:         `{"bashActions":[{"command":"ls","reason":"","timeout":600,"confirm":true}]}`,
		`{"text":"a","bashActions":[{"command":"ls","timeout":-4,"confirm":"no"}]}`:                `{"bashActions":[{"command":"ls","reason":"","timeout":1}]}`,
		`{"text":"a","todoActions":[{"type":"Complete","id":"3"},{"op":"add","task":"x"},"what"]}`: `{"todoActions":[{"action":"complete","id":3},{"action":"add","title":"x"}]}`,
		`{"text":"a","bashActions":[{"command":"ls","reason":"r"},{"command":"rm -rf /tmp/te`:      `{"bashActions":[{"command":"ls","reason":"r"}]}`,
		`{"text":"a","bashActions":[{"command":"rm -rf x","reason":"r"`:                            `{}`,
		`{"text":"a","password":"x","prosodyDetail":[[{"phoneme":""}]]}`:                           `{}`,
		`{"text":"a","bashActions":[{"command":"ls","reason":"r"]}`:                                `{"bashActions":[{"command":"ls","reason":"r"}]}`,
		`{"text":["a"]}`: `{}`,
		`{"text":"{\"text\":\"a\",\"bashActions\":[{\"command\":\"rm x\"}]}"}`:       `{}`,
		"```json\n{\n  'text': 'a', // comment\n  \"bashActions\": [],\n}\n```\nどうぞ": `{}`,
	} {
		expected := Reply{Speech: defaultSpeech(), TodoActions: []TodoAction{}, BashActions: []Action{}}
		expected.Text = "a"
		if err := json.Unmarshal([]byte(want), &expected); err != nil {
			t.Fatal(err)
		}
		got, err := parse(in, defaultSpeech())
		got.Notes, got.Lost, got.Misspelt = nil, 0, nil
		if err != nil || !reflect.DeepEqual(got, expected) {
			t.Errorf("%s\ngot  %+v, %v\nwant %+v", in, got, err, expected)
		}
	}
}

func TestParseNotes(t *testing.T) {
	r, err := parse(`{"text":"半分`, defaultSpeech())
	if err != nil || !r.Cut || r.Text != "半分" {
		t.Errorf("%+v, %v", r, err)
	}
	r, err = parse(`{"text":"a","passwd":1,"bashActions":[{"command":"ls"`, defaultSpeech())
	if err != nil || r.Cut || r.Lost != 1 || len(r.Notes) != 2 || !strings.Contains(r.Notes[1], `"passwd"`) {
		t.Errorf("%+v, %v", r, err)
	}
	many, _ := parse(`{"text":"a","bashActions":[`+strings.Repeat(`"ls",`, 1000)+`]}`, defaultSpeech())
	if len(many.BashActions) != maxActionsParsed || len(many.Notes) != 1 {
		t.Errorf("%d actions, %v", len(many.BashActions), many.Notes)
	}
	for _, in := range []string{"", "はい、わかりました。", `{"answer":"x"}`} {
		if r, err := parse(in, defaultSpeech()); err == nil {
			t.Errorf("%q is an answer: %+v", in, r)
		}
	}
}

// What a model answers in the form that it is given is taken as it stands.
func TestSchema(t *testing.T) {
	for _, f := range []json.RawMessage{schema().Schema, planSchema().Schema, verdictSchema().Schema} {
		var s jsonschema.Schema
		if err := json.Unmarshal(f, &s); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Resolve(nil); err != nil {
			t.Error(err)
		}
	}
	var s jsonschema.Schema
	json.Unmarshal(schema().Schema, &s)
	resolved, _ := s.Resolve(nil)
	r := Reply{Speech: defaultSpeech(), TodoActions: []TodoAction{{Action: "complete", ID: 3}},
		BashActions: []Action{{"ls", "r", 5, true}}}
	var v any
	json.Unmarshal([]byte(jsonText(r)), &v)
	if err := resolved.Validate(v); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{`{}`, `{"text":1}`, `{"text":"a","x":1}`,
		`{"text":"a","bashActions":[{"command":"x"}]}`} {
		json.Unmarshal([]byte(bad), &v)
		if resolved.Validate(v) == nil {
			t.Errorf("%s is of the form", bad)
		}
	}
}

// FuzzParse checks that whatever comes, what is taken over is within bounds.
func FuzzParse(f *testing.F) {
	for _, s := range []string{`{"text":"a","bashActions":[{"command":"ls","timeout":1e99}],"speedScale":"NaN","prosodyDetail":[[{"accent":1e308,"phoneme":"a"}]]}`, `{"todoActions":[{"id":1e300}]`, `{"text":`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := parse(s, defaultSpeech())
		if err != nil {
			return
		}
		if r.Speed < 0.5 || r.Speed > 2 || r.Pitch < -0.15 || r.Pitch > 0.15 || r.Style < 0 ||
			len(r.Speaker) != 36 {
			t.Errorf("%+v", r)
		}
		for _, a := range r.BashActions {
			if a.Timeout < 0 || a.Timeout > 600 {
				t.Errorf("%+v", a)
			}
		}
		if !json.Valid([]byte(jsonText(r))) || utf8.ValidString(s) && !utf8.ValidString(r.Text) {
			t.Errorf("%+v", r)
		}
	})
}
