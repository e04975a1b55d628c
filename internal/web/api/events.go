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

// events streams the record as it is written.
func events(live Live, c *call) (producer, error) {
	after, err := c.after()
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, push func(item)) error {
		from, err := live.Watch(ctx, after)
		if err != nil {
			return err
		}
		push(keepAlive)
		forward(ctx, from, func(e records.Entry) { push(item{strconv.FormatInt(e.Seq, 10), "event", e}) })
		return nil
	}, nil
}

// after is the event after which a client continues. A browser that reconnects sends it in a header, which is newer
// than the query of its URL.
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

func pending(from Approvals, c *call) (Questions, error) {
	all, err := from.Pending(c.Context())
	return Questions{nonNil(all)}, err
}

// pendingEvents streams the whole list whenever it has changed.
func pendingEvents(from Approvals, _ *call) (producer, error) {
	return func(ctx context.Context, push func(item)) error {
		changed := from.Changed(ctx) // subscribed before the first read, so that no change is missed
		for {
			all, err := from.Pending(ctx)
			if err != nil {
				return err
			}
			push(item{name: "approvals", data: Questions{nonNil(all)}})
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
	if a, ok := gate.ParseAnswer(d.Answer); ok {
		return a.String()
	}
	return "in a way that is not known"
}

func answer(to Approvals, c *call, in Decision) (nothing, error) {
	answer, ok := gate.ParseAnswer(in.Answer)
	if !ok {
		return nothing{}, invalid("answer question", c.PathValue("id"), fmt.Sprintf("there is no answer %q", in.Answer),
			"it is one of once, session, deny")
	}
	return nothing{}, to.Answer(c.Context(), c.identity.Actor, c.PathValue("id"), answer)
}

// question adds the command of a question to the record, whose readers would not know its number.
func (s *Server) question(c *call) string {
	from, err := s.approvals()
	if err != nil {
		return ""
	}
	all, err := pending(from, c)
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

// nonNil returns an empty list for nil, which JSON would show as null.
func nonNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
