package store

import (
	"database/sql"
	"encoding/json"
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

// A Session is a stored conversation.
type Session struct {
	ID       int64     `json:"id"`
	Name     string    `json:"name,omitempty"` // empty means that it is known by its ID
	Created  time.Time `json:"created"`
	Updated  time.Time `json:"updated"` // time of the last message
	Messages int       `json:"messages"`
	First    string    `json:"first,omitempty"` // beginning of the first message of the user
}

// Roles of messages.
const (
	User      = "user"
	Assistant = "assistant"
	System    = "system" // also results of commands
)

// A Message is a stored message.
type Message struct {
	ID      int64           `json:"id"`
	Session int64           `json:"session"`
	Role    string          `json:"role"`
	Text    string          `json:"text"`
	Time    time.Time       `json:"time"`           // zero means now, for Append
	Meta    json.RawMessage `json:"meta,omitempty"` // actions and their results; nil means none
}

const (
	maxName = 64      // characters of the name of a session
	maxText = 4 << 20 // bytes of a message
)

const sessions = `select s.id, coalesce(s.name, ''), s.created, s.updated,
	(select count(*) from message m where m.session = s.id),
	coalesce((select substr(m.text, 1, 80) from message m where m.session = s.id and m.role = 'user' order by m.id limit 1), '')
	from session s `

func scanSession(row interface{ Scan(...any) error }) (v Session, err error) {
	var created, updated int64
	err = row.Scan(&v.ID, &v.Name, &created, &updated, &v.Messages, &v.First)
	v.Created, v.Updated = fromMicros(created), fromMicros(updated)
	return v, err
}

// NewSession creates a conversation. An empty name means that it is known by its ID.
func (s *Store) NewSession(name string) (Session, error) {
	if err := checkName(name); err != nil {
		return Session{}, err
	}
	var id int64
	err := s.transaction(func(tx *sql.Tx) error {
		now := toMicros(s.now())
		err := tx.QueryRow(`insert into session (name, created, updated) values (nullif(?, ''), ?, ?) on conflict do nothing returning id`, name, now, now).Scan(&id)
		if errors.Is(err, sql.ErrNoRows) {
			return &fault.Error{Kind: fault.Invalid, Op: "begin session", Subject: name, Why: "there is one of that name",
				Hint: "go on with it, or choose another name"}
		}
		return err
	})
	if err != nil {
		return Session{}, err
	}
	return s.Session(strconv.FormatInt(id, 10))
}

// checkName rejects numbers, which are IDs, and names that do not fit on a line.
func checkName(name string) error {
	why := ""
	_, err := strconv.ParseInt(name, 10, 64)
	switch {
	case err == nil:
		why = "a number cannot be a name"
	case utf8.RuneCountInString(name) > maxName:
		why = fmt.Sprintf("it has more than %d characters", maxName)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
		why = "it has characters in it that cannot be shown"
	case strings.TrimSpace(name) != name:
		why = "it begins or ends with a space"
	default:
		return nil
	}
	if letters := []rune(name); len(letters) > maxName {
		name = string(letters[:maxName]) + "…"
	}
	return &fault.Error{Kind: fault.Invalid, Op: "begin session", Subject: strconv.Quote(name), Why: why,
		Hint: "choose a short name such as 仕事"}
}

// Session finds a conversation by name or ID.
func (s *Store) Session(which string) (Session, error) {
	query := sessions + `where s.name = ?`
	var arg any = which
	if id, err := strconv.ParseInt(which, 10, 64); err == nil {
		query, arg = sessions+`where s.id = ?`, id
	}
	v, err := scanSession(s.reads.QueryRow(query, arg))
	if errors.Is(err, sql.ErrNoRows) {
		return v, noSession(which)
	}
	if err != nil {
		return v, s.wrapError("read", err)
	}
	return v, nil
}

// Resume finds the conversation of that name, or creates it.
func (s *Store) Resume(name string) (Session, error) {
	v, err := s.Session(name)
	if fault.KindOf(err) != fault.NotFound {
		return v, err
	}
	if v, err = s.NewSession(name); err == nil {
		return v, nil
	}
	if there, found := s.Session(name); found == nil { // another process created it
		return there, nil
	}
	return v, err
}

func noSession(which string) error {
	return &fault.Error{Kind: fault.NotFound, Op: "find session", Subject: which, Why: "there is none",
		Hint: "begin one, or look at the list", FlagHint: "hako secretary --session NAME begins one"}
}

// Sessions lists conversations, latest first. A limit of zero means all.
func (s *Store) Sessions(limit int) ([]Session, error) {
	rows, err := s.reads.Query(sessions+`order by s.updated desc, s.id desc limit ?`, sqlLimit(limit))
	return collect(s, rows, err, scanSession)
}

// sqlLimit converts a limit for SQL, where -1 means none.
func sqlLimit(limit int) int {
	if limit <= 0 {
		return -1
	}
	return limit
}

// collect scans all rows.
func collect[T any](s *Store, rows *sql.Rows, err error, scan func(interface{ Scan(...any) error }) (T, error)) ([]T,
	error) {
	if err != nil {
		return nil, s.wrapError("read", err)
	}
	defer rows.Close()
	var all []T
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, s.wrapError("read", err)
		}
		all = append(all, v)
	}
	if err := rows.Err(); err != nil {
		return nil, s.wrapError("read", err)
	}
	return all, nil
}

