package policy

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"hako/run/fault"
)

// An Effect is what a rule does. The zero Effect denies.
type Effect uint8

// The effects, from strictest to most lenient.
const (
	Deny Effect = iota
	Ask
	Allow
)

var effectNames = [...]string{"deny", "ask", "allow"}

// String returns the effect as it is spelled in rules and in JSON.
func (e Effect) String() string {
	if int(e) >= len(effectNames) {
		return effectNames[Deny]
	}
	return effectNames[e]
}

// MarshalText implements [encoding.TextMarshaler].
func (e Effect) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (e *Effect) UnmarshalText(text []byte) error {
	i := slices.Index(effectNames[:], string(text))
	if i < 0 {
		return &fault.Error{Kind: fault.Invalid, Op: "read effect", Subject: string(text), Why: "there is no such effect"}
	}
	*e = Effect(i)
	return nil
}

// A Verdict is the decision about one command, with its reason.
type Verdict struct {
	Effect Effect
	Argv   []string // the command, as far as it is known
	Why    string   // the reason
	Where  string   // the rule (host.policy:12) or the check (find: -exec) that decided
	Hint   string   // what to do instead; empty when allowed
	Late   bool     // part of the command is only known at run time; Call decides then

	// Sure means that a late command stays allowed whatever its words turn out to
	// be, so that it may go to a runner that never calls Call.
	Sure bool

	// Unlisted means that the command was denied by its name: no rule allows it,
	// or one denies it. It is false for a denied path, option or redirection.
	Unlisted bool
	Name     string // of the unlisted command, which another may run: env NAME
}

// MarshalJSON implements [json.Marshaler].
func (v Verdict) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Effect  Effect   `json:"effect"`
		Command string   `json:"command"`
		Argv    []string `json:"argv"`
		Reason  string   `json:"reason,omitempty"`
		Rule    string   `json:"rule,omitempty"`
		Hint    string   `json:"hint,omitempty"`
		Late    bool     `json:"late,omitempty"`

		Unlisted bool `json:"unlisted,omitempty"`
	}{v.Effect, strings.Join(v.Argv, " "), v.Argv, v.Why, v.Where, v.Hint, v.Late, v.Unlisted})
}

// Strictest returns the effect of a whole script: that of its strictest verdict.
// A script without any command is allowed.
func Strictest(vs []Verdict) Effect {
	worst := Allow
	for _, v := range vs {
		worst = min(worst, v.Effect)
	}
	return worst
}

// ErrUnlisted is found by [errors.Is] in the error for a [Verdict] that is Unlisted.
var ErrUnlisted = errors.New("the command is not on the list of allowed commands")

// An UnlistedError is the cause of the error for a [Verdict] that is Unlisted.
type UnlistedError struct {
	Name string // the command's name
	Why  string // the rule's reason, or that there is no rule
}

// Error returns the reason.
func (e *UnlistedError) Error() string { return e.Why }

// Is makes every UnlistedError an [ErrUnlisted].
func (e *UnlistedError) Is(target error) bool { return target == ErrUnlisted }

// Reason returns the reason for the Why or the Err of an error. Exactly one is set.
func (v Verdict) Reason() (why string, cause error) {
	if v.Unlisted {
		return "", &UnlistedError{Name: v.Name, Why: v.Why}
	}
	return v.Why, nil
}

// A finding is a verdict without the words of the command.
type finding struct {
	effect           Effect
	why, where, hint string
	late             bool
	final            bool   // it does not depend on the late words
	lateSettled      bool   // allowed whatever the late words are
	ruled            bool   // decided by a rule, or by the lack of one
	unlisted         string // the name of the command that no rule allows, or that one denies
}

func (f finding) verdict(words []word) Verdict {
	v := Verdict{Effect: f.effect, Why: f.why, Where: f.where, Hint: f.hint, Late: f.late,
		Sure: f.lateSettled && f.effect == Allow, Unlisted: f.unlisted != "", Name: f.unlisted}
	v.Argv = make([]string, len(words))
	for i, w := range words {
		v.Argv[i] = w.String()
		v.Late = (v.Late || w.late) && !f.final
	}
	return v
}

func refusal(where, why, hint string) *finding {
	return &finding{effect: Deny, why: why, where: where, hint: hint}
}

// notAllowed returns the finding unless it allows the command.
func notAllowed(f *finding) *finding {
	if f != nil && f.effect == Allow {
		return nil
	}
	return f
}

// firstRefusal returns the first finding that judge has about a word.
func firstRefusal(words []word, judge func(word) *finding) *finding {
	for _, w := range words {
		if f := judge(w); f != nil {
			return f
		}
	}
	return nil
}
