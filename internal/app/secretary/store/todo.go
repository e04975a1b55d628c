package store

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"hako/run/fault"
)

// A Todo is an entry of the to-do list.
type Todo struct {
	ID        int64     `json:"id"` // never reused
	Title     string    `json:"title"`
	Note      string    `json:"note,omitempty"`
	Status    string    `json:"status"`        // open or done
	Priority  string    `json:"priority"`      // low, normal or high
	Due       string    `json:"due,omitempty"` // a day (2006-01-02) or a time (RFC 3339); empty means none
	Created   time.Time `json:"created"`
	Updated   time.Time `json:"updated"`
	Completed time.Time `json:"completed,omitzero"` // zero means open
}

// The status of a Todo.
const (
	StatusOpen = "open"
	StatusDone = "done"
)

// priorities, lowest first.
var priorities = []string{"low", "normal", "high"}

const defaultPriority = "normal"

const (
	maxTitle = 500    // characters
	maxNote  = 10_000 // characters
)

// A Change is an update of a Todo. Nil fields stay unchanged.
type Change struct {
	Title    *string
	Note     *string
	Due      *string // empty or "none" removes it
	Priority *string
	Status   *string

	// Seen is the Updated time that the caller has seen: the update fails if the to-do changed since. Zero
	// means that it does not matter.
	Seen time.Time
}

// A Filter selects to-dos. The zero Filter selects all.
type Filter struct {
	Status string    // open or done; empty means both
	Query  string    // part of the title or the note; empty means any
	DueBy  time.Time // due at that time or before; zero means any, also those without a due date
}

const (
	todoColumns = `id, title, note, status, priority, due, created, updated, coalesce(completed, 0)`
	todos       = `select ` + todoColumns + ` from todo `
)

func scanTodo(row interface{ Scan(...any) error }) (t Todo, err error) {
	var priority int
	var created, updated, completed int64
	err = row.Scan(&t.ID, &t.Title, &t.Note, &t.Status, &priority, &t.Due, &created, &updated, &completed)
	t.Priority = priorities[min(max(priority, 0), len(priorities)-1)]
	t.Created, t.Updated = fromMicros(created), fromMicros(updated)
	if completed != 0 {
		t.Completed = fromMicros(completed)
	}
	return t, err
}

// Add stores a new to-do with the title, note, due date and priority of t.
func (s *Store) Add(t Todo) (Todo, error) {
	t.Status, t.Created = StatusOpen, s.now()
	if t.Priority == "" {
		t.Priority = defaultPriority
	}
	c := Change{Title: &t.Title, Note: &t.Note, Due: &t.Due, Priority: &t.Priority}
	if err := c.apply(&t, s.now()); err != nil {
		return Todo{}, err
	}
	err := s.transaction(func(tx *sql.Tx) (err error) {
		t, err = scanTodo(tx.QueryRow(`insert into todo (title, note, status, priority, due, due_at, created, updated)
			values (?, ?, ?, ?, ?, ?, ?, ?) returning `+todoColumns, t.Title, t.Note, t.Status,
			slices.Index(priorities, t.Priority), t.Due, dueAt(t.Due, s.now()), toMicros(t.Created), toMicros(t.Created)))
		return err
	})
	return t, err
}

func (s *Store) Get(id int64) (Todo, error) {
	t, err := get(s.reads, id)
	if err != nil {
		return t, s.wrapError("read", err)
	}
	return t, nil
}

func get(from interface{ QueryRow(string, ...any) *sql.Row }, id int64) (Todo, error) {
	t, err := scanTodo(from.QueryRow(todos+`where id = ?`, id))
	if errors.Is(err, sql.ErrNoRows) {
		return t, &fault.Error{Kind: fault.NotFound, Op: "find to-do", Subject: strconv.FormatInt(id, 10),
			Why: "there is none", Hint: "the list of all to-dos shows their numbers",
			FlagHint: "hako todo list --all shows their numbers"}
	}
	return t, err
}

// List returns the selected to-dos: open ones first, then by due date, then by priority.
func (s *Store) List(f Filter) ([]Todo, error) {
	if f.Status != "" {
		if err := checkOneOf("status", f.Status, StatusOpen, StatusDone); err != nil {
			return nil, err
		}
	}
	where, args := `(? = '' or status = ?)`, []any{f.Status, f.Status}
	if f.Query != "" {
		where += ` and (title like ? escape '\' or note like ? escape '\')`
		args = append(args, likePattern(storable(f.Query)), likePattern(storable(f.Query)))
	}
	if !f.DueBy.IsZero() {
		where += ` and due_at <= ?`
		args = append(args, toMicros(f.DueBy))
	}
	rows, err := s.reads.Query(todos+`where `+where+` order by status = 'done', due_at is null, due_at, priority desc, id`,
		args...)
	return collect(s, rows, err, scanTodo)
}

