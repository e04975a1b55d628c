package speech

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"hako/internal/fakes"
	"hako/run/fault"
)

// start plays an engine; its violations fail the test at the end.
func start(t *testing.T, scenario string, o Options) (*Engine, *fakes.Server) {
	t.Helper()
	sc, err := fakes.Parse(scenario)
	if err != nil {
		t.Fatal(err)
	}
	s := fakes.Start(sc)
	t.Cleanup(func() {
		s.Close()
		for _, v := range s.Finish() {
			t.Error(v)
		}
	})
	o.URL = s.URL()
	return engine(t, o), s
}

func engine(t *testing.T, o Options) *Engine {
	t.Helper()
	e, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// sent returns the bodies of the requests for sound.
func sent(t *testing.T, s *fakes.Server) []Speech {
	t.Helper()
	var all []Speech
	for _, r := range s.Requests() {
		if r.URL == "/v1/synthesis" {
			var one Speech
			if err := json.Unmarshal(r.Body, &one); err != nil {
				t.Fatal(err)
			}
			all = append(all, one)
		}
	}
	return all
}

func count(s *fakes.Server, path string) (n int) {
	for _, r := range s.Requests() {
		if r.URL == path {
			n++
		}
	}
	return n
}

func TestSay(t *testing.T) {
	e, s := start(t, "{speech: {says: [こんにちは。], fields: {styleId: 0, speedScale: 1, volumeScale: 1, pitchScale: 0, intonationScale: 1, prePhonemeLength: 0.1, postPhonemeLength: 0.1, outputSamplingRate: 24000, prosodyDetail: []}}}", Options{})
	wav, err := e.Say(t.Context(), Speech{Text: "**こんにちは。** 🎉"})
	if err != nil {
		t.Fatal(err)
	}
	if sound, err := parse(wav); err != nil || sound.length() != 800*time.Millisecond {
		t.Errorf("%v", err)
	}
	if _, err := e.Say(t.Context(), Speech{Text: "こんにちは。"}); err != nil || count(s, "/v1/speakers_path_variant") != 1 {
		t.Errorf("%v: asked for the speakers %d times", err, count(s, "/v1/speakers_path_variant"))
	}
}

func TestSayNothing(t *testing.T) {
	e := engine(t, Options{URL: "http://127.0.0.1:1"}) // it is not even asked
	for _, text := range []string{"", " \n", "🎉", "```\ncode\n```"} {
		if wav, err := e.Say(t.Context(), Speech{Text: text}); wav != nil || err != nil {
			t.Errorf("%q: %d bytes, %v", text, len(wav), err)
		}
	}
}

// Accents are those of the text that was given, not of another one.
func TestSayAccents(t *testing.T) {
	e, s := start(t, "{speech: {}}", Options{})
	accents := Accents{{{Phoneme: "h-a", Hira: "は", Accent: 1}}}
	for _, text := range []string{"は", "**は**", strings.Repeat("は。", 150)} {
		if _, err := e.Say(t.Context(), Speech{Text: text, Accents: accents}); err != nil {
			t.Fatal(err)
		}
	}
	for i, one := range sent(t, s) {
		if has := len(one.Accents) > 0; has != (i == 0) {
			t.Errorf("%d: %v", i, one.Accents)
		}
	}
}

func TestSayLong(t *testing.T) {
	sentence := strings.Repeat("あ", 119) + "。"
	e, s := start(t, "{speech: {}}", Options{})
	wav, err := e.Say(t.Context(), Speech{Text: strings.Repeat(sentence, 3)})
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, one := range sent(t, s) {
		texts = append(texts, one.Text)
	}
	if !slices.Equal(texts, []string{sentence, sentence, sentence}) {
		t.Errorf("%q", texts)
	}
	if sound, err := parse(wav); err != nil || sound.length() != 3*(12*time.Second+200*time.Millisecond) {
		t.Errorf("%v", err)
	}
}

// The engine stumbles over strange tones. It is asked for a plain one, and not
// to stumble again over the next sentence; the volume stays as it is.
func TestSayCalmsDown(t *testing.T) {
	e, s := start(t, "{speech: {}}", Options{})
	tone := Tone{Speed: 1.4, Volume: 0.5, Pitch: 0.12, Intonation: 1.6, Before: 0.3, After: 0.2, Rate: 48000}
	text := strings.Repeat(strings.Repeat("あ", 149)+"。", 2)
	if _, err := e.Say(t.Context(), Speech{Text: text, Tone: tone}); err != nil {
		t.Fatal(err)
	}
	plain := Tone{Speed: 1, Volume: 0.5, Pitch: 0, Intonation: 1, Before: 0.3, After: 0.2, Rate: 48000}
	var tones []Tone
	for _, one := range sent(t, s) {
		tones = append(tones, one.Tone)
	}
	if !slices.Equal(tones, []Tone{tone, plain, plain}) {
		t.Errorf("%+v", tones)
	}
}

// TestSayFaults checks what is said when the engine does not do as it should,
// and how often it was asked for sound.
func TestSayFaults(t *testing.T) {
	tests := []struct {
		fault string
		asked int
		kind  fault.Kind
		want  string
	}{
		{`"500"`, 2, fault.Unavailable, "the server failed (500)"},
		{`"422"`, 1, fault.Unavailable, "it did not accept the request (422): styleId: value is not a valid style"},
		{"html", 1, fault.Unavailable, "it answered with text/html where sound was asked for"},
		{"redirect", 1, fault.Unavailable, "it redirects to another address, which is not followed (307)"},
		{"short_wav", 1, fault.Unavailable, "what it sent cannot be played: the WAV is shorter than it says"},
		{"not_wav", 1, fault.Unavailable, "what it sent cannot be played: it is no WAV"},
		{"cut", 1, fault.Unavailable, "the answer broke off"},
		{"endless_wav", 1, fault.TooLarge, "the answer has more than the 64 MB that are read"},
	}
	for _, tt := range tests {
		t.Run(tt.fault, func(t *testing.T) {
			e, s := start(t, "{speech: {faults: ["+tt.fault+"]}}", Options{})
			wav, err := e.Say(t.Context(), Speech{Text: "はい"})
			if wav != nil || fault.KindOf(err) != tt.kind || err.Error() != "ask coeiroink "+s.URL()+": "+tt.want ||
				fault.Hint(err) == "" {
				t.Errorf("%d bytes, %v", len(wav), err)
			}
			if n := len(sent(t, s)); n != tt.asked {
				t.Errorf("asked %d times", n)
			}
		})
	}
	e, _ := start(t, `{speech: {faults: ["500", ""]}}`, Options{})
	if wav, err := e.Say(t.Context(), Speech{Text: "はい"}); err != nil || wav == nil {
		t.Errorf("not asked again: %v", err)
	}
}

func TestDetail(t *testing.T) {
	for body, want := range map[string]string{
		`{"detail":[{"loc":["body","speedScale"],"msg":"field required"},{"loc":["body","prosodyDetail",0],"msg":"bad"}]}`: ": speedScale: field required; prosodyDetail: 0: bad",
		`{"detail":"not \u001b[31mtoday\n"}`: ": not today",
		`{"detail":[]}`:                      "",
		`{}`:                                 "",
		`<html>`:                             "",
		`{"detail":"` + strings.Repeat("長", 1000) + `"}`:    ": " + strings.Repeat("長", 299) + "…",
		`{"detail":[{"loc":null,"msg":"x"},{"loc":["y"]}]}`: ": x; y:",
	} {
		if got := detail(strings.NewReader(body)); got != want {
			t.Errorf("%s: %q", body, got)
		}
	}
}

// An engine that was not there is not waited for again for a minute.
func TestDown(t *testing.T) {
	now := time.Unix(0, 0)
	e, s := start(t, "{speech: {delay_ms: 60000}}",
		Options{Wait: 50 * time.Millisecond, Now: func() time.Time { return now }})
	_, err := e.Say(t.Context(), Speech{Text: "はい"})
	if fault.KindOf(err) != fault.Timeout || !strings.Contains(err.Error(), "it did not answer within 50ms") ||
		!strings.Contains(fault.Hint(err), "speech.enabled") {
		t.Fatal(err)
	}
	now = now.Add(59 * time.Second)
	if _, again := e.Say(t.Context(), Speech{Text: "はい"}); again != err || len(sent(t, s)) != 1 {
		t.Errorf("%v after %d requests", again, len(sent(t, s)))
	}
	now = now.Add(time.Second)
	if _, again := e.Say(t.Context(), Speech{Text: "はい"}); again == err || len(sent(t, s)) != 2 {
		t.Errorf("%v after %d requests", again, len(sent(t, s)))
	}
	if _, err := e.Info(t.Context()); err != nil { // it is there again
		t.Error(err)
	}
	if e.Say(t.Context(), Speech{Text: "はい"}); len(sent(t, s)) != 3 {
		t.Errorf("%d requests", len(sent(t, s)))
	}
}

func TestNobodyThere(t *testing.T) {
	e := engine(t, Options{URL: "http://127.0.0.1:1"})
	_, err := e.Say(t.Context(), Speech{Text: "はい"})
	if fault.KindOf(err) != fault.Unavailable || err.Error() != "ask coeiroink http://127.0.0.1:1: nobody answers there" ||
		fault.Hint(err) != startHint {
		t.Error(err)
	}
	if _, again := e.Say(t.Context(), Speech{Text: "はい"}); again != err {
		t.Error(again)
	}
	if _, again := e.Info(t.Context()); again == err || again == nil {
		t.Errorf("it was not asked: %v", again)
	}
}

// An engine that hangs up once is not taken for absent.
func TestHangsUp(t *testing.T) {
	e := serve(t, func(w http.ResponseWriter) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		conn.Close()
	})
	if _, err := e.Speakers(t.Context()); err == nil || !strings.HasSuffix(err.Error(), "the answer broke off") ||
		e.recentlyUnreachable() != nil {
		t.Error(err)
	}
}

