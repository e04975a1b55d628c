package fakes

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

const (
	toSynthesis = "POST /v1/synthesis"
	toPredict   = "POST /v1/predict"
	acceptWAV   = "Accept: audio/wav"
	predictBody = `{"speakerUuid":"` + firstSpeaker + `","styleId":0,"text":"はい。","speedScale":1`
	fullBody    = predictBody +
		`,"prosodyDetail":[],"volumeScale":1,"pitchScale":0,"intonationScale":1,"prePhonemeLength":0.1,"postPhonemeLength":0.1,"outputSamplingRate":24000}`
)

func sayBody(old, new string) string { return strings.Replace(fullBody, old, new, 1) }

// TestSpeechSounds checks that a WAV is one, as long as its text and speed say.
func TestSpeechSounds(t *testing.T) {
	s := play(t, "{speech: {says: [はい。, はい。はい。, はい。]}}")
	samples := func(g got) int {
		t.Helper()
		b := must(t, g)
		if g.header.Get("Content-Type") != "audio/wav" || b[:4] != "RIFF" || b[8:16] != "WAVEfmt " || b[36:40] != "data" {
			t.Fatalf("%v %q", g.header, b[:44])
		}
		n := int(binary.LittleEndian.Uint32([]byte(b[40:])))
		if len(b) != 44+n || int(binary.LittleEndian.Uint32([]byte(b[4:]))) != 36+n {
			t.Errorf("%d bytes of %d", n, len(b))
		}
		return n / 2
	}
	if n := samples(ask(t, s, toSynthesis, fullBody, acceptWAV)); n != 24000/2 {
		t.Errorf("%d samples", n)
	}
	if n := samples(ask(t, s, toSynthesis, sayBody("はい。", "はい。はい。"), acceptWAV)); n != 24000*8/10 {
		t.Errorf("%d samples of twice the text", n)
	}
	if n := samples(ask(t, s, toSynthesis, sayBody(`speedScale":1`, `speedScale":2`), acceptWAV)); n != 24000*35/100 {
		t.Errorf("%d samples at twice the speed", n)
	}
	if n := samples(ask(t, s, toPredict, predictBody+"}", acceptWAV)); n != 44100*3/10 {
		t.Errorf("%d samples without a tone", n)
	}
	finish(t, s) // the last two said the same, which counts once
}

func TestSpeechLists(t *testing.T) {
	s := play(t, "{speech: {}}")
	if body := must(t, ask(t, s, "GET /v1/engine_info", "")); body != `{"device":"cpu","version":"2.3.0"}` {
		t.Error(body)
	}
	if body := must(t, ask(t, s, "GET /v1/speakers_path_variant", "")); len(body) > 10_000 ||
		!strings.Contains(body, firstSpeaker) {
		t.Error(body)
	}
	if body := must(t, ask(t, s, "GET /v1/speakers", "")); len(body) < 1<<20 || !strings.Contains(body, `"base64Icon"`) {
		t.Error(len(body))
	}
	if body := must(t, ask(t, s, "POST /v1/estimate_prosody",
		`{"text":"は"}`)); body != `{"plain":["は"],"detail":[[{"phoneme":"a","hira":"は","accent":0}]]}` {
		t.Error(body)
	}
	finish(t, s)
	old := play(t, "{speech: {old: true}}")
	if g := ask(t, old, "GET /v1/speakers_path_variant", ""); g.status != 404 {
		t.Error(g.status)
	}
	must(t, ask(t, old, "GET /v1/speakers", ""))
	finish(t, old)
}

// TestSpeechViolations checks what must not be asked.
func TestSpeechViolations(t *testing.T) {
	tests := []struct {
		name, body, accept string
		status             int
		answer, want       string
	}{
		{"missing", sayBody(`"pitchScale":0,`, ""), acceptWAV, 422,
			`{"detail":[{"loc":["body","pitchScale"],"msg":"field required","type":"value_error.missing"}]}`,
			"missing required parameter: 'pitchScale'"},
		{"unknown", sayBody(`"text"`, `"emotion":1,"text"`), acceptWAV, 422, "emotion", "unknown parameter: 'emotion'"},
		{"range", sayBody(`speedScale":1`, `speedScale":2.5`), acceptWAV, 422, `"loc":["body","speedScale"]`,
			"speedScale: must be a number from 0.5 to 2"},
		{"rate", sayBody("24000", "8000"), acceptWAV, 422, "outputSamplingRate", "must be one of 16000"},
		{"empty", sayBody("はい。", " "), acceptWAV, 422, "text", "text: must match"},
		{"style", sayBody(`styleId":0`, `styleId":1`), acceptWAV, 500, "Internal", "there is no such voice"},
		{"accents", sayBody("[]", `[[{"phoneme":"a"}]]`), acceptWAV, 422, "field required",
			"missing required parameter: 'prosodyDetail[0][0].accent'"},
		{"accept", fullBody, "Accept: */*", 200, "RIFF", "not audio/wav"},
		{"no JSON", "{", acceptWAV, 422, "detail", "not JSON"},
	}
	for _, tt := range tests {
		s := play(t, "{speech: {}}")
		if g := ask(t, s, toSynthesis, tt.body, tt.accept); g.status != tt.status || !strings.Contains(g.body, tt.answer) {
			t.Errorf("%s: %d %.200s", tt.name, g.status, g.body)
		}
		finish(t, s, tt.want)
	}
	s := play(t, "{speech: {says: [いいえ。], fields: {styleId: 5}}}")
	must(t, ask(t, s, toSynthesis, fullBody, acceptWAV))
	finish(t, s, "styleId is 0, not 5", `what was said is ["はい。"], not ["いいえ。"]`)
}

