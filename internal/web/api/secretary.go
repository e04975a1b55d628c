package api

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync/atomic"

	"hako/internal/app/access"
	"hako/internal/app/secretary/sessions"
	"hako/run/fault"
)

// A ChatMessage is a message to the secretary.
type ChatMessage struct {
	Session string `json:"session"` // name of the conversation; a new name begins one
	Text    string `json:"text"`
}

func (s ChatMessage) detail() string { return s.Session }

func (s *Server) secretary() (Secretary, error) {
	return available(s.Sources.Secretary, "secretary", "start the server with a model for her")
}

// chat streams the answer. The turn goes on if the client disconnects.
func (s *Server) chat(c *call) error {
	sec, err := s.secretary()
	if err != nil {
		return err
	}
	var in ChatMessage
	if err := c.read(&in); err != nil {
		return err
	}
	if err := notEmpty(in.Text); err != nil {
		return err
	}
	done, err := s.recordChange(c, in)
	if err != nil {
		return err
	}
	var failed error
	err = s.stream(c, func(ctx context.Context, push func(item)) error {
		failed = conversation(sec, c.identity.Actor, in)(ctx, push)
		return failed
	})
	done(cmp.Or(failed, err)) // there may have been too many streams
	return err
}

func notEmpty(text string) error {
	if strings.TrimSpace(text) == "" {
		return invalid("talk to secretary", "", "nothing is said", "say something in text")
	}
	return nil
}

func conversation(sec Secretary, who access.Actor, in ChatMessage) producer {
	return func(ctx context.Context, push func(item)) error {
		var done atomic.Bool
		err := sec.Chat(ctx, who, in.Session, in.Text, func(t sessions.Turn) {
			done.Store(t.Type == turnDone)
			push(item{name: "turn", data: t})
		})
		if err == nil && !done.Load() {
			push(item{name: "turn", data: sessions.Turn{Type: turnDone}})
		}
		return err
	}
}

const (
	turnText  = "text"
	turnAgain = "again"
	turnDone  = "done"
)

// Conversations are those with the secretary.
type Conversations struct {
	Sessions []sessions.Session `json:"sessions"`
}

// Messages are those of a conversation.
type Messages struct {
	Messages []sessions.Message `json:"messages"`
}

const defaultMessages, maxMessages = 100, 10_000

func messages(sec Secretary, c *call) (Messages, error) {
	newest, err := c.number("newest", defaultMessages, 1, maxMessages)
	if err != nil {
		return Messages{}, err
	}
	all, err := sec.Messages(c.Context(), c.PathValue("id"), int(newest))
	return Messages{nonNil(all)}, err
}

// stopTurn also succeeds if the turn has just ended, which the client cannot know. It looks up before stopping
// whether the conversation exists.
func stopTurn(sec Secretary, c *call, _ nothing) (nothing, error) {
	id := c.PathValue("id")
	begun, err := hasBegun(c.Context(), sec, id)
	if stopped := sec.Stop(c.Context(), c.identity.Actor, id); stopped != nil || err != nil {
		return nothing{}, cmp.Or(stopped, err)
	}
	if !begun {
		return nothing{}, &fault.Error{Kind: fault.NotFound, Op: "stop secretary", Subject: id,
			Why:  "nothing was said in this conversation, and she is not answering",
			Hint: "GET /api/v1/secretary/sessions lists the conversations"}
	}
	return nothing{}, nil
}

// hasBegun reports whether a conversation has messages or a running turn. Its name is also stored if the first turn
// failed.
func hasBegun(ctx context.Context, sec Secretary, id string) (bool, error) {
	messages, err := sec.Messages(ctx, id, 1)
	if err != nil || len(messages) > 0 {
		return len(messages) > 0, err
	}
	all, err := sec.Sessions(ctx)
	return slices.ContainsFunc(all, func(s sessions.Session) bool { return s.ID == id && s.Busy }), err
}

// A Voice says whether answers are spoken.
type Voice struct {
	On bool `json:"on"`
}

func (v Voice) detail() string {
	if v.On {
		return "on"
	}
	return "off"
}

func voice(sec Secretary, c *call) (Voice, error) {
	on, err := sec.Speaks(c.Context())
	return Voice{on}, err
}

func setVoice(sec Secretary, c *call, in Voice) (Voice, error) {
	on, err := sec.Voice(c.Context(), in.On)
	return Voice{on}, err
}