// Who stops waiting has learnt nothing about the engine.
func TestCancelled(t *testing.T) {
	e, s := start(t, "{speech: {delay_ms: 60000}}", Options{})
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	time.AfterFunc(50*time.Millisecond, func() { cancel(why) })
	if _, err := e.Say(ctx, Speech{Text: "はい"}); err != why {
		t.Error(err)
	}
	if e.recentlyUnreachable() != nil {
		t.Error(e.recentlyUnreachable())
	}
	asked := len(s.Requests())
	if _, err := e.Say(ctx, Speech{Text: "はい"}); err != why || len(s.Requests()) != asked {
		t.Error(err)
	}
}

// A listener plays by noting what it hears.
type listener func(ctx context.Context, wav []byte) error

func (l listener) Play(ctx context.Context, wav []byte) error { return l(ctx, wav) }

// While a sentence is heard the next one is made, but no further one.
func TestSpeakAhead(t *testing.T) {
	asked := make(chan string, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/synthesis" {
			fmt.Fprint(w, "[]")
			return
		}
		var s Speech
		json.NewDecoder(r.Body).Decode(&s)
		asked <- s.Text[:3]
		w.Header().Set("Content-Type", "audio/x-wav")
		w.Write(pcm(24000, 10))
	}))
	defer server.Close()
	e := engine(t, Options{URL: server.URL})
	var text string
	for _, r := range "一二三四" {
		text += strings.Repeat(string(r), 150) + "。"
	}
	played := 0
	wav, err := e.Speak(t.Context(), Speech{Text: text}, listener(func(ctx context.Context, wav []byte) error {
		played++
		if played == 1 {
			if a, b := <-asked, <-asked; a != "一" || b != "二" {
				t.Errorf("asked for %s, then %s", a, b)
			}
		}
		if deadline, ok := ctx.Deadline(); !ok || time.Until(deadline) > playSlack+time.Second ||
			!bytes.Equal(wav, pcm(24000, 10)) {
			t.Errorf("until %v: %d bytes", deadline, len(wav))
		}
		return nil
	}))
	if err != nil || played != 4 || !bytes.Equal(wav, pcm(24000, 40)) {
		t.Errorf("%v: played %d, %d bytes", err, played, len(wav))
	}
}

