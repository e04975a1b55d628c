// Package store is the secretary's memory: conversations that can be searched,
// and the to-do list, in one SQLite file that only its owner can read.
//
// Who may change what, what is told to a model and what goes on record are the
// caller's business; keys and passwords are taken out before a text gets here.
// Several processes may use one file at the same time. The rule to keep: whatever
// cannot be written is an error that says so, and what was written before stays
// readable.
package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"modernc.org/sqlite"

	"hako/internal/fault"
	"hako/internal/private"
)

// A Store is one open file. It is safe for concurrent use.
type Store struct {
	db   *sql.DB
	path string
	now  func() time.Time
}

// schema has one step for each version of the file.
var schema = []string{`
create table session (
	id integer primary key autoincrement, name text unique, created integer not null, updated integer not null);
create table message (
	id integer primary key autoincrement, session integer not null references session on delete cascade,
	role text not null, text text not null, time integer not null, meta text);
create index message_session on message (session, id);
create virtual table message_text using fts5 (text, content='message', content_rowid='id', tokenize='trigram');
insert into message_text (message_text, rank) values ('secure-delete', 1);
create trigger message_added after insert on message begin
	insert into message_text (rowid, text) values (new.id, new.text);
end;
create trigger message_gone after delete on message begin
	insert into message_text (message_text, rowid, text) values ('delete', old.id, old.text);
end;
create table todo (
	id integer primary key autoincrement, title text not null, note text not null, status text not null,
	priority integer not null, due text not null, due_at integer,
	created integer not null, updated integer not null, completed integer);`,
}

// ours marks the file as one of hako's: it is "hako" in ASCII.
const ours = 0x68616b6f

// options are for every connection. Deleted texts are overwritten: who says
// forget means it.
const options = "?_pragma=busy_timeout(5000)&_pragma=journal_mode(wal)&_pragma=foreign_keys(1)&_pragma=secure_delete(1)&_txlock=immediate"

// Open opens the memory in a file, which is made for its owner alone if there is
// none.
func Open(path string) (*Store, error) {
	unlock, err := alone(path)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := ensure(path); err != nil {
		return nil, err
	}
	name := "file:" + (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath() + options
	s := &Store{db: sql.OpenDB(connector{name}), path: path, now: time.Now}
	s.db.SetMaxOpenConns(1)
	if err := s.migrate(); err != nil {
		s.db.Close()
		return nil, err
	}
	return s, nil
}

// alone waits until nobody else is opening the file: making the tables, and
// turning to the write-ahead log, cannot be done by two at once. The lock is a
// file of its own, see [ensure].
func alone(path string) (unlock func(), err error) {
	f, err := private.Open(path+".lock", os.O_CREATE|os.O_RDWR)
	if err != nil {
		return nil, err
	}
	if err := private.Lock(f); err != nil {
		f.Close()
		return nil, &fault.Error{Kind: fault.Unavailable, Op: "lock", Subject: path, Err: err}
	}
	return func() {
		private.Unlock(f)
		f.Close()
	}, nil
}

// ensure makes the file if there is none and refuses one that others could read.
// A file that exists is only looked at: were it opened and closed here, the system
// would take away the locks that another Store of this process has on it.
func ensure(path string) error {
	info, err := os.Lstat(path)
	if err == nil {
		return private.Check(path, info)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return &fault.Error{Kind: fault.Invalid, Op: "open", Subject: path, Err: err}
	}
	f, err := private.Open(path, os.O_CREATE|os.O_EXCL|os.O_RDWR)
	if err != nil {
		return err
	}
	return f.Close()
}

// connector opens connections without registering the driver by name.
type connector struct{ name string }

func (c connector) Connect(context.Context) (driver.Conn, error) { return c.Driver().Open(c.name) }
func (c connector) Driver() driver.Driver                        { return new(sqlite.Driver) }

// Close closes the file.
func (s *Store) Close() error { return s.db.Close() }

// migrate brings the tables to the version of this program.
func (s *Store) migrate() error {
	var version, app, tables int
	row := s.db.QueryRow(`select (select user_version from pragma_user_version), (select application_id from pragma_application_id), (select count(*) from sqlite_schema)`)
	if err := row.Scan(&version, &app, &tables); err != nil {
		return s.broken("open", err)
	}
	refuse := func(why, hint string) error {
		return &fault.Error{Kind: fault.Invalid, Op: "open", Subject: s.path, Why: why, Hint: hint}
	}
	switch {
	case app != ours && (tables > 0 || app != 0):
		return refuse("it is a database of another program", elsewhere)
	case version > len(schema):
		return refuse("it was made by a newer hako", "update hako, or "+elsewhere)
	case version == len(schema):
		return nil
	}
	return s.change(func(tx *sql.Tx) error {
		for _, step := range schema[version:] {
			if _, err := tx.Exec(step); err != nil {
				return err
			}
		}
		_, err := tx.Exec(fmt.Sprintf(`pragma application_id = %d; pragma user_version = %d`, ours, len(schema)))
		return err
	})
}

const elsewhere = "name another file with the setting secretary.database"

// change does all of something, or nothing.
func (s *Store) change(do func(*sql.Tx) error) error {
	tx, err := s.db.Begin()
	if err != nil {
		return s.broken("write", err)
	}
	defer tx.Rollback() // after the commit there is nothing to roll back
	if err := do(tx); err != nil {
		return s.broken("write", err)
	}
	if err := tx.Commit(); err != nil {
		return s.broken("write", err)
	}
	return nil
}

// The result codes of SQLite that a person can do something about.
const (
	codeBusy     = 5
	codeReadOnly = 8
	codeIO       = 10
	codeCorrupt  = 11
	codeFull     = 13
	codeCantOpen = 14
	codeNotADB   = 26
)

// broken says what is wrong with the file. What is ours already is left as it is.
func (s *Store) broken(op string, err error) error {
	var known *fault.Error
	var said *sqlite.Error
	switch {
	case errors.As(err, &known):
		return err
	case !errors.As(err, &said):
		return &fault.Error{Op: op, Subject: s.path, Err: err}
	}
	e := &fault.Error{Kind: fault.Unavailable, Op: op, Subject: s.path, Err: err}
	switch said.Code() & 0xff { // the rest is detail
	case codeFull:
		e.Why, e.Hint, e.Err = "the disk is full, so nothing was written", "make room on the disk; what was written before can still be read", nil
	case codeIO:
		e.Why, e.Hint = "the disk cannot be read or written", "look whether it is full or broken"
	case codeBusy:
		e.Why, e.Hint, e.Err = "another process has not let go of it for 5 s", "try again, or end the other hako", nil
	case codeReadOnly, codeCantOpen:
		e.Why, e.Hint = "it cannot be written", "look at the permissions of the file and its directory"
	case codeCorrupt, codeNotADB:
		e.Kind, e.Why, e.Hint = fault.Invalid, "it is not a database, or is damaged", "move the file away: a new one is made; or "+elsewhere
	default:
		e.Kind = fault.Other
	}
	return e
}

// stamp is a time as it is kept.
func stamp(t time.Time) int64 { return t.UnixMicro() }

func unstamp(n int64) time.Time { return time.UnixMicro(n).UTC() }
