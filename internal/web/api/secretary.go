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

// A ChatMessage is what somebody says to the secretary.
type ChatMessage struct {
	Session string `json:"session"` // of her conversations; a new name begins one
	Text    string `json:"text"`
}

func (s ChatMessage) detail() string { return s.Session }

func (s *Server) secretary() (Secretary, error) {
	return available(s.Sources.Secretary, "secretary", "start the server with a model for her")
}

// chat tells what she answers, as she does. She goes on when nobody listens.
func (s *Server) chat(c *call) error {
	sec, err := s.secretary()
	if err != nil {
		return err
	}
	var in ChatMessage
	if err := c.read(&in); err != nil {
		return err
	}
	if err := speaks(in.Text); err != nil {
		return err
	}
	done, err := s.recordChange(c, in)
	if err != nil {
		return err
	}
	var said error
	err = s.stream(c, func(ctx context.Context, push func(item)) error {
		said = conversation(sec, c.identity.Actor, in)(ctx, push)
		return said
	})
	done(cmp.Or(said, err)) // there may have been no room for one more stream
	return err
}

func speaks(text string) error {
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

func (s *Server) conversations(c *call) (Conversations, error) {
	sec, err := s.secretary()
	if err != nil {
		return Conversations{}, err
	}
	all, err := sec.Sessions(c.Context())
	return Conversations{some(all)}, err
}

// Messages are those of a conversation.
type Messages struct {
	Messages []sessions.Message `json:"messages"`
}

const usualMessages, mostMessages = 100, 10_000

func (s *Server) messages(c *call) (Messages, error) {
	sec, err := s.secretary()
	if err != nil {
		return Messages{}, err
	}
	newest, err := c.number("newest", usualMessages, 1, mostMessages)
	if err != nil {
		return Messages{}, err
	}
	all, err := sec.Messages(c.Context(), c.PathValue("id"), int(newest))
	return Messages{some(all)}, err
}

// stopTalking also takes an answer for stopped that has just ended: who stops her
// cannot know that. Whether there was a conversation is looked up before.
func (s *Server) stopTalking(c *call, _ nothing) (nothing, error) {
	sec, err := s.secretary()
	if err != nil {
		return nothing{}, err
	}
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

// hasBegun tells whether something was said in a conversation, or is being
// answered. A name alone is kept also of one whose first turn failed.
func hasBegun(ctx context.Context, sec Secretary, id string) (bool, error) {
	said, err := sec.Messages(ctx, id, 1)
	if err != nil || len(said) > 0 {
		return len(said) > 0, err
	}
	all, err := sec.Sessions(ctx)
	return slices.ContainsFunc(all, func(s sessions.Session) bool { return s.ID == id && s.Busy }), err
}

// A Voice tells whether she speaks aloud.
type Voice struct {
	On bool `json:"on"`
}

func (v Voice) detail() string {
	if v.On {
		return "on"
	}
	return "off"
}

func (s *Server) speaking(c *call) (Voice, error) {
	sec, err := s.secretary()
	if err != nil {
		return Voice{}, err
	}
	on, err := sec.Speaks(c.Context())
	return Voice{on}, err
}

func (s *Server) voice(c *call, in Voice) (Voice, error) {
	sec, err := s.secretary()
	if err != nil {
		return Voice{}, err
	}
	on, err := sec.Voice(c.Context(), in.On)
	return Voice{on}, err
}
