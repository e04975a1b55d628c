package questions

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"hako/gate"
	"hako/internal/app/access"
	"hako/run/fault"
)

var operator = access.Actor{Name: "ann", Role: access.Operator}

// A gate and the API take a List as it is.
var (
	_ func(context.Context, gate.Question) (gate.Answer, error) = new(List).Ask
	_                                                           = gate.Options{Ask: new(List).Ask}
)

// asking asks in the background.
type asking struct {
	answer gate.Answer
	err    error
	done   chan struct{}
}

func ask(ctx context.Context, d *List, command string) *asking {
	a := &asking{done: make(chan struct{})}
	go func() {
		defer close(a.done)
		a.answer, a.err = d.Ask(ctx, gate.Question{Command: command, Script: "cd x; " + command, Actor: "agent:x", Dir: "/w",
			Reason: "r", Why: "w", Rule: "p:1"})
	}()
	synctest.Wait()
	return a
}

func (a *asking) waiting() bool {
	select {
	case <-a.done:
		return false
	default:
		return true
	}
}

func pending(t *testing.T, d *List) []Question {
	t.Helper()
	list, err := d.Pending(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// A question says in which conversation it is asked, if in one.
func TestConversations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d List
		ctx, cancel := context.WithCancel(t.Context())
		for _, ask := range []func(context.Context, gate.Question) (gate.Answer, error){d.Ask, d.AskIn("a"), d.AskIn("b")} {
			go ask(ctx, gate.Question{Actor: "secretary", Command: "touch x"})
			synctest.Wait()
		}
		var sessions []string
		for _, q := range pending(t, &d) {
			sessions = append(sessions, q.Session)
		}
		if !slices.Equal(sessions, []string{"", "a", "b"}) {
			t.Errorf("asked in %q", sessions)
		}
		cancel()
		synctest.Wait()
	})
}

func TestAnswers(t *testing.T) {
	for _, said := range []gate.Answer{gate.Once, gate.Session, gate.No} {
		synctest.Test(t, func(t *testing.T) {
			var d List
			a := ask(t.Context(), &d, "push")
			list := pending(t, &d)
			if len(list) != 1 || !a.waiting() {
				t.Fatalf("%+v", list)
			}
			if err := d.Answer(t.Context(), operator, list[0].ID, said); err != nil {
				t.Fatal(err)
			}
			<-a.done
			if a.answer != said || a.err != nil || len(pending(t, &d)) != 0 {
				t.Errorf("%s: %v, %v", said, a.answer, a.err)
			}
		})
	}
}

func TestQuestionIsShownWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := List{Wait: time.Minute}
		a := ask(t.Context(), &d, "push it")
		got := pending(t, &d)[0]
		if len(got.ID) < 26 {
			t.Errorf("id %q can be guessed", got.ID)
		}
		want := Question{ID: got.ID, Question: gate.Question{Actor: "agent:x", Command: "push it", Script: "cd x; push it",
			Dir: "/w", Reason: "r", Why: "w", Rule: "p:1"}, Asked: time.Now(), Ends: time.Now().Add(time.Minute)}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, want %+v", got, want)
		}
		<-a.done
	})
}

func TestSilenceIsNo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d List
		began := time.Now()
		a := ask(t.Context(), &d, "push")
		id := pending(t, &d)[0].ID
		<-a.done
		if a.answer != gate.No || fault.KindOf(a.err) != fault.Timeout || !errors.Is(a.err, context.DeadlineExceeded) ||
			time.Since(began) != 300*time.Second {
			t.Errorf("after %v: %v, %v", time.Since(began), a.answer, a.err)
		}
		err := d.Answer(t.Context(), operator, id, gate.Once)
		if fault.KindOf(err) != fault.NotFound || !strings.Contains(err.Error(), "in time") {
			t.Errorf("a late answer: %v", err)
		}
	})
}

func TestEndOfRequestIsNo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d List
		ctx, cancel := context.WithCancel(t.Context())
		a := ask(ctx, &d, "push")
		id := pending(t, &d)[0].ID
		cancel()
		<-a.done
		if a.answer != gate.No || !errors.Is(a.err, context.Canceled) || len(pending(t, &d)) != 0 {
			t.Errorf("%v, %v", a.answer, a.err)
		}
		err := d.Answer(t.Context(), operator, id, gate.Once)
		if fault.KindOf(err) != fault.NotFound || !strings.Contains(err.Error(), "has gone") {
			t.Errorf("a late answer: %v", err)
		}
	})
}

func TestTimeOfTheGateIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d List
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		a := ask(ctx, &d, "push")
		q := pending(t, &d)[0]
		if got := q.Ends.Sub(q.Asked); got != time.Second {
			t.Errorf("ends after %v", got)
		}
		<-a.done
		if err := d.Answer(t.Context(), operator, q.ID, gate.Once); !strings.Contains(err.Error(), "in time") {
			t.Errorf("a late answer: %v", err)
		}
	})
}

func TestBadAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d List
		a := ask(t.Context(), &d, "push")
		id := pending(t, &d)[0].ID
		for name, c := range map[string]struct {
			who  access.Actor
			id   string
			said gate.Answer
			kind fault.Kind
		}{
			"reader":  {access.Actor{Name: "bob", Role: access.Reader}, id, gate.Once, fault.Denied},
			"nobody":  {access.Actor{}, id, gate.Once, fault.Denied},
			"strange": {operator, id, gate.Session + 1, fault.Invalid},
			"unknown": {operator, "x", gate.Once, fault.NotFound},
		} {
			if err := d.Answer(t.Context(), c.who, c.id, c.said); fault.KindOf(err) != c.kind {
				t.Errorf("%s: %v", name, err)
			}
		}
		if !a.waiting() {
			t.Fatal("it was answered")
		}
		if err := d.Answer(t.Context(), operator, id, gate.No); err != nil {
			t.Fatal(err)
		}
		if err := d.Answer(t.Context(), operator, id, gate.Once); fault.KindOf(err) != fault.Invalid ||
			!strings.Contains(err.Error(), "already") {
			t.Errorf("twice: %v", err)
		}
		<-a.done
		if a.answer != gate.No {
			t.Errorf("the second answer counted: %v", a.answer)
		}
	})
}

func TestManyAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := List{Most: 5}
		var all []*asking
		for i := range 5 {
			all = append(all, ask(t.Context(), &d, fmt.Sprint(i)))
		}
		if _, err := d.Ask(t.Context(), gate.Question{Command: "one more"}); fault.KindOf(err) != fault.Exhausted ||
			fault.Hint(err) == "" {
			t.Errorf("one too many: %v", err)
		}
		list := pending(t, &d)
		for i, q := range list {
			if q.Command != fmt.Sprint(i) {
				t.Errorf("question %d is %s", i, q.Command)
			}
		}
		d.Answer(t.Context(), operator, list[3].ID, gate.Once)
		<-all[3].done
		for i, a := range all {
			if a.waiting() == (i == 3) {
				t.Errorf("question %d waits: %v", i, a.waiting())
			}
		}
		for _, a := range all {
			<-a.done
		}
	})
}

func TestAThousandByDefault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d List
		for i := range defaultMost {
			if _, err := d.add(t.Context(), gate.Question{Actor: fmt.Sprint(i / maxPerActor)}, "", time.Second); err != nil {
				t.Fatal(err)
			}
		}
		if a, err := d.Ask(t.Context(), gate.Question{}); a != gate.No || fault.KindOf(err) != fault.Exhausted {
			t.Errorf("%v, %v", a, err)
		}
	})
}

func TestChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d List
		ctx, cancel := context.WithCancel(t.Context())
		c := d.Changed(ctx)
		told := func() bool {
			select {
			case _, open := <-c:
				return open
			default:
				return false
			}
		}
		if told() {
			t.Error("told before anything happened")
		}
		a, b := ask(t.Context(), &d, "a"), ask(t.Context(), &d, "b")
		if !told() || told() {
			t.Error("two changes were not told as one")
		}
		d.Answer(t.Context(), operator, pending(t, &d)[0].ID, gate.No)
		if !told() {
			t.Error("an answer was not told")
		}
		<-a.done
		<-b.done
		if !told() {
			t.Error("silence was not told")
		}
		cancel()
		synctest.Wait()
		if _, open := <-c; open || len(d.watchers) != 0 {
			t.Error("it goes on after the end")
		}
	})
}

// The past is for explaining: it must not grow for ever.
func TestPastIsForgotten(t *testing.T) {
	var d List
	first := ""
	for range maxPast + 10 {
		m, _ := d.add(t.Context(), gate.Question{}, "", time.Hour)
		if first == "" {
			first = m.ID
		}
		d.Answer(t.Context(), operator, m.ID, gate.No)
	}
	if len(d.past) != maxPast || len(d.pastIDs) != maxPast {
		t.Errorf("%d remembered", len(d.past))
	}
	if err := d.Answer(t.Context(), operator, first, gate.No); fault.KindOf(err) != fault.NotFound {
		t.Errorf("forgotten one: %v", err)
	}
}

// An answer and the end of time may meet: who answered was told that it counts.
func TestAnswerAtTheLastMoment(t *testing.T) {
	for range 200 {
		ctx, cancel := context.WithCancel(t.Context())
		var d List
		var asked sync.WaitGroup
		var got gate.Answer
		changed := d.Changed(t.Context())
		asked.Go(func() { got, _ = d.Ask(ctx, gate.Question{}) })
		<-changed
		id := pending(t, &d)[0].ID
		go cancel()
		err := d.Answer(t.Context(), operator, id, gate.Once)
		asked.Wait()
		if (err == nil) != (got == gate.Once) {
			t.Fatalf("answered with %v, got %v", err, got)
		}
	}
}

// TestOneAlone: nobody fills the desk alone, nor with a long story.
func TestOneAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var d List
		for range maxPerActor {
			go d.Ask(ctx, gate.Question{Actor: "a", Reason: strings.Repeat("長", 5000)})
		}
		synctest.Wait()
		if _, err := d.Ask(ctx, gate.Question{Actor: "a"}); fault.KindOf(err) != fault.Exhausted {
			t.Errorf("one more: %v", err)
		}
		go d.Ask(ctx, gate.Question{Actor: "b"})
		synctest.Wait()
		all, _ := d.Pending(ctx)
		if n := len([]rune(all[0].Reason)); len(all) != maxPerActor+1 || n != maxReason {
			t.Errorf("%d questions, a reason of %d characters", len(all), n)
		}
		cancel()
		synctest.Wait()
	})
}
