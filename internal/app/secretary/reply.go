package secretary

import (
	"encoding/json"
	"time"

	"hako/internal/app/secretary/speech"
	"hako/internal/app/secretary/store"
	"hako/llm"
)

// A Reply is an answer of the model: text, how to speak it, and actions.
type Reply struct {
	speech.Speech
	TodoActions []TodoAction `json:"todoActions"`
	BashActions []Action     `json:"bashActions"`

	Notes []string `json:"-"` // parts that could not be used, for the log
	Cut   bool     `json:"-"` // the text is incomplete
	Lost  int      `json:"-"` // incomplete actions that were dropped
	Twice int      `json:"-"` // actions, or lists of them, that were dropped because they occur twice

	Misspelt []Misspelling `json:"-"` // members that look like misspelt actions

	garbled bool // the text replaces an unreadable answer
}

// defaultSpeech returns the default voice.
func defaultSpeech() speech.Speech {
	return speech.Speech{Voice: speech.DefaultVoice(), Tone: speech.Neutral(), Accents: speech.Accents{}}
}

// An Action is a command that the model wants run.
type Action struct {
	Command string `json:"command"`
	Reason  string `json:"reason"`
	Timeout int    `json:"timeout,omitempty"` // seconds; zero means the default
	Confirm bool   `json:"confirm,omitempty"` // a person must approve it
}

// The bounds of a timeout set by a model.
const (
	minTimeout = time.Second
	maxTimeout = 600 * time.Second
)

// A TodoAction is a change of the to-do list requested by the model.
type TodoAction = store.TodoAction

// replyMembers identify a reply among other JSON objects.
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

// schema returns the JSON schema of a reply. Only the text is required. It comes first, so that it can be
// shown first.
func schema() *llm.Format {
	return &llm.Format{Name: "secretary_reply",
		Schema: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"},"bashActions":` + bashSchema +
			`,"todoActions":` + todoSchema + `,` + voiceSchema + `},"required":["text"],"additionalProperties":false}`)}
}

// planSchema returns the schema of the plan, the first of three steps.
func planSchema() *llm.Format {
	return &llm.Format{Name: "secretary_plan",
		Schema: json.RawMessage(`{"type":"object","properties":{"need_actions":{"type":"boolean"},"bashActions":` +
			bashSchema +
			`,"todoActions":` + todoSchema + `},"required":["need_actions"],"additionalProperties":false}`)}
}

// verdictSchema returns the schema of the verification, the last of three steps.
func verdictSchema() *llm.Format {
	return &llm.Format{Name: "secretary_check", Schema: json.RawMessage(
		`{"type":"object","properties":{"ok":{"type":"boolean"},"problem":{"type":"string"}},"required":["ok","problem"],"additionalProperties":false}`)}
}

// modelJSON returns a reply as it is shown to the model again: without the voice.
func (r *Reply) modelJSON() string {
	return jsonText(struct {
		Text        string       `json:"text"`
		BashActions []Action     `json:"bashActions,omitempty"`
		TodoActions []TodoAction `json:"todoActions,omitempty"`
	}{r.Text, r.BashActions, r.TodoActions})
}
