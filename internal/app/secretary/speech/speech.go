// Package speech converts text to sound with a COEIROINK engine, as a WAV. A [Player] plays it.
//
// Speech is optional: values out of range are clamped, an unknown voice becomes the default one, an
// unreachable engine is tried at most once a minute, and no error loses the text that was to be spoken.
package speech

import (
	"cmp"
	"encoding/json"
	"math"
	"net/http"
	"slices"
	"sync"
	"time"

	"hako/run/fault"
)

// defaultURL is the default address of COEIROINK.
const defaultURL = "http://127.0.0.1:50032"

// DefaultVoice is つくよみちゃん, which comes with the engine.
func DefaultVoice() Voice { return Voice{Speaker: "3c37646f-3881-5374-2a83-149267990abc"} }

// Options configure an Engine.
type Options struct {
	URL    string // empty means DefaultURL
	Remote bool   // allow an engine on another machine
	Voice  Voice  // used instead of an unset or missing voice; zero means DefaultVoice

	Wait time.Duration    // for one piece of a text; zero means 30 s
	Warn func(error)      // gets warnings; nil means that nobody does
	Now  func() time.Time // nil means time.Now
}

// An Engine is a client of a COEIROINK engine. It is safe for concurrent use.
type Engine struct {
	Options
	base   address
	client *http.Client

	mu               sync.Mutex
	speakers         []Speaker
	warned           map[Voice]bool
	unreachable      error // why the engine is unreachable; nil means that it is reachable
	unreachableSince time.Time
}

// New validates the options and returns an Engine. It sends no request.
func New(o Options) (*Engine, error) {
	if o.URL == "" {
		o.URL = defaultURL
	}
	if o.Voice == (Voice{}) {
		o.Voice = DefaultVoice()
	}
	if o.Wait <= 0 {
		o.Wait = 30 * time.Second
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	base, err := parseAddress(o.URL, o.Remote)
	if err != nil {
		return nil, err
	}
	return &Engine{Options: o, base: base, client: newClient(o.Remote), warned: map[Voice]bool{}}, nil
}

// A Speech is a text and how to speak it. Its JSON has the names that the engine uses.
type Speech struct {
	Text string `json:"text"` // markdown or plain
	Voice
	Tone
	// Accents overrides the pronunciation of the text; empty means that the engine estimates it. It is
	// used only if the text is spoken unchanged and in one piece.
	Accents Accents `json:"prosodyDetail"`
}

// A Voice is a style of a speaker.
type Voice struct {
	Speaker string `json:"speakerUuid"` // empty means the default voice
	Style   int    `json:"styleId"`
}

// A Tone is how a text is spoken. The zero Tone means [Neutral]; to change a value, start with Neutral.
type Tone struct {
	Speed      float64 `json:"speedScale"`         // 0.5 to 2
	Volume     float64 `json:"volumeScale"`        // 0 to 2
	Pitch      float64 `json:"pitchScale"`         // -0.15 to 0.15
	Intonation float64 `json:"intonationScale"`    // 0 to 2
	Before     float64 `json:"prePhonemeLength"`   // seconds of silence, 0 to 1.5
	After      float64 `json:"postPhonemeLength"`  // seconds of silence, 0 to 1.5
	Rate       int     `json:"outputSamplingRate"` // 16000, 24000, 44100 or 48000
}

// Neutral returns the default tone.
func Neutral() Tone {
	return Tone{Speed: 1, Volume: 1, Pitch: 0, Intonation: 1, Before: 0.1, After: 0.1, Rate: 24000}
}

// Clamped returns the tone with each value clamped to its range.
func (t Tone) Clamped() Tone {
	n := Neutral()
	if t == (Tone{}) {
		return n
	}
	return Tone{
		Speed:      clamp(t.Speed, 0.5, 2, n.Speed),
		Volume:     clamp(t.Volume, 0, 2, n.Volume),
		Pitch:      clamp(t.Pitch, -0.15, 0.15, n.Pitch),
		Intonation: clamp(t.Intonation, 0, 2, n.Intonation),
		Before:     clamp(t.Before, 0, 1.5, n.Before),
		After:      clamp(t.After, 0, 1.5, n.After),
		Rate:       nearestRate(t.Rate),
	}
}

// neutralized returns the tone with neutral speed, pitch and intonation. The volume stays.
func (t Tone) neutralized() Tone {
	n := Neutral()
	t.Speed, t.Pitch, t.Intonation = n.Speed, n.Pitch, n.Intonation
	return t
}

func clamp(v, low, high, usual float64) float64 {
	if math.IsNaN(v) {
		return usual
	}
	return min(max(v, low), high)
}

// Rates are the sampling rates of the engine, in Hz.
var Rates = []int{16000, 24000, 44100, 48000}

// nearestRate returns the rate that the engine knows and that is closest.
func nearestRate(rate int) int {
	if rate <= 0 {
		return Neutral().Rate
	}
	distance := func(known int) float64 { return math.Abs(float64(rate) - float64(known)) }
	return slices.MinFunc(Rates, func(a, b int) int { return cmp.Compare(distance(a), distance(b)) })
}

// Accents are the morae of a text, phrase by phrase.
type Accents [][]Mora

// A Mora is one beat of Japanese.
type Mora struct {
	Phoneme string `json:"phoneme"`
	Hira    string `json:"hira"`
	Accent  int    `json:"accent"`
}

// UnmarshalJSON never fails: models write anything here, and no accents is usually right.
func (a *Accents) UnmarshalJSON(data []byte) error {
	var all [][]Mora
	if json.Unmarshal(data, &all) != nil {
		all = nil
	}
	*a = all
	return nil
}

// MarshalJSON encodes nil as an empty list.
func (a Accents) MarshalJSON() ([]byte, error) {
	if len(a) == 0 {
		return []byte("[]"), nil
	}
	return json.Marshal([][]Mora(a))
}

func (e *Engine) problem(kind fault.Kind, why, hint string) *fault.Error {
	return &fault.Error{Kind: kind, Op: "ask coeiroink", Subject: string(e.base), Why: why, Hint: hint}
}
