package store

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"hako/run/fault"
)

var tokyo = time.FixedZone("JST", 9*3600)

// at is a store whose clock stands still until it is set.
func at(t *testing.T, now *time.Time) *Store {
	s := fresh(t)
	s.now = func() time.Time { return *now }
	return s
}

func TestTodo(t *testing.T) {
	now := time.Date(2026, 1, 31, 9, 0, 0, 0, tokyo)
	s := at(t, &now)
	milk, err := s.Add(Todo{Title: " 牛乳を買う\n", Note: "低脂肪\n2本", Due: "2026-02-01", Priority: "high", Status: "done",
		ID: 77})
	if err != nil || milk.ID != 1 || milk.Title != "牛乳を買う" || milk.Note != "低脂肪\n2本" || milk.Due != "2026-02-01" ||
		milk.Priority != "high" ||
		milk.Status != StatusOpen || !milk.Created.Equal(now) || !milk.Updated.Equal(now) || !milk.Completed.IsZero() {
		t.Fatalf("%+v, %v", milk, err)
	}
	if plain, _ := s.Add(Todo{Title: "x"}); plain.Priority != "normal" || plain.Due != "" {
		t.Errorf("%+v", plain)
	}
	b, _ := json.Marshal(milk)
	if string(b) != `{"id":1,"title":"牛乳を買う","note":"低脂肪\n2本","status":"open","priority":"high","due":"2026-02-01","created":"2026-01-31T00:00:00Z","updated":"2026-01-31T00:00:00Z"}` {
		t.Errorf("%s", b)
	}

	created := now
	now = now.Add(time.Hour)
	title, none := "豆乳を買う", "none"
	soy, err := s.Update(1, Change{Title: &title, Due: &none})
	if again, _ := s.Get(1); err != nil || soy != again || soy.Title != title || soy.Note != milk.Note || soy.Due != "" ||
		soy.Priority != "high" || !soy.Created.Equal(created) || !soy.Updated.Equal(now) {
		t.Errorf("%+v, %+v, %v", soy, again, err)
	}

	now = now.Add(time.Hour)
	done, err := s.Complete(1)
	if err != nil || done.Status != StatusDone || !done.Completed.Equal(now) {
		t.Errorf("%+v, %v", done, err)
	}
	finished := now
	now = now.Add(time.Hour)
	if again, err := s.Complete(1); err != nil || !again.Completed.Equal(finished) || !again.Updated.Equal(finished) {
		t.Errorf("twice: %+v, %v", again, err)
	}
	open := StatusOpen
	if again, err := s.Update(1, Change{Status: &open}); err != nil || again.Status != StatusOpen ||
		!again.Completed.IsZero() {
		t.Errorf("opened again: %+v, %v", again, err)
	}

	gone, err := s.Delete(1)
	if err != nil || gone.Title != title {
		t.Errorf("%+v, %v", gone, err)
	}
	_, err = s.Get(1)
	want(t, err, fault.NotFound, "find to-do 1", "list of all to-dos")
	s.Delete(2)
	if next, _ := s.Add(Todo{Title: "y"}); next.ID != 3 {
		t.Errorf("a number is used again: %+v", next)
	}
}

func TestTodoRefuses(t *testing.T) {
	s := fresh(t)
	s.Add(Todo{Title: "残る"})
	text := func(s string) *string { return &s }
	for says, c := range map[string]Change{
		"nothing is to be changed":                  {},
		"title of to-do: it is empty":               {Title: text(" \n")},
		"title of to-do: it has more than 500":      {Title: text(strings.Repeat("長", 501))},
		"title of to-do: it has characters":         {Title: text("a\x1b[2Jb")},
		"note of to-do: it has more than 10000":     {Note: text(strings.Repeat("長", 10001))},
		`"soon" is not a day or time`:               {Title: text("変わる"), Due: text("soon")},
		`"urgent" is none | it is one of low, norm`: {Title: text("変わる"), Priority: text("urgent")},
		`"later" is none | it is one of open, done`: {Title: text("変わる"), Status: text("later")},
	} {
		_, err := s.Update(1, c)
		if got := fmt.Sprint(err, " | ", fault.Hint(err)); fault.KindOf(err) != fault.Invalid ||
			!strings.Contains(got, says) {
			t.Errorf("%s: want %s", got, says)
		}
	}
	if kept, err := s.Get(1); err != nil || kept.Title != "残る" {
		t.Errorf("%+v, %v", kept, err)
	}
	title := "x"
	_, err := s.Update(9, Change{Title: &title})
	want(t, err, fault.NotFound, "find to-do 9")
	_, err = s.Complete(9)
	want(t, err, fault.NotFound, "find to-do 9")
	_, err = s.Delete(9)
	want(t, err, fault.NotFound, "find to-do 9")
	_, err = s.List(Filter{Status: "late"})
	want(t, err, fault.Invalid, `"late" is none`)
}

