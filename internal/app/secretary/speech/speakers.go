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

// Info is what an engine says about itself.
type Info struct {
	Device  string `json:"device"`
	Version string `json:"version"`
}

// A Speaker is somebody whose voice the engine has.
type Speaker struct {
	Name   string  `json:"speakerName"`
	UUID   string  `json:"speakerUuid"`
	Styles []Style `json:"styles"`
}

// A Style is one way in which a speaker can speak.
type Style struct {
	Name string `json:"styleName"`
	ID   int    `json:"styleId"`
}

const (
	maxName   = 80  // of speakers and styles, in characters
	maxWarned = 100 // voices that are remembered not to be there
)

// Info asks the engine how it is. Unlike the other questions it is asked even
// if nobody was there a moment ago.
func (e *Engine) Info(ctx context.Context) (Info, error) {
	var info Info
	err := e.ask(ctx, question{path: "/v1/engine_info", wait: 5 * time.Second, probe: true},
		func(resp *http.Response) error {
			return e.decode(json.NewDecoder(resp.Body).Decode(&info))
		})
	info.Device, info.Version = clean(info.Device, maxName), clean(info.Version, maxName)
	return info, err
}

// Speakers returns whose voices there are. They are asked for once; the list
// must not be changed.
func (e *Engine) Speakers(ctx context.Context) ([]Speaker, error) {
	e.mu.Lock()
	known := e.speakers
	e.mu.Unlock()
	if known != nil {
		return known, nil
	}
	all, err := e.list(ctx, "/v1/speakers_path_variant")
	if statusOf(err) == http.StatusNotFound { // an engine from before there was a list without pictures
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
	err := e.ask(ctx, question{path: path, wait: 5 * time.Second}, func(resp *http.Response) error {
		return e.decode(decodeSpeakers(json.NewDecoder(resp.Body), &all))
	})
	return all, err
}

// decodeSpeakers reads one speaker after the other, so that the pictures of no
// more than one, which are megabytes, are held at any time.
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
		s.Name = clean(s.Name, maxName)
		for i := range s.Styles {
			s.Styles[i].Name = clean(s.Styles[i].Name, maxName)
		}
		*all = append(*all, s)
	}
	_, err = d.Token()
	return err
}

// decode words the errors of reading JSON: it makes no sense, or there was not
// all of it.
func (e *Engine) decode(err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	if errors.As(err, &syntax) || errors.As(err, &kind) {
		return e.problem(fault.Unavailable, "the answer cannot be read", "check that a COEIROINK v2 engine listens there")
	}
	return err
}

// voice returns the voice that is used where one is asked for: itself if there
// is such a one, the usual one, or at worst the first there is.
func (e *Engine) voice(ctx context.Context, asked Voice) (Voice, error) {
	if asked.Speaker == "" {
		asked = e.Voice
	}
	all, err := e.Speakers(ctx)
	switch {
	case ctx.Err() != nil:
		return asked, context.Cause(ctx)
	case err != nil && e.stillGone() != nil:
		return asked, err
	case err != nil || len(all) == 0:
		return asked, nil // nothing is known; the engine has to say it itself
	case has(all, asked):
		return asked, nil
	}
	instead := e.Voice
	if !has(all, instead) {
		instead = first(all, instead)
	}
	e.warn(asked, instead)
	return instead, nil
}

func has(all []Speaker, v Voice) bool {
	return slices.ContainsFunc(all, func(s Speaker) bool {
		return s.UUID == v.Speaker && slices.ContainsFunc(s.Styles, func(st Style) bool { return st.ID == v.Style })
	})
}

// first returns the first voice there is.
func first(all []Speaker, otherwise Voice) Voice {
	for _, s := range all {
		if len(s.Styles) > 0 {
			return Voice{Speaker: s.UUID, Style: s.Styles[0].ID}
		}
	}
	return otherwise
}

// warn says once that a voice is not there.
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
		Subject: fmt.Sprintf("%s style %d", clean(asked.Speaker, maxName), asked.Style),
		Why: fmt.Sprintf("the engine has no such voice; %s style %d speaks instead", clean(instead.Speaker, maxName),
			instead.Style),
		Hint: "choose a voice that the engine lists"})
}
