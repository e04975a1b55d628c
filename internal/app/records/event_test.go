package records

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"hako/audit"
)

// A book is a record in the making.
type book struct {
	t    testing.TB
	path string
	now  time.Time
}

func newBook(t testing.TB) *book {
	return &book{t: t, path: filepath.Join(t.TempDir(), "audit.jsonl"), now: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)}
}

// write appends events as a process of its own would, a second apart.
func (b *book) write(events ...audit.Event) {
	b.t.Helper()
	l, err := audit.Open(b.path, audit.Options{Now: func() time.Time { b.now = b.now.Add(time.Second); return b.now }})
	if err != nil {
		b.t.Fatal(err)
	}
	defer l.Close()
	for _, e := range events {
		if err := l.Append(e); err != nil {
			b.t.Fatal(err)
		}
	}
}

// fill appends n events that say little.
func (b *book) fill(n int) {
	b.t.Helper()
	events := make([]audit.Event, n)
	for i := range events {
		events[i] = audit.Event{ID: fmt.Sprint("r", i), Actor: "user", What: audit.Asked, Script: fmt.Sprint("echo ", i)}
	}
	b.write(events...)
}

// gone takes the record away, with what belongs to it.
func (b *book) gone() {
	b.t.Helper()
	for _, name := range []string{b.path, audit.HeadPath(b.path)} {
		if err := os.Rename(name, name+fmt.Sprint(".", time.Now().UnixNano())); err != nil {
			b.t.Fatal(err)
		}
	}
}

func seqs(events []Entry) (all []int64) {
	for _, e := range events {
		all = append(all, e.Seq)
	}
	return all
}

func TestShown(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	zero, three := 0, 3
	for _, c := range []struct {
		from audit.Event
		want Entry
	}{
		{audit.Event{Seq: 7, Time: at, ID: "a/1", Actor: "agent:coder", What: audit.Ended, Error: "e", Micros: 12, Bytes: 34},
			Entry{Seq: 7, Time: at, ID: "a/1", Actor: "agent:coder", What: "ended", Exit: &zero, Error: "e", Micros: 12,
				Bytes: 34}},
		{audit.Event{What: audit.Ended, Exit: 3}, Entry{What: "ended", Exit: &three}},
		{audit.Event{What: audit.Denied, Argv: []string{"rm", "-rf"}, Effect: "deny", Rule: "default:3", Reason: "no"},
			Entry{What: "denied", Text: "rm -rf", Effect: "deny", Rule: "default:3", Reason: "no"}},
		{audit.Event{What: audit.Asked, Script: "cat x | wc"}, Entry{What: "asked", Text: "cat x | wc"}},
		{audit.Event{What: audit.Called, Path: "execute", Script: `{"command":"ls"}`},
			Entry{What: "called", Text: `execute {"command":"ls"}`}},
		{audit.Event{What: audit.Answered, Path: "execute", Script: "x"}, Entry{What: "answered", Text: "execute"}},
		{audit.Event{What: audit.Opened, Mode: "network", Argv: []string{"GET"}, Path: "https://x"},
			Entry{What: "opened", Text: "GET https://x"}},
		{audit.Event{What: audit.Closed, Mode: "read", Path: "/a"}, Entry{What: "closed", Text: "/a"}},
		{audit.Event{What: audit.Model, Provider: "gpt", Tokens: 9, Cost: 0.5},
			Entry{What: "model", Text: "gpt", Tokens: 9, Cost: 0.5}},
		{audit.Event{What: audit.Asked, Script: strings.Repeat("箱", maxText)},
			Entry{What: "asked", Text: strings.Repeat("箱", maxText/3) + "…"}},
	} {
		if got := entryOf(&c.from); !reflect.DeepEqual(got, c.want) {
			t.Errorf("got  %+v\nwant %+v", got, c.want)
		}
	}
}
