package speech

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"hako/run/fault"
)

func TestVoice(t *testing.T) {
	mana := Voice{"cb11bdbd-78fc-4f16-b528-a400bae1782d", 7}
	gentle := Voice{DefaultVoice().Speaker, 5}
	tests := []struct {
		name         string
		usual, asked Voice
		want         Voice
		warnings     int
	}{
		{"none", Voice{}, Voice{}, DefaultVoice(), 0},
		{"no speaker", gentle, Voice{Style: 3}, gentle, 0},
		{"there", Voice{}, mana, mana, 0},
		{"no such speaker", mana, Voice{"x", 0}, mana, 1},
		{"no such style", Voice{}, Voice{mana.Speaker, 8}, DefaultVoice(), 1},
		{"not even the usual one", Voice{"x", 0}, Voice{"y\x1b", 0}, DefaultVoice(), 1},
	}
	for _, tt := range tests {
		var warnings []error
		e, s := start(t, "{speech: {}}", Options{Voice: tt.usual, Warn: func(err error) { warnings = append(warnings, err) }})
		for range 2 {
			if _, err := e.Say(t.Context(), Speech{Text: "はい", Voice: tt.asked}); err != nil {
				t.Errorf("%s: %v", tt.name, err)
			}
		}
		if got := sent(t, s)[0].Voice; got != tt.want || len(warnings) != tt.warnings {
			t.Errorf("%s: %v, %v", tt.name, got, warnings)
		}
		if len(warnings) == 1 && (fault.Hint(warnings[0]) == "" || strings.Contains(warnings[0].Error(), "\x1b")) {
			t.Errorf("%s: %q", tt.name, warnings[0])
		}
	}
	e, _ := start(t, "{speech: {}}", Options{}) // nobody to warn
	if _, err := e.Say(t.Context(), Speech{Text: "はい", Voice: Voice{"x", 0}}); err != nil {
		t.Error(err)
	}
}

func TestSpeakers(t *testing.T) {
	for _, scenario := range []string{"{speech: {}}", "{speech: {old: true}}"} {
		e, s := start(t, scenario, Options{})
		for range 2 {
			all, err := e.Speakers(t.Context())
			if err != nil || len(all) != 2 || all[0].Name != "つくよみちゃん" || all[1].Styles[0] != (Style{"のーまる", 7}) {
				t.Fatalf("%v %v", all, err)
			}
		}
		if n, old := count(s, "/v1/speakers"), strings.Contains(scenario, "old"); n == 1 != old {
			t.Errorf("%s: asked for pictures %d times", scenario, n)
		}
	}
}

// The pictures are passed over, not collected.
func TestSpeakersWithoutPictures(t *testing.T) {
	picture := strings.Repeat("A", 256<<10)
	var body strings.Builder
	for i := range 40 {
		fmt.Fprintf(&body, `%c{"speakerName":"n\u001b","speakerUuid":"u%d","styles":[{"styleName":"s","styleId":1,"base64Icon":"%s"}]}`, "[,"[min(i, 1)], i, picture)
	}
	body.WriteString("]")
	var before, after runtime.MemStats
	var all []Speaker
	runtime.ReadMemStats(&before)
	err := decodeSpeakers(json.NewDecoder(strings.NewReader(body.String())), &all)
	runtime.ReadMemStats(&after)
	if err != nil || len(all) != 40 || all[0].Name != "n" || all[39].UUID != "u39" {
		t.Fatalf("%d: %v", len(all), err)
	}
	if taken := after.TotalAlloc - before.TotalAlloc; taken > 4<<20 {
		t.Errorf("%d bytes were taken for 10 MB", taken)
	}
}

func TestSpeakersUnread(t *testing.T) {
	for body, want := range map[string]string{
		"<html>":                  "the answer cannot be read",
		`{"speakers":[]}`:         "the answer cannot be read",
		`[{"speakerName":1}]`:     "the answer cannot be read",
		`[{"speakerName":"a"},`:   "the answer broke off",
		"":                        "the answer broke off",
		`[{"speakerName":"a"}] x`: "",
	} {
		e := serve(t, func(w http.ResponseWriter) { fmt.Fprint(w, body) })
		if _, err := e.Speakers(t.Context()); (err == nil) != (want == "") || err != nil &&
			!strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %v", body, err)
		}
	}
	e := serve(t, nil)
	endless := &boundedBody{ReadCloser: io.NopCloser(strings.NewReader(`[{"base64Portrait":"` + strings.Repeat("A", 10_000))),
		left: 10_000}
	if err := e.decode(decodeSpeakers(json.NewDecoder(endless), new([]Speaker))); !errors.Is(err, errTooLarge) {
		t.Error(err)
	}
}
