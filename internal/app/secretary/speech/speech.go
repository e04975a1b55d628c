// Package speech turns text into sound through a COEIROINK engine: which voices
// there are, what of an answer can be read aloud, and the sound of it as a WAV.
//
// Playing is not here: whoever wants to hear something hands in a [Player].
// Nothing here decides whether to speak at all.
//
// The one rule to keep: speech is an extra. Values out of range are brought
// into it, an unknown voice becomes the usual one, an engine that is not there
// is asked once a minute and no more often, and no error is worth losing the
// answer that was to be spoken.
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

// DefaultURL is where COEIROINK listens on the machine it runs on.
const DefaultURL = "http://127.0.0.1:50032"

// DefaultVoice is つくよみちゃん, who comes with the engine.
func DefaultVoice() Voice { return Voice{Speaker: "3c37646f-3881-5374-2a83-149267990abc"} }

// Options are what an Engine needs to know.
type Options struct {
	URL    string // empty means DefaultURL
	Remote bool   // the engine may be on another machine; false means that only this one is ever asked
	Voice  Voice  // for who names none, or one that is not there; zero means DefaultVoice

	// Wait is how long one piece of a text may take; zero means 30 s.
	Wait time.Duration
	// Warn hears of what was done differently than asked: another voice.
	// Nil means nobody does.
	Warn func(error)
	// Now tells the time; nil means the clock.
	Now func() time.Time
}

// An Engine is a COEIROINK that can be asked. It is safe for concurrent use.
type Engine struct {
	Options
	base   address
	client *http.Client

	mu       sync.Mutex
	speakers []Speaker
	warned   map[Voice]bool
	gone     error // why nobody could be reached; nil means that somebody could
	goneAt   time.Time
}

// New returns an Engine, or an error if the address is none. It asks nothing yet.
func New(o Options) (*Engine, error) {
	if o.URL == "" {
		o.URL = DefaultURL
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

// A Speech is something to say. In JSON it has the names that the engine uses,
// so that a model's wishes can be read over the usual values; a wish of the
// wrong type then leaves the usual value where it is.
type Speech struct {
	Text string `json:"text"` // markdown or plain
	Voice
	Tone
	// Accents says how the text is pronounced, and wins over it. Empty means
	// as the engine thinks. It counts only for a text that is said as it
	// stands, in one piece.
	Accents Accents `json:"prosodyDetail"`
}

// A Voice is one way in which one speaker speaks.
type Voice struct {
	Speaker string `json:"speakerUuid"` // empty means the usual voice, whatever the style
	Style   int    `json:"styleId"`
}

// A Tone is how something is said. One that is all zeros means [Neutral]; to
// change a part, begin with Neutral, as most zeros mean something.
type Tone struct {
	Speed      float64 `json:"speedScale"`         // 0.5 to 2
	Volume     float64 `json:"volumeScale"`        // 0 to 2
	Pitch      float64 `json:"pitchScale"`         // -0.15 to 0.15
	Intonation float64 `json:"intonationScale"`    // 0 to 2
	Before     float64 `json:"prePhonemeLength"`   // seconds of silence, 0 to 1.5
	After      float64 `json:"postPhonemeLength"`  // seconds of silence, 0 to 1.5
	Rate       int     `json:"outputSamplingRate"` // 16000, 24000, 44100 or 48000
}

// Neutral is the tone of somebody who has nothing special in mind.
func Neutral() Tone {
	return Tone{Speed: 1, Volume: 1, Pitch: 0, Intonation: 1, Before: 0.1, After: 0.1, Rate: 24000}
}

// Within returns the tone with each value in its range.
func (t Tone) Within() Tone {
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

// calm returns the tone without what an engine may stumble over. The volume
// stays: whoever turned it down would not like to hear it at full.
func (t Tone) calm() Tone {
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

// UnmarshalJSON implements json.Unmarshaler. It never fails: models write what
// they like here, and none at all is right most of the time.
func (a *Accents) UnmarshalJSON(data []byte) error {
	var all [][]Mora
	if json.Unmarshal(data, &all) != nil {
		all = nil
	}
	*a = all
	return nil
}

// MarshalJSON implements json.Marshaler. None at all is an empty list.
func (a Accents) MarshalJSON() ([]byte, error) {
	if len(a) == 0 {
		return []byte("[]"), nil
	}
	return json.Marshal([][]Mora(a))
}

// problem makes an error about the engine.
func (e *Engine) problem(kind fault.Kind, why, hint string) *fault.Error {
	return &fault.Error{Kind: kind, Op: "ask coeiroink", Subject: e.base.shown, Why: why, Hint: hint}
}