// TestSpeechFaults checks that what should go wrong does, in turn.
func TestSpeechFaults(t *testing.T) {
	s := play(t, `{speech: {faults: ["500", "422", cut, abort, html, redirect, short_wav, not_wav, ""]}}`)
	say := func() got { return ask(t, s, toSynthesis, fullBody, acceptWAV) }
	if g := say(); g.status != 500 {
		t.Errorf("%+v", g)
	}
	if g := say(); g.status != 422 || !strings.Contains(g.body, `"loc":["body","styleId"]`) {
		t.Errorf("%+v", g)
	}
	for range 2 {
		if g := say(); g.err == nil {
			t.Errorf("%d came through", len(g.body))
		}
	}
	if g := say(); g.header.Get("Content-Type") != "text/html" {
		t.Errorf("%+v", g)
	}
	if g := say(); g.status != 307 || g.header.Get("Location") == "" {
		t.Errorf("%+v", g)
	}
	if g := say(); g.status != 200 || int(binary.LittleEndian.Uint32([]byte(g.body[4:])))+8 != len(g.body)+100 {
		t.Error(len(g.body))
	}
	if g := say(); g.body != "this is no sound" {
		t.Errorf("%+v", g)
	}
	for range 2 {
		must(t, say())
	}
	extreme := strings.NewReplacer(`speedScale":1`, `speedScale":1.3`, `pitchScale":0`, `pitchScale":0.1`,
		`intonationScale":1`, `intonationScale":1.5`).Replace(fullBody)
	if g := ask(t, s, toSynthesis, extreme, acceptWAV); g.status != 500 {
		t.Errorf("%+v", g)
	}
	finish(t, s)
}

// TestSpeechAddress checks who is told about the engine.
func TestSpeechAddress(t *testing.T) {
	address := func(s *Server) string {
		for _, kv := range s.Env() {
			if v, ok := strings.CutPrefix(kv, "HAKO_SPEECH_URL="); ok {
				return v
			}
		}
		return ""
	}
	if s := play(t, "{speech: {}}"); address(s) != s.URL() {
		t.Error(address(s))
	}
	for _, text := range []string{"{speech: {down: true}}", "{}"} {
		s := play(t, text)
		if address(s) != closedPort {
			t.Errorf("%s: %s", text, address(s))
		}
		if g := ask(t, s, "GET /v1/engine_info", ""); g.status != 404 {
			t.Errorf("%s: %+v", text, g)
		}
		finish(t, s, "there is no such address")
	}
}

func TestSpeechScenario(t *testing.T) {
	for text, want := range map[string]string{
		`{speech: {faults: [shrt_wav]}}`:          "did you mean short_wav?",
		`{speech: {delay_ms: -1}}`:                "delay_ms",
		`{speech: {down: true, says: [x]}}`:       "who is down hears nothing",
		`{speech: {voice: x}}`:                    "field voice not found",
		`{steps: [{on: speech}]}`:                 "there is no service",
		`{speech: {}, steps: [{on: page}]}`:       "begins with /pages/",
		`{speech: {faults: ["", 500], old: yes}}`: "",
	} {
		if _, err := Parse(text); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestSpeechScript checks that scripts find the engine, and fail when it heard
// the wrong thing.
func TestSpeechScript(t *testing.T) {
	for script, fails := range map[string]string{
		"fake v.yaml\nhas HAKO_SPEECH_URL\nget /v1/engine_info\n-- v.yaml --\nspeech: {}\n": "",
		"fake v.yaml\nhas HAKO_SPEECH_URL\nfake-done\n-- v.yaml --\nspeech: {says: [はい]}\n": `what was said is [], not ["はい"]`,
	} {
		file := filepath.Join(t.TempDir(), "x.txtar")
		if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
			t.Fatal(err)
		}
		trial := &trial{}
		trial.aside(func() { testscript.RunT(trial, params(t, file, true)) })
		if log := trial.log.String(); trial.failed != (fails != "") || !strings.Contains(log, fails) {
			t.Errorf("failed: %t\n%s", trial.failed, log)
		}
	}
}