// A player that fails is not asked again, and the sound is not lost.
func TestSpeakUnheard(t *testing.T) {
	e, _ := start(t, "{speech: {}}", Options{})
	text := strings.Repeat(strings.Repeat("あ", 149)+"。", 3)
	whole, err := e.Say(t.Context(), Speech{Text: text})
	if err != nil {
		t.Fatal(err)
	}
	deaf, played := errors.New("no sound card"), 0
	wav, err := e.Speak(t.Context(), Speech{Text: text},
		listener(func(context.Context, []byte) error { played++; return deaf }))
	if err != deaf || played != 1 || !bytes.Equal(wav, whole) {
		t.Errorf("%v: played %d, %d bytes", err, played, len(wav))
	}
}

func TestSpeakStops(t *testing.T) {
	e, s := start(t, "{speech: {}}", Options{})
	ctx, cancel := context.WithCancel(t.Context())
	text := strings.Repeat(strings.Repeat("あ", 149)+"。", 9)
	before := runtime.NumGoroutine()
	_, err := e.Speak(ctx, Speech{Text: text},
		listener(func(context.Context, []byte) error { cancel(); return ctx.Err() }))
	if !errors.Is(err, context.Canceled) || len(sent(t, s)) > 3 {
		t.Errorf("%v after %d requests", err, len(sent(t, s)))
	}
	for n := 0; runtime.NumGoroutine() > before+2 && n < 1000; n++ {
		time.Sleep(time.Millisecond)
	}
	if n := runtime.NumGoroutine(); n > before+2 { // the server has its own
		t.Errorf("%d goroutines, %d before", n, before)
	}
}

// serve answers everything with one body.
func serve(t *testing.T, body func(http.ResponseWriter)) *Engine {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { body(w) }))
	t.Cleanup(server.Close)
	return engine(t, Options{URL: server.URL})
}

// An engine whose list cannot be read may still speak.
func TestSayWithoutAList(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/synthesis" {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "audio/wav")
		w.Write(pcm(24000, 1))
	}))
	defer server.Close()
	e := engine(t, Options{URL: server.URL})
	if wav, err := e.Say(t.Context(), Speech{Text: "はい"}); err != nil || wav == nil {
		t.Error(err)
	}
}

