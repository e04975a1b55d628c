package config

import (
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

var secretaryKeys = []key{
	SecretaryModel, SecretaryLanguage, SecretaryName, SecretarySystem, SecretaryThreeStep, SecretaryProactive,
	SecretaryDatabase, SecretaryContext, SecretaryCommands,
}

// The secretary: who she is, whom she asks and what she remembers.
var (
	SecretaryModel = Key[string]{Name: "secretary.model", Env: "HAKO_SECRETARY_MODEL", Parse: orEmpty(text),
		Decides: whereData + " and what it costs",
		Help:    "which model the secretary asks, as ollama:qwen3; empty means the first that Ollama has, else what can be reached"}
	SecretaryLanguage = Key[string]{Name: "secretary.language", Env: "HAKO_SECRETARY_LANGUAGE", Parse: oneOf("ja", "en"),
		Default: constant("ja"), Local: harmless,
		Help: "which language she speaks, ja or en"}
	SecretaryName = Key[string]{Name: "secretary.name", Env: "HAKO_SECRETARY_NAME", Parse: orEmpty(text),
		Decides: whatTold,
		Help:    "what she is called; empty means nothing in particular"}
	SecretarySystem = Key[string]{Name: "secretary.system", Env: "HAKO_SECRETARY_SYSTEM", Parse: orEmpty(file),
		Decides: whichFile,
		Help:    "a file with more instructions for her; empty means none"}
	SecretaryThreeStep = Key[bool]{Name: "secretary.three_step", Env: "HAKO_SECRETARY_THREE_STEP", Parse: truth,
		Decides: whatCosts,
		Help:    "true or false: whether she plans, answers and checks, each with a question to the model"}
	SecretaryProactive = Key[time.Duration]{Name: "secretary.proactive", Env: "HAKO_SECRETARY_PROACTIVE",
		Parse: timeOrNone(time.Minute, 24*time.Hour), Decides: whatCosts,
		Help: "after how long a silence she speaks up herself, from 1m to 24h; 0 means never"}
	SecretaryDatabase = Key[string]{Name: "secretary.database", Env: "HAKO_SECRETARY_DATABASE", Parse: file,
		Decides: whichFile,
		Help:    "where conversations and to-dos are kept, a file that only its owner can read",
		Default: func(c *Config) string { return c.StateFile("secretary.db") }}
	SecretaryContext = Key[int]{Name: "secretary.context_tokens", Env: "HAKO_SECRETARY_CONTEXT_TOKENS",
		Parse: between(1024, 10_000_000), Default: constant(8192), Decides: whatCosts,
		Help: "how many tokens of the conversation the model is sent, from 1024 to 10000000"}
	SecretaryCommands = Key[map[string]string]{Name: "secretary.commands", Fields: "script", Parse: ownCommands,
		Decides: mayRun,
		Help:    "commands of your own, as standup: git log --oneline -5; in the conversation they are called @standup"}
)

var speechKeys = []key{
	SpeechEnabled, SpeechURL, SpeechSpeaker, SpeechStyle, SpeechSpeed, SpeechVolume, SpeechPitch, SpeechIntonation,
	SpeechPre, SpeechPost, SpeechRate, SpeechPlayer, SpeechFile,
}

const howSounds = "how your machine sounds"

// How she sounds, by COEIROINK. The ranges are those its own programs keep to.
var (
	SpeechEnabled = Key[bool]{Name: "speech.enabled", Env: "HAKO_SPEECH_ENABLED", Parse: truth, Default: constant(true),
		Local: only("false"), Decides: howSounds,
		Help: "true or false: whether answers are spoken if COEIROINK is there"}
	SpeechURL = Key[string]{Name: "speech.url", Env: "HAKO_SPEECH_URL", Parse: address,
		Default: constant("http://127.0.0.1:50032"), Decides: whereData,
		Help: "where COEIROINK is, as http://127.0.0.1:50032"}
	SpeechSpeaker = Key[string]{Name: "speech.speaker", Env: "HAKO_SPEECH_SPEAKER", Parse: uuid,
		Default: constant("3c37646f-3881-5374-2a83-149267990abc"), Decides: howSounds,
		Help: "whose voice it is, by its UUID"}
	SpeechStyle = Key[int]{Name: "speech.style", Env: "HAKO_SPEECH_STYLE", Parse: between(0, math.MaxInt32),
		Decides: howSounds,
		Help:    "the number of a style of that voice, from 0"}
	SpeechSpeed = Key[float64]{Name: "speech.speed", Env: "HAKO_SPEECH_SPEED", Parse: numberFrom(0.5, 2),
		Default: constant(1.0), Decides: howSounds,
		Help: "how fast, from 0.5 to 2"}
	SpeechVolume = Key[float64]{Name: "speech.volume", Env: "HAKO_SPEECH_VOLUME", Parse: numberFrom(0, 2),
		Default: constant(1.0), Decides: howSounds,
		Help: "how loud, from 0 to 2"}
	SpeechPitch = Key[float64]{Name: "speech.pitch", Env: "HAKO_SPEECH_PITCH", Parse: numberFrom(-0.15, 0.15),
		Decides: howSounds,
		Help:    "how high, from -0.15 to 0.15"}
	SpeechIntonation = Key[float64]{Name: "speech.intonation", Env: "HAKO_SPEECH_INTONATION", Parse: numberFrom(0, 2),
		Default: constant(1.0), Decides: howSounds,
		Help: "how lively, from 0 to 2"}
	SpeechPre = Key[float64]{Name: "speech.pre", Env: "HAKO_SPEECH_PRE", Parse: numberFrom(0, 1.5), Default: constant(0.1),
		Decides: howSounds,
		Help:    "seconds of silence before, from 0 to 1.5"}
	SpeechPost = Key[float64]{Name: "speech.post", Env: "HAKO_SPEECH_POST", Parse: numberFrom(0, 1.5),
		Default: constant(0.1), Decides: howSounds,
		Help: "seconds of silence after, from 0 to 1.5"}
	SpeechRate = Key[int]{Name: "speech.rate", Env: "HAKO_SPEECH_RATE", Parse: oneNumberOf(16000, 24000, 44100, 48000),
		Default: constant(24000), Decides: howSounds,
		Help: "samples a second: 16000, 24000, 44100 or 48000"}
	SpeechPlayer = Key[string]{Name: "speech.player", Env: "HAKO_SPEECH_PLAYER",
		Parse: orEmpty(oneOf("pw-play", "paplay", "aplay", "afplay")), Decides: mayRun,
		Help: "what plays it, pw-play, paplay, aplay or afplay; empty means the first of them that there is"}
	SpeechFile = Key[string]{Name: "speech.file", Env: "HAKO_SPEECH_FILE", Parse: orEmpty(file),
		Decides: "which of your files are written",
		Help:    "a file for the sound, which then is not played; empty means none"}
)

// hakosCommands are those that nobody can call theirs.
var hakosCommands = []string{"todo", "search", "bg", "job", "help"}

// ownCommands reads scripts by name.
func ownCommands(s setting) (map[string]string, error) {
	all := make(map[string]string)
	for _, r := range s.rows {
		switch {
		case !isCommandName(r.name):
			return nil, fmt.Errorf("%q cannot be the name of a command: it has letters, digits, _ and -", r.name)
		case slices.Contains(hakosCommands, strings.ToLower(r.name)):
			return nil, fmt.Errorf("@%s is a command that hako has; choose another name", r.name)
		}
		script, err := prose(setting{words: []string{r.fields["script"]}})
		if err != nil {
			return nil, fmt.Errorf("%s: %v", r.name, err)
		}
		all[r.name] = script
	}
	return all, nil
}

// isCommandName tells whether a name can stand after @ and ends where it seems to.
func isCommandName(name string) bool {
	odd := func(r rune) bool { return !unicode.In(r, unicode.L, unicode.M, unicode.N) && r != '_' && r != '-' }
	return name != "" && len(name) <= 64 && name[0] != '-' && utf8.ValidString(name) && !strings.ContainsFunc(name, odd)
}

// uuid reads five groups of hexadecimal digits.
func uuid(s setting) (string, error) {
	word := strings.TrimSpace(s.words[0])
	digits, err := hex.DecodeString(strings.ReplaceAll(word, "-", ""))
	if err != nil || len(digits) != 16 || len(word) != 36 || word[8] != '-' || word[13] != '-' || word[18] != '-' ||
		word[23] != '-' {
		return "", fmt.Errorf("%q is not a UUID such as 3c37646f-3881-5374-2a83-149267990abc", word)
	}
	return word, nil
}

func numberFrom(low, high float64) func(setting) (float64, error) {
	return func(s setting) (float64, error) { return number(s, low, high) }
}

func oneNumberOf(numbers ...int) func(setting) (int, error) {
	return func(s setting) (int, error) {
		n, err := between(slices.Min(numbers), slices.Max(numbers))(s)
		if err != nil || !slices.Contains(numbers, n) {
			return 0, fmt.Errorf("%q is not one of %v", s.words[0], numbers)
		}
		return n, nil
	}
}
