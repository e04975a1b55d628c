package speech

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"hako/run/fault"
)

// Info describes an engine.
type Info struct {
	Device  string `json:"device"`
	Version string `json:"version"`
}

// A Speaker is a voice of the engine.
type Speaker struct {
	Name   string  `json:"speakerName"`
	UUID   string  `json:"speakerUuid"`
	Styles []Style `json:"styles"`
}

// A Style is a speaking style of a speaker.
type Style struct {
	Name string `json:"styleName"`
	ID   int    `json:"styleId"`
}

const (
	maxName   = 80  // characters of names of speakers and styles
	maxWarned = 100 // missing voices that are remembered
)

// Info asks the engine for its version, even if it was unreachable a moment ago.
func (e *Engine) Info(ctx context.Context) (Info, error) {
	var info Info
	err := e.ask(ctx, request{path: "/v1/engine_info", wait: 5 * time.Second, probe: true},
		func(resp *http.Response) error {
			return e.decode(json.NewDecoder(resp.Body).Decode(&info))
		})
	info.Device, info.Version = oneLine(info.Device, maxName), oneLine(info.Version, maxName)
	return info, err
}

// Speakers returns the speakers, which are cached. The caller must not change the list.
func (e *Engine) Speakers(ctx context.Context) ([]Speaker, error) {
	e.mu.Lock()
	known := e.speakers
	e.mu.Unlock()
	if known != nil {
		return known, nil
	}
	all, err := e.list(ctx, "/v1/speakers_path_variant")
	if statusOf(err) == http.StatusNotFound { // an older engine, whose list contains pictures
		all, err = e.list(ctx, "/v1/speakers")
	}
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.speakers = all
	return all, nil
}

func (e *Engine) list(ctx context.Context, path string) ([]Speaker, error) {
	all := []Speaker{}
	err := e.ask(ctx, request{path: path, wait: 5 * time.Second}, func(resp *http.Response) error {
		return e.decode(decodeSpeakers(json.NewDecoder(resp.Body), &all))
	})
	return all, err
}

// decodeSpeakers decodes one speaker at a time, because each may contain pictures of some megabytes.
func decodeSpeakers(d *json.Decoder, all *[]Speaker) error {
	begin, err := d.Token()
	if err == nil && begin != json.Delim('[') {
		err = &json.UnmarshalTypeError{Value: "something else", Field: "speakers"}
	}
	if err != nil {
		return err
	}
	for d.More() {
		var s Speaker
		if err := d.Decode(&s); err != nil {
			return err
		}
		s.Name = oneLine(s.Name, maxName)
		for i := range s.Styles {
			s.Styles[i].Name = oneLine(s.Styles[i].Name, maxName)
		}
		*all = append(*all, s)
	}
	_, err = d.Token()
	return err
}

// decode explains errors of the JSON decoder.
func (e *Engine) decode(err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	if errors.As(err, &syntax) || errors.As(err, &kind) {
		return e.problem(fault.Unavailable, "the answer cannot be read", "check that a COEIROINK v2 engine listens there")
	}
	return err
}

// voice returns the requested voice if the engine has it, else the default voice, else the first one.
func (e *Engine) voice(ctx context.Context, asked Voice) (Voice, error) {
	if asked.Speaker == "" {
		asked = e.Voice
	}
	all, err := e.Speakers(ctx)
	switch {
	case ctx.Err() != nil:
		return asked, context.Cause(ctx)
	case err != nil && e.recentlyUnreachable() != nil:
		return asked, err
	case err != nil || len(all) == 0:
		return asked, nil // unknown: let the engine decide
	case hasVoice(all, asked):
		return asked, nil
	}
	instead := e.Voice
	if !hasVoice(all, instead) {
		instead = firstVoice(all, instead)
	}
	e.warn(asked, instead)
	return instead, nil
}

func hasVoice(all []Speaker, v Voice) bool {
	return slices.ContainsFunc(all, func(s Speaker) bool {
		return s.UUID == v.Speaker && slices.ContainsFunc(s.Styles, func(st Style) bool { return st.ID == v.Style })
	})
}

func firstVoice(all []Speaker, otherwise Voice) Voice {
	for _, s := range all {
		if len(s.Styles) > 0 {
			return Voice{Speaker: s.UUID, Style: s.Styles[0].ID}
		}
	}
	return otherwise
}

// warn warns once about each missing voice.
func (e *Engine) warn(asked, instead Voice) {
	e.mu.Lock()
	said := e.warned[asked] || len(e.warned) >= maxWarned
	if !said {
		e.warned[asked] = true
	}
	e.mu.Unlock()
	if said || e.Warn == nil {
		return
	}
	e.Warn(&fault.Error{Kind: fault.NotFound, Op: "use voice",
		Subject: fmt.Sprintf("%s style %d", oneLine(asked.Speaker, maxName), asked.Style),
		Why: fmt.Sprintf("the engine has no such voice; %s style %d speaks instead", oneLine(instead.Speaker, maxName),
			instead.Style),
		Hint: "choose a voice that the engine lists"})
}