// Append adds a message to a conversation and returns it as stored.
func (s *Store) Append(session int64, m Message) (Message, error) {
	if err := m.check(); err != nil {
		return m, err
	}
	m.Session, m.Text = session, storable(m.Text)
	if m.Time.IsZero() {
		m.Time = s.now()
	}
	m.Time = fromMicros(toMicros(m.Time))
	var meta any
	if m.Meta != nil {
		meta = string(m.Meta)
	}
	err := s.transaction(func(tx *sql.Tx) error {
		found, err := tx.Exec(`update session set updated = max(updated, ?) where id = ?`, toMicros(m.Time), session)
		if err != nil {
			return err
		}
		if n, _ := found.RowsAffected(); n == 0 {
			return noSession(strconv.FormatInt(session, 10))
		}
		return tx.QueryRow(`insert into message (session, role, text, time, meta) values (?, ?, ?, ?, ?) returning id`,
			session, m.Role, m.Text, toMicros(m.Time), meta).Scan(&m.ID)
	})
	return m, err
}

func (m Message) check() error {
	e := &fault.Error{Kind: fault.Invalid, Op: "keep message"}
	switch {
	case !slices.Contains([]string{User, Assistant, System}, m.Role):
		e.Subject, e.Why = m.Role, "a message is from user, assistant or system"
	case len(m.Text)+len(m.Meta) > maxText:
		e.Kind, e.Why, e.Hint = fault.TooLarge, fmt.Sprintf("it has %d bytes, at most %d are kept", len(m.Text)+len(m.Meta),
			maxText), "cut it"
	case m.Meta != nil && !json.Valid(m.Meta):
		e.Why = "its actions are not JSON"
	default:
		return nil
	}
	return e
}

// storable makes a text storable and searchable: output of programs may contain anything.
func storable(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\ufffd"), "\x00", "\ufffd")
}

func scanMessage(row interface{ Scan(...any) error }) (m Message, err error) {
	var at int64
	var meta sql.NullString
	err = row.Scan(&m.ID, &m.Session, &m.Role, &m.Text, &at, &meta)
	m.Time = fromMicros(at)
	if meta.Valid {
		m.Meta = json.RawMessage(meta.String)
	}
	return m, err
}

// Messages returns the last messages of a conversation, oldest first. A limit of zero means all.
func (s *Store) Messages(session int64, limit int) ([]Message, error) {
	rows, err := s.reads.Query(
		`select id, session, role, text, time, meta from message where session = ? order by id desc limit ?`, session,
		sqlLimit(limit))
	all, err := collect(s, rows, err, scanMessage)
	slices.Reverse(all)
	return all, err
}

// Forget deletes a conversation with its messages, also from the file.
func (s *Store) Forget(session int64) error {
	err := s.transaction(func(tx *sql.Tx) error {
		gone, err := tx.Exec(`delete from session where id = ?`, session)
		if err != nil {
			return err
		}
		if n, _ := gone.RowsAffected(); n == 0 {
			return noSession(strconv.FormatInt(session, 10))
		}
		return nil
	})
	if err == nil {
		// The write-ahead log still has the texts. If another process is reading it, the next one that closes
		// the file truncates it.
		s.db.Exec(`pragma wal_checkpoint(truncate)`)
	}
	return err
}
