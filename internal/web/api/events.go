package api

import (
	"context"
	"fmt"
	"math"
	"strconv"

	"hako/gate"
	"hako/internal/app/questions"
	"hako/internal/app/records"
)

func (s *Server) live() (Live, error) {
	return available(s.Sources.Live, "events", "start the server with a record")
}

// events shows the record as it is written.
func (s *Server) events(c *call) (producer, error) {
	live, err := s.live()
	if err != nil {
		return nil, err
	}
	after, err := c.after()
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, push func(item)) error {
		from, err := live.Watch(ctx, after)
		if err != nil {
			return err
		}
		push(signOfLife)
		passOn(ctx, from, func(e records.Entry) { push(item{strconv.FormatInt(e.Seq, 10), "event", e}) })
		return nil
	}, nil
}

// after is where a client wants to go on. A browser that comes back by itself
// says so in a header, and what the address said at first is old.
func (c *call) after() (int64, error) {
	if last := c.Header.Get("Last-Event-ID"); last != "" {
		return number("Last-Event-ID", last, 0, math.MaxInt64)
	}
	return c.number("after", 0, 0, math.MaxInt64)
}

// Questions are those that wait for an answer.
type Questions struct {
	Questions []questions.Question `json:"questions"`
}

func (s *Server) approvals() (Approvals, error) {
	return available(s.Sources.Approvals, "approvals", "start the server with something that asks")
}

func (s *Server) pending(c *call) (Questions, error) {
	desk, err := s.approvals()
	if err != nil {
		return Questions{}, err
	}
	return pendingQuestions(c.Context(), desk)
}

func pendingQuestions(ctx context.Context, desk Approvals) (Questions, error) {
	all, err := desk.Pending(ctx)
	return Questions{some(all)}, err
}

// pendingEvents shows the whole list whenever it has changed.
func (s *Server) pendingEvents(*call) (producer, error) {
	desk, err := s.approvals()
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, push func(item)) error {
		changed := desk.Changed(ctx) // before the first look: nothing may fall in between
		for {
			all, err := pendingQuestions(ctx, desk)
			if err != nil {
				return err
			}
			push(item{name: "approvals", data: all})
			select {
			case _, more := <-changed:
				if !more {
					return nil
				}
			case <-ctx.Done():
				return nil
			}
		}
	}, nil
}

// A Decision is the answer to a question.
type Decision struct {
	Answer string `json:"answer"` // once, session or deny
}

func (d Decision) detail() string {
	if a, prefixed := gate.ParseAnswer(d.Answer); prefixed {
		return a.String()
	}
	return "in a way that is not known"
}

func (s *Server) answer(c *call, in Decision) (nothing, error) {
	desk, err := s.approvals()
	if err != nil {
		return nothing{}, err
	}
	answer, prefixed := gate.ParseAnswer(in.Answer)
	if !prefixed {
		return nothing{}, invalid("answer question", c.PathValue("id"), fmt.Sprintf("there is no answer %q", in.Answer),
			"it is one of once, session, deny")
	}
	return nothing{}, desk.Answer(c.Context(), c.identity.Actor, c.PathValue("id"), answer)
}

// question tells the record what is decided: the number of a question says
// nothing to who reads it later.
func (s *Server) question(c *call) string {
	all, err := s.pending(c)
	if err != nil {
		return ""
	}
	for _, q := range all.Questions {
		if q.ID == c.PathValue("id") {
			return ": " + q.Command
		}
	}
	return ""
}

// some makes an empty list of none: null is not a list.
func some[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