// TestSeen has two change what both have looked at.
func TestSeen(t *testing.T) {
	s := fresh(t)
	seen, _ := s.Add(Todo{Title: "牛乳を買う"})
	note, title := "低脂肪", "豆乳を買う"
	if _, err := s.Update(1, Change{Note: &note, Seen: seen.Updated}); err != nil {
		t.Fatal(err)
	}
	_, err := s.Update(1, Change{Title: &title, Seen: seen.Updated})
	want(t, err, fault.Unavailable, "update to-do 1: it has been changed meanwhile", "look at it again")
	kept, _ := s.Get(1)
	if kept.Title != "牛乳を買う" || kept.Note != note {
		t.Errorf("%+v", kept)
	}
	if _, err := s.Update(1, Change{Title: &title, Seen: kept.Updated}); err != nil {
		t.Error(err)
	}
	_, err = s.Update(1, Change{Seen: kept.Updated})
	want(t, err, fault.Invalid, "nothing is to be changed")
}

func TestList(t *testing.T) {
	now := time.Date(2026, 1, 31, 9, 0, 0, 0, tokyo)
	s := at(t, &now)
	for _, todo := range []Todo{
		{Title: "a いつでも", Priority: "low"},
		{Title: "b いつでも", Priority: "high", Note: "100%"},
		{Title: "c 明日", Due: "tomorrow"},
		{Title: "d 今日の午後", Due: "2026-01-31T15:00:00+09:00"},
		{Title: "e 今日", Due: "today", Priority: "high"},
		{Title: "f 今日", Due: "2026-01-31 00:00"},
		{Title: "g UTC", Due: "2026-01-31T06:30:00Z"},
		{Title: "h 済み", Due: "2026-01-01"},
	} {
		if _, err := s.Add(todo); err != nil {
			t.Fatal(err)
		}
	}
	s.Complete(8)
	_, today, _ := ParseDue("today", now)
	for want, f := range map[string]Filter{
		"f d g e c b a h": {},
		"f d g e c b a":   {Status: StatusOpen},
		"h":               {Status: StatusDone},
		"f d g e h":       {DueBy: today},
		"f d h":           {DueBy: time.Date(2026, 1, 31, 15, 0, 0, 0, tokyo)},
		"b":               {Query: "0%"},
		"g":               {Query: "utc"},
		"f d e":           {Query: "今日", DueBy: today, Status: StatusOpen},
		"":                {Query: "_"},
	} {
		all, err := s.List(f)
		var got []string
		for _, todo := range all {
			got = append(got, todo.Title[:1])
		}
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%+v: %v, %v; want %s", f, got, err, want)
		}
	}
}