func TestAddress(t *testing.T) {
	tests := []struct {
		url    string
		remote bool
		want   string // the error; empty means that it is fine
	}{
		{"", false, ""},
		{"http://localhost:50032/", false, ""},
		{"http://[::1]:50032", false, ""},
		{"http://127.8.9.10", false, ""},
		{"https://voice.example.com/engine/", true, ""},
		{"http://voice.example.com", false, "voice.example.com is not this machine"},
		{"http://192.0.2.1:50032", false, "not this machine"},
		{"http://localhost.example.com", false, "not this machine"},
		{"http://user:hunter2@127.0.0.1", true, "the address has credentials in it"},
		{"http://127.0.0.1/?x=y", false, "something after its path"},
		{"127.0.0.1:50032", false, "not one of http or https"},
		{"ftp://127.0.0.1", false, "not one of http or https"},
		{"file:///etc/passwd", true, "not one of http or https"},
		{"http://", false, "not one of http or https"},
	}
	for _, tt := range tests {
		_, err := New(Options{URL: tt.url, Remote: tt.remote})
		if (err == nil) != (tt.want == "") || err != nil &&
			(!strings.Contains(err.Error(), tt.want) || fault.KindOf(err) != fault.Invalid || fault.Hint(err) == "") {
			t.Errorf("%s: %v", tt.url, err)
		}
		if err != nil && strings.Contains(err.Error()+fault.Hint(err), "hunter2") {
			t.Errorf("the password is in %v", err)
		}
	}
}

// localhost is this machine, whatever a name server says, and by no proxy.
func TestLocalhost(t *testing.T) {
	_, s := start(t, "{speech: {}}", Options{})
	e := engine(t, Options{URL: strings.Replace(s.URL(), "127.0.0.1", "LOCALHOST", 1)})
	if _, err := e.Info(t.Context()); err != nil {
		t.Error(err)
	}
	for _, remote := range []bool{false, true} {
		if newClient(remote).Transport.(*http.Transport).Proxy != nil {
			t.Error("there is a proxy")
		}
	}
}

func TestWithin(t *testing.T) {
	tests := []struct{ tone, want Tone }{
		{Tone{}, Neutral()},
		{Neutral(), Neutral()},
		{Tone{9, 9, 9, 9, 9, 9, 1e9}, Tone{2, 2, 0.15, 2, 1.5, 1.5, 48000}},
		{Tone{-9, -9, -9, -9, -9, -9, -9}, Tone{0.5, 0, -0.15, 0, 0, 0, 24000}},
		{Tone{1, 0, 0, 0, 0, 0, 22050}, Tone{1, 0, 0, 0, 0, 0, 24000}},
		{Tone{math.NaN(), math.Inf(1), math.Inf(-1), math.NaN(), math.NaN(), math.NaN(), 44000},
			Tone{1, 2, -0.15, 1, 0.1, 0.1, 44100}},
		{Tone{1, 1, 0, 1, 0, 0, 8000}, Tone{1, 1, 0, 1, 0, 0, 16000}},
	}
	for _, tt := range tests {
		if got := tt.tone.Clamped(); got != tt.want {
			t.Errorf("%v became %v, want %v", tt.tone, got, tt.want)
		}
	}
}

// What a model writes is read over the usual values; what makes no sense of it
// leaves them alone.
func TestSpeechFromJSON(t *testing.T) {
	s := Speech{Voice: DefaultVoice(), Tone: Neutral()}
	json.Unmarshal([]byte(`{"text":"はい","styleId":"five","speedScale":1.2,"pitchScale":null,"volumeScale":"loud","prosodyDetail":"none","bashActions":[]}`), &s)
	want := Neutral()
	want.Speed = 1.2
	if s.Text != "はい" || s.Voice != DefaultVoice() || s.Tone != want || s.Accents != nil {
		t.Errorf("%+v", s)
	}
	body, err := json.Marshal(s)
	if err != nil || string(
		body) != `{"text":"はい","speakerUuid":"3c37646f-3881-5374-2a83-149267990abc","styleId":0,"speedScale":1.2,"volumeScale":1,"pitchScale":0,"intonationScale":1,"prePhonemeLength":0.1,"postPhonemeLength":0.1,"outputSamplingRate":24000,"prosodyDetail":[]}` {
		t.Errorf("%s %v", body, err)
	}
}

func TestInfo(t *testing.T) {
	e, _ := start(t, "{speech: {}}", Options{})
	if info, err := e.Info(t.Context()); err != nil || info != (Info{Device: "cpu", Version: "2.3.0"}) {
		t.Errorf("%v %v", info, err)
	}
}
