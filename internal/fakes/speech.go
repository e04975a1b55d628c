package fakes

import (
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Speech is a COEIROINK engine. It needs no steps: it answers every valid request, and
// an invalid one is a violation.
//
// Like the real one it fails, with 500, for a speed of 1.3 or more together with a
// pitch of 0.1 and an intonation of 1.5.
type Speech struct {
	Down bool `yaml:"down"` // nothing listens at its URL
	Old  bool `yaml:"old"`  // it has no speakers_path_variant

	Says   []string       `yaml:"says"`   // the texts to be spoken, in this order; none means any
	Fields map[string]any `yaml:"fields"` // that each synthesis request must have

	// Faults are those of the synthesis requests, one after the other, empty for none.
	// The last one repeats.
	Faults  []string `yaml:"faults"`
	DelayMS int      `yaml:"delay_ms"` // before each response
}

// speechFaults are the faults of a synthesis request.
const speechFaults = "500 422 cut abort html redirect short_wav not_wav endless_wav"

// The speakers of the fake, for Speech.Fields.
const (
	firstSpeaker  = "3c37646f-3881-5374-2a83-149267990abc"
	secondSpeaker = "cb11bdbd-78fc-4f16-b528-a400bae1782d"
)

// check validates the speech of a scenario.
func (s *Speech) check() error {
	if s == nil {
		return nil
	}
	if s.Down && (s.Says != nil || s.Faults != nil || s.Fields != nil) {
		return wrong("speech", "who is down hears nothing; leave out the rest")
	}
	for _, f := range s.Faults {
		if f != "" && !hasWord(speechFaults, f) {
			return wrong("speech", fmt.Sprintf("there is no fault %q%s", f, nearest(f, strings.Fields(speechFaults))))
		}
	}
	if s.DelayMS < 0 || time.Duration(s.DelayMS)*time.Millisecond > maxDelay {
		return wrong("speech", fmt.Sprintf("delay_ms is not between 0 and %d", maxDelay.Milliseconds()))
	}
	return nil
}

// speaks reports whether there is an engine.
func (sc *Scenario) speaks() bool { return sc.Speech != nil && !sc.Speech.Down }

// onSpeech is the name of the engine in violations; no step can be about it.
const onSpeech = "speech"

// speechService returns the handler of a path of the engine.
func (s *Server) speechService(method, path string) (func(*exchange) *reply, bool) {
	answer, ok := map[string]func(*exchange) *reply{
		"GET /v1/engine_info":           answerEngine,
		"GET /v1/speakers":              answerSpeakers,
		"GET /v1/speakers_path_variant": answerPathVariant,
		"POST /v1/estimate_prosody":     answerProsody,
		"POST /v1/predict":              answerPredict,
		"POST /v1/synthesis":            answerSynthesis,
	}[method+" "+path]
	return answer, ok && s.sc.speaks()
}

func answerEngine(*exchange) *reply {
	return &reply{body: object("device", "cpu", "version", "2.3.0")}
}

// answerPathVariant is missing in old engines.
func answerPathVariant(x *exchange) *reply {
	if x.sc.Speech.Old {
		return &reply{status: http.StatusNotFound, body: object("detail", "Not Found")}
	}
	return &reply{body: speakers("path", "speaker_info/portrait.png")}
}

// answerSpeakers includes large pictures, as the real engine does.
func answerSpeakers(*exchange) *reply {
	return &reply{body: speakers("base64", base64.StdEncoding.EncodeToString(make([]byte, 300<<10)))}
}

func speakers(how, picture string) json.RawMessage {
	style := func(name string, id int) json.RawMessage {
		return object("styleName", name, "styleId", id, how+"Icon", picture, how+"Portrait", nil)
	}
	speaker := func(name, uuid string, styles ...json.RawMessage) json.RawMessage {
		return object("speakerName", name, "speakerUuid", uuid, "styles", styles, "version", "1.0.0", how+"Portrait", picture)
	}
	return mustMarshal([]json.RawMessage{
		speaker("つくよみちゃん", firstSpeaker, style("れいせい", 0), style("おしとやか", 5)),
		speaker("MANA", secondSpeaker, style("のーまる", 7)),
	})
}

// readBody parses and checks the body of a request.
func (x *exchange) readBody(name string) *reply {
	fields, err := decode(x.body)
	why := ""
	switch {
	case err != nil:
		why = "body: " + err.Error()
	case !strings.HasPrefix(x.r.Header.Get("Content-Type"), "application/json"):
		why = "body: the content type must be application/json"
	default:
		why = shapes()[name]("", fields)
	}
	if why != "" {
		x.violate("%s", why)
		return unprocessable(why)
	}
	x.fields = fields
	return nil
}

// unprocessable formats an error as FastAPI does.
func unprocessable(why string) *reply {
	at, kind := "body", "value_error"
	if missing, ok := strings.CutPrefix(why, "missing required parameter: '"); ok {
		at, why, kind = strings.TrimSuffix(missing, "'"), "field required", "value_error.missing"
	} else if name, rest, ok := strings.Cut(why, ": "); ok {
		at, why = name, rest
	}
	return &reply{status: http.StatusUnprocessableEntity,
		body: object("detail", []json.RawMessage{object("loc", []string{"body", at}, "msg", why, "type", kind)})}
}

func answerProsody(x *exchange) *reply {
	if refused := x.readBody("prosody"); refused != nil {
		return refused
	}
	said, _ := x.fields["text"].(string)
	var morae []json.RawMessage
	for _, r := range said {
		morae = append(morae, object("phoneme", "a", "hira", string(r), "accent", 0))
	}
	return &reply{body: object("plain", []string{said}, "detail", []json.RawMessage{array(morae)})}
}

func answerPredict(x *exchange) *reply   { return x.sound("predict") }
func answerSynthesis(x *exchange) *reply { return x.sound("synthesis") }

// sound answers a synthesis request, or applies a fault.
func (x *exchange) sound(name string) *reply {
	if refused := x.readBody(name); refused != nil {
		return refused
	}
	x.compareSpeech()
	r := x.spoken()
	switch {
	case !x.voiceExists():
		x.violate("there is no such voice")
		r = broken()
	case x.extreme():
		r = broken()
	}
	x.applyFault(r)
	r.wait = time.Duration(x.sc.Speech.DelayMS) * time.Millisecond
	return r
}

// spoken is the sound itself.
func (x *exchange) spoken() *reply {
	rate := int(cmp.Or(x.amount("outputSamplingRate"), 44100))
	said := fmt.Sprint(x.fields["text"])
	seconds := 0.1*float64(utf8.RuneCountInString(said))/x.amount("speedScale") + x.amount("prePhonemeLength") +
		x.amount("postPhonemeLength")
	return &reply{mime: "audio/wav", body: wave(rate, int(math.Round(seconds*float64(rate))))}
}

// amount returns a number of the request; zero if there is none.
func (x *exchange) amount(name string) float64 {
	n, _ := x.fields[name].(json.Number)
	f, _ := n.Float64()
	return f
}

func (x *exchange) voiceExists() bool {
	style := x.amount("styleId")
	switch x.fields["speakerUuid"] {
	case firstSpeaker:
		return style == 0 || style == 5
	case secondSpeaker:
		return style == 7
	}
	return false
}

// extreme is what the real engine fails for.
func (x *exchange) extreme() bool {
	return x.amount("speedScale") >= 1.3 && x.amount("pitchScale") >= 0.1 && x.amount("intonationScale") >= 1.5
}

func broken() *reply {
	return &reply{status: http.StatusInternalServerError, mime: "text/plain; charset=utf-8",
		body: []byte("Internal Server Error")}
}

// applyFault applies the fault of the scenario.
func (x *exchange) applyFault(r *reply) {
	faults := x.sc.Speech.Faults
	number := x.sounds
	x.sounds++
	if len(faults) == 0 || r.status != 0 {
		return
	}
	switch faults[min(number, len(faults)-1)] {
	case "500":
		*r = *broken()
	case "422":
		*r = *unprocessable("styleId: value is not a valid style")
	case "cut":
		r.ending = short
	case "abort":
		r.ending = reset
	case "html":
		r.mime, r.body = "text/html", []byte("<h1>It works!</h1>")
	case "redirect":
		*r = reply{status: http.StatusTemporaryRedirect, header: map[string]string{"Location": x.url + "/elsewhere"}}
	case "short_wav":
		r.body = r.body[:len(r.body)-100]
	case "not_wav":
		r.body = []byte("this is no sound")
	case "endless_wav":
		r.body = make([]byte, 65<<20)
		copy(r.body, wave(24000, 0))
	}
}

// compareSpeech compares a request with the scenario.
func (x *exchange) compareSpeech() {
	if accept := x.r.Header.Get("Accept"); accept != "audio/wav" {
		x.violate("Accept is %q, not audio/wav", accept)
	}
	x.said = append(x.said, fmt.Sprint(x.fields["text"]))
	for name, want := range x.sc.Speech.Fields {
		got, _ := marshal(x.fields[name])
		if text, err := marshal(want); err != nil || string(text) != string(got) {
			x.violate("%s is %s, not %s", name, got, text)
		}
	}
}

// checkSpoken compares the spoken texts with the scenario. A text that was requested
// again after an error counts once.
func (s *Server) checkSpoken() []string {
	if s.sc.Speech == nil || s.sc.Speech.Says == nil {
		return nil
	}
	if said := slices.Compact(slices.Clone(s.said)); !slices.Equal(said, s.sc.Speech.Says) {
		return []string{fmt.Sprintf("what was said is %q, not %q", said, s.sc.Speech.Says)}
	}
	return nil
}

// wave returns a WAV of a soft tone: one channel of 16 bits.
func wave(rate, samples int) []byte {
	b := append(make([]byte, 0, 44+2*samples), "RIFF"...)
	b = binary.LittleEndian.AppendUint32(b, uint32(36+2*samples))
	b = append(b, "WAVEfmt "...)
	for _, n := range []uint32{16, 1 | 1<<16, uint32(rate), uint32(2 * rate), 2 | 16<<16} {
		b = binary.LittleEndian.AppendUint32(b, n)
	}
	b = append(b, "data"...)
	b = binary.LittleEndian.AppendUint32(b, uint32(2*samples))
	for i := range samples {
		b = binary.LittleEndian.AppendUint16(b, uint16(int16(1000*math.Sin(float64(i)*2*math.Pi*440/float64(rate)))))
	}
	return b
}