func (s *Store) Update(id int64, c Change) (t Todo, err error) {
	if c == (Change{Seen: c.Seen}) {
		return t, &fault.Error{Kind: fault.Invalid, Op: "update to-do", Subject: strconv.FormatInt(id, 10),
			Why: "nothing is to be changed", Hint: "give a title, note, due, priority or status"}
	}
	err = s.transaction(func(tx *sql.Tx) error {
		if t, err = get(tx, id); err != nil {
			return err
		}
		if !c.Seen.IsZero() && !c.Seen.Equal(t.Updated) {
			return &fault.Error{Kind: fault.Unavailable, Op: "update to-do", Subject: strconv.FormatInt(id, 10),
				Why: "it has been changed meanwhile", Hint: "look at it again, then change it"}
		}
		if err := c.apply(&t, s.now()); err != nil {
			return err
		}
		t.Updated = fromMicros(toMicros(s.now()))
		var completed any
		if !t.Completed.IsZero() {
			completed = toMicros(t.Completed)
		}
		_, err = tx.Exec(`update todo set title = ?, note = ?, status = ?, priority = ?, due = ?, due_at = ?, updated = ?, completed = ? where id = ?`,
			t.Title, t.Note, t.Status, slices.Index(priorities, t.Priority), t.Due, dueAt(t.Due, s.now()), toMicros(t.Updated),
			completed, id)
		return err
	})
	return t, err
}

// Complete marks a to-do as done. One that is done stays unchanged.
func (s *Store) Complete(id int64) (Todo, error) {
	t, err := s.Get(id)
	if err != nil || t.Status == StatusDone {
		return t, err
	}
	done := StatusDone
	return s.Update(id, Change{Status: &done})
}

// Delete removes a to-do and returns it.
func (s *Store) Delete(id int64) (t Todo, err error) {
	err = s.transaction(func(tx *sql.Tx) error {
		if t, err = get(tx, id); err != nil {
			return err
		}
		_, err = tx.Exec(`delete from todo where id = ?`, id)
		return err
	})
	return t, err
}

// apply validates and applies the change.
func (c Change) apply(t *Todo, now time.Time) (err error) {
	if c.Title != nil {
		if t.Title, err = checkTitle(*c.Title); err != nil {
			return err
		}
	}
	if c.Note != nil {
		if t.Note, err = checkNote(*c.Note); err != nil {
			return err
		}
	}
	if c.Due != nil {
		if t.Due, _, err = ParseDue(*c.Due, now); err != nil {
			return err
		}
	}
	if c.Priority != nil {
		if t.Priority, err = *c.Priority, checkOneOf("priority", *c.Priority, priorities...); err != nil {
			return err
		}
	}
	if c.Status != nil {
		return t.setStatus(*c.Status, now)
	}
	return nil
}

// setStatus sets the status and the completion time.
func (t *Todo) setStatus(status string, now time.Time) error {
	if err := checkOneOf("status", status, StatusOpen, StatusDone); err != nil {
		return err
	}
	switch {
	case status == StatusOpen:
		t.Completed = time.Time{}
	case t.Status != StatusDone:
		t.Completed = fromMicros(toMicros(now))
	}
	t.Status = status
	return nil
}

func invalid(what, why, hint string) error {
	return &fault.Error{Kind: fault.Invalid, Op: "set " + what + " of to-do", Why: why, Hint: hint}
}

// checkOneOf checks that word is one of the known ones.
func checkOneOf(what, word string, known ...string) error {
	if slices.Contains(known, word) {
		return nil
	}
	return invalid(what, strconv.Quote(word)+" is none", "it is one of "+strings.Join(known, ", "))
}

// checkTitle converts a title to one line and validates it.
func checkTitle(text string) (string, error) {
	text = strings.TrimSpace(strings.NewReplacer("\r\n", " ", "\n", " ", "\t", " ").Replace(text))
	switch {
	case text == "":
		return "", invalid("title", "it is empty", "say what is to be done")
	case !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl):
		return "", invalid("title", "it has characters in it that cannot be shown", "write it in plain text on one line")
	case utf8.RuneCountInString(text) > maxTitle:
		return "", invalid("title", fmt.Sprintf("it has more than %d characters", maxTitle), "put the rest into the note")
	}
	return text, nil
}

func checkNote(text string) (string, error) {
	text = strings.TrimSpace(storable(text))
	if utf8.RuneCountInString(text) > maxNote {
		return "", invalid("note", fmt.Sprintf("it has more than %d characters", maxNote),
			"keep it in a file and name that")
	}
	return text, nil
}
