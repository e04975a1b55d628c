package secretary

import (
	"encoding/json"
	"time"

	"hako/internal/app/secretary/speech"
	"hako/llm"
)

// A Reply is what the model answers: words, how to speak them, and what it
// wants done.
type Reply struct {
	Speech
	TodoActions []TodoAction `json:"todoActions"`
	BashActions []Action     `json:"bashActions"`

	Notes []string `json:"-"` // what of it could not be used, for the log
	Cut   bool     `json:"-"` // the words break off
	Lost  int      `json:"-"` // actions that break off and were left out
	Twice int      `json:"-"` // actions, or lists of them, that were left out because there are two versions

	Misspelt []Misspelling `json:"-"` // members that were meant as actions, by their look, and are none

	garbled bool // its text stands for one that could not be read
}

// A Speech is a text and how a voice is to speak it.
type Speech struct {
	Text               string   `json:"text"`
	SpeakerUUID        string   `json:"speakerUuid"`
	StyleID            int      `json:"styleId"`
	SpeedScale         float64  `json:"speedScale"`
	VolumeScale        float64  `json:"volumeScale"`
	PitchScale         float64  `json:"pitchScale"`
	IntonationScale    float64  `json:"intonationScale"`
	PrePhonemeLength   float64  `json:"prePhonemeLength"`  // seconds
	PostPhonemeLength  float64  `json:"postPhonemeLength"` // seconds
	OutputSamplingRate int      `json:"outputSamplingRate"`
	ProsodyDetail      [][]Mora `json:"prosodyDetail"` // empty means that the engine works it out
}

// A Mora is one beat of speech.
type Mora struct {
	Phoneme string `json:"phoneme"`
	Hira    string `json:"hira"`
	Accent  int    `json:"accent"`
}

// UsualSpeech is the voice of those who have chosen none.
func UsualSpeech() Speech {
	return Speech{
		SpeakerUUID: "3c37646f-3881-5374-2a83-149267990abc", SpeedScale: 1, VolumeScale: 1, IntonationScale: 1,
		PrePhonemeLength: 0.1, PostPhonemeLength: 0.1, OutputSamplingRate: 24000, ProsodyDetail: [][]Mora{},
	}
}

// An Action is a command that the model wants run.
type Action struct {
	Command string `json:"command"`
	Reason  string `json:"reason"`
	Timeout int    `json:"timeout,omitempty"` // seconds; zero means the usual
	Confirm bool   `json:"confirm,omitempty"` // a person must agree first
}

// The bounds of a timeout that a model sets.
const (
	leastTimeout = time.Second
	mostTimeout  = 600 * time.Second
)

// A TodoAction is a change of the to-do list that the model wants.
type TodoAction struct {
	Action   string `json:"action"` // add, update, complete, delete
	ID       int64  `json:"id,omitempty"`
	Title    string `json:"title,omitempty"`
	Note     string `json:"note,omitempty"`
	Due      string `json:"due,omitempty"` // a date or a time
	Priority string `json:"priority,omitempty"`
}

// replyMembers are by what an answer is known among other objects.
var replyMembers = []string{"text", "bashActions", "todoActions"}

const (
	bashSchema = `{"type":"array","items":{"type":"object","properties":{"command":{"type":"string"},"reason":{"type":"string"},` +
		`"timeout":{"type":"integer"},"confirm":{"type":"boolean"}},"required":["command","reason"],"additionalProperties":false}}`
	todoSchema = `{"type":"array","items":{"type":"object","properties":{"action":{"type":"string","enum":["add","update","complete","delete"]},` +
		`"id":{"type":"integer"},"title":{"type":"string"},"note":{"type":"string"},"due":{"type":"string"},"priority":{"type":"string","enum":["low","normal","high"]}},` +
		`"required":["action"],"additionalProperties":false}}`
	voiceSchema = `"speakerUuid":{"type":"string"},"styleId":{"type":"integer"},"speedScale":{"type":"number"},"volumeScale":{"type":"number"},` +
		`"pitchScale":{"type":"number"},"intonationScale":{"type":"number"},"prePhonemeLength":{"type":"number"},"postPhonemeLength":{"type":"number"},` +
		`"outputSamplingRate":{"type":"integer"},"prosodyDetail":{"type":"array","items":{"type":"array","items":{"type":"object","properties":{` +
		`"phoneme":{"type":"string"},"hira":{"type":"string"},"accent":{"type":"integer"}},"required":["phoneme","hira","accent"],"additionalProperties":false}}}`
)

// Schema is the shape of an answer. Only the text is required: what is left out
// has its usual value. The text comes first, so that it can be shown first.
func Schema() *llm.Format {
	return &llm.Format{Name: "secretary_reply",
		Schema: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"},"bashActions":` + bashSchema +
			`,"todoActions":` + todoSchema + `,` + voiceSchema + `},"required":["text"],"additionalProperties":false}`)}
}

// planSchema is the shape of the first of three steps.
func planSchema() *llm.Format {
	return &llm.Format{Name: "secretary_plan",
		Schema: json.RawMessage(`{"type":"object","properties":{"need_actions":{"type":"boolean"},"bashActions":` +
			bashSchema +
			`,"todoActions":` + todoSchema + `},"required":["need_actions"],"additionalProperties":false}`)}
}

// verdictSchema is the shape of the last of three steps.
func verdictSchema() *llm.Format {
	return &llm.Format{Name: "secretary_check", Schema: json.RawMessage(
		`{"type":"object","properties":{"ok":{"type":"boolean"},"problem":{"type":"string"}},"required":["ok","problem"],"additionalProperties":false}`)}
}

// said is a reply as the model sees it again: its words and wishes, without the
// voice, in the form that it is to answer in.
func (r *Reply) said() string {
	return jsonText(struct {
		Text        string       `json:"text"`
		BashActions []Action     `json:"bashActions,omitempty"`
		TodoActions []TodoAction `json:"todoActions,omitempty"`
	}{r.Text, r.BashActions, r.TodoActions})
}

// speech is what the engine is told.
func (s Speech) speech() (words speech.Speech, err error) {
	spelled, err := json.Marshal(s)
	if err == nil {
		err = json.Unmarshal(spelled, &words)
	}
	return words, err
}