func TestParseDue(t *testing.T) {
	now := time.Date(2026, 1, 31, 23, 30, 0, 0, tokyo)
	for text, want := range map[string]string{
		"":                          " 0001-01-01T00:00:00Z",
		"None":                      " 0001-01-01T00:00:00Z",
		"today":                     "2026-01-31 2026-02-01T00:00:00+09:00",
		"Tomorrow":                  "2026-02-01 2026-02-02T00:00:00+09:00",
		"2026-12-31":                "2026-12-31 2027-01-01T00:00:00+09:00",
		" 2026-02-28T10:00 ":        "2026-02-28T10:00:00+09:00 2026-02-28T10:00:00+09:00",
		"2026-02-28 10:00:05":       "2026-02-28T10:00:05+09:00 2026-02-28T10:00:05+09:00",
		"2026-02-28T10:00:00Z":      "2026-02-28T10:00:00Z 2026-02-28T10:00:00Z",
		"2026-02-28T10:00:00-05:00": "2026-02-28T10:00:00-05:00 2026-02-28T10:00:00-05:00",
	} {
		due, end, err := ParseDue(text, now)
		if got := due + " " + end.Format(time.RFC3339); err != nil || got != want {
			t.Errorf("%s: %s, %v; want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"2026-02-30", "2026-1-1", "soon", "25:00", "2026-01-31T25:00:00Z", "1/2/2026", "明日"} {
		_, _, err := ParseDue(text, now)
		want := fmt.Sprintf("set due of to-do: %q is not a day or time", text)
		if fault.KindOf(err) != fault.Invalid || fmt.Sprint(err) != want || fault.Hint(err) == "" {
			t.Errorf("%v", err)
		}
	}
}

// A day with a change to summer time has other than 24 hours.
func TestDueInSummerTime(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	_, end, err := ParseDue("2026-03-29", time.Date(2026, 3, 29, 1, 0, 0, 0, berlin))
	if err != nil || end.Format(time.RFC3339) != "2026-03-30T00:00:00+02:00" {
		t.Errorf("%v, %v", end, err)
	}
}

func TestOverdue(t *testing.T) {
	now := time.Date(2026, 1, 31, 23, 59, 59, 0, tokyo)
	for _, tt := range []struct {
		todo Todo
		want bool
	}{
		{Todo{Status: StatusOpen}, false},
		{Todo{Status: StatusOpen, Due: "2026-01-31"}, false},
		{Todo{Status: StatusOpen, Due: "2026-01-30"}, true},
		{Todo{Status: StatusDone, Due: "2026-01-30"}, false},
		{Todo{Status: StatusOpen, Due: "2026-01-31T14:59:59Z"}, true},
		{Todo{Status: StatusOpen, Due: "2026-01-31T15:00:00Z"}, false},
	} {
		if got := tt.todo.Overdue(now); got != tt.want {
			t.Errorf("%+v: %v", tt.todo, got)
		}
	}
}

func TestDo(t *testing.T) {
	s := fresh(t)
	for _, tt := range []struct{ action, said string }{
		{`{"action":"add","title":"牛乳を買う","due":"2026-02-01","priority":"high"}`, "added to-do 1: 牛乳を買う"},
		{`{"action":"update","id":1,"note":"2本","title":"","due":"","priority":""}`, "updated to-do 1: 牛乳を買う"},
		{`{"action":"complete","id":1}`, "completed to-do 1: 牛乳を買う"},
		{`{"action":"update","id":1,"due":"none"}`, "updated to-do 1: 牛乳を買う"},
	} {
		var a TodoAction
		if err := json.Unmarshal([]byte(tt.action), &a); err != nil {
			t.Fatal(err)
		}
		said, todo, err := s.Do(a)
		if kept, _ := s.Get(1); err != nil || said != tt.said || kept != todo {
			t.Errorf("%s: %s, %+v, %v", tt.action, said, todo, err)
		}
	}
	if kept, _ := s.Get(1); kept.Note != "2本" || kept.Priority != "high" || kept.Status != StatusDone || kept.Due != "" {
		t.Errorf("%+v", kept)
	}
	if said, _, err := s.Do(TodoAction{Action: "delete", ID: 1}); err != nil || said != "deleted to-do 1: 牛乳を買う" {
		t.Errorf("%s, %v", said, err)
	}
	for _, tt := range []struct {
		a    TodoAction
		kind fault.Kind
		says string
	}{
		{TodoAction{}, fault.Invalid, `there is no action ""`},
		{TodoAction{Action: "drop"}, fault.Invalid, `there is no action "drop" | it is one of add, update, complete, delete`},
		{TodoAction{Action: "complete"}, fault.Invalid, "complete needs the id"},
		{TodoAction{Action: "delete", ID: -1}, fault.Invalid, "delete needs the id"},
		{TodoAction{Action: "update", ID: 9, Title: "x"}, fault.NotFound, "find to-do 9: there is none"},
		{TodoAction{Action: "update", ID: 9}, fault.Invalid, "nothing is to be changed"},
		{TodoAction{Action: "add"}, fault.Invalid, "title of to-do: it is empty"},
		{TodoAction{Action: "add", Title: "x", Due: "いつか"}, fault.Invalid, "is not a day or time"},
	} {
		_, _, err := s.Do(tt.a)
		if got := fmt.Sprint(err, " | ", fault.FlagHint(err)); fault.KindOf(err) != tt.kind ||
			!strings.Contains(got, tt.says) {
			t.Errorf("%+v: %s", tt.a, got)
		}
	}
}

func FuzzParseDue(f *testing.F) {
	for _, seed := range []string{"", "none", "today", "2026-01-31", "2026-01-31T15:04:05+09:00", "2026-01-31 15:04",
		"0000-01-01", "9999-12-31", "2026-01-31T15:04:05.999999999Z"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		now := time.Date(2026, 1, 31, 23, 30, 0, 0, tokyo)
		due, end, err := ParseDue(text, now)
		if err != nil {
			return
		}
		again, same, err := ParseDue(due, now) // what is kept is read in the same way
		if err != nil || again != due || same.Sub(end).Abs() >= time.Second {
			t.Fatalf("%q: %s, %v; %s, %v, %v", text, due, end, again, same, err)
		}
	})
}
