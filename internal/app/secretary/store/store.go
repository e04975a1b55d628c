// Package store keeps the secretary's conversations, with full-text search, and the to-do list in one SQLite
// file that only its owner can read.
//
// The caller redacts secrets before a text gets here. Several processes may use one file concurrently.
// Whatever cannot be written is an error, and what was written before stays readable.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"hako/internal/ownerfile/database"
	"hako/run/fault"
)

// A Store is an open file. It is safe for concurrent use.
type Store struct {
	db           *sql.DB // one connection, for writing
	reads        *sql.DB // others, which do not wait for writers
	path         string
	now          func() time.Time
	writeTimeout time.Duration // how long a change waits for other changes of this Store
}

// defaultWriteTimeout is longer than SQLite waits for another process: the first waiter gets that error, and
// nobody waits for the whole queue.
const defaultWriteTimeout = 8 * time.Second

// schema has one migration for each version of the file.
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

// applicationID is the SQLite application ID: "hako" in ASCII.
const applicationID = 0x68616b6f

// options apply to every connection. Deleted texts are overwritten.
const options = "_pragma=busy_timeout(5000)&_pragma=journal_mode(wal)&_pragma=foreign_keys(1)&_pragma=secure_delete(1)&_txlock=immediate"

// Open opens a file and creates it if it does not exist.
func Open(path string) (*Store, error) {
	unlock, err := database.Ready(path)
	if err != nil {
		return nil, err
	}
	defer unlock()
	s := &Store{db: database.Open(path, options), reads: database.Open(path, options), path: path, now: time.Now,
		writeTimeout: defaultWriteTimeout}
	s.db.SetMaxOpenConns(1)
	s.reads.SetMaxOpenConns(2)
	if err := s.migrate(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (s *Store) Close() error { return errors.Join(s.reads.Close(), s.db.Close()) }

// migrate brings the schema to the current version.
func (s *Store) migrate() error {
	var version, app, tables int
	row := s.db.QueryRow(`select (select user_version from pragma_user_version), (select application_id from pragma_application_id), (select count(*) from sqlite_schema)`)
	if err := row.Scan(&version, &app, &tables); err != nil {
		return s.wrapError("open", err)
	}
	refuse := func(why, hint string) error {
		return &fault.Error{Kind: fault.Invalid, Op: "open", Subject: s.path, Why: why, Hint: hint}
	}
	switch {
	case app != applicationID && (tables > 0 || app != 0):
		return refuse("it is a database of another program", otherFileHint)
	case version > len(schema):
		return refuse("it was made by a newer hako", "update hako, or "+otherFileHint)
	case version == len(schema):
		return nil
	}
	return s.transaction(func(tx *sql.Tx) error {
		for _, step := range schema[version:] {
			if _, err := tx.Exec(step); err != nil {
				return err
			}
		}
		_, err := tx.Exec(fmt.Sprintf(`pragma application_id = %d; pragma user_version = %d`, applicationID, len(schema)))
		return err
	})
}

const otherFileHint = "name another file with the setting secretary.database"

// transaction runs a transaction.
func (s *Store) transaction(do func(*sql.Tx) error) error {
	turn, err := s.writeConn()
	if err != nil {
		return err
	}
	defer turn.Close()
	tx, err := turn.BeginTx(context.Background(), nil)
	if err != nil {
		return s.wrapError("write", err)
	}
	defer tx.Rollback() // has no effect after the commit
	if err := do(tx); err != nil {
		return s.wrapError("write", err)
	}
	if err := tx.Commit(); err != nil {
		return s.wrapError("write", err)
	}
	return nil
}

// writeConn waits for the writing connection, but not forever: each waiter before may be waiting for another process.
func (s *Store) writeConn() (*sql.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), s.writeTimeout)
	defer cancel()
	turn, err := s.db.Conn(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, &fault.Error{Kind: fault.Unavailable, Op: "write", Subject: s.path, Why: "too many changes wait for it",
			Hint: tryAgain}
	}
	if err != nil {
		return nil, s.wrapError("write", err)
	}
	return turn, nil
}

const tryAgain = "try again, or end the other hako"

// wrapError converts an error of SQLite. A fault.Error is returned unchanged.
func (s *Store) wrapError(op string, err error) error {
	var known *fault.Error
	code := database.Code(err)
	switch {
	case errors.As(err, &known):
		return err
	case code == 0:
		return &fault.Error{Op: op, Subject: s.path, Err: err}
	}
	e := &fault.Error{Kind: fault.Unavailable, Op: op, Subject: s.path, Err: err}
	switch code {
	case database.Full:
		e.Why, e.Hint, e.Err = "the disk is full, so nothing was written",
			"make room on the disk; what was written before can still be read", nil
	case database.IO:
		e.Why, e.Hint = "the disk cannot be read or written", "look whether it is full or broken"
	case database.Busy:
		e.Why, e.Hint, e.Err = "another process has not let go of it for 5 s", tryAgain, nil
	case database.ReadOnly, database.CantOpen:
		e.Why, e.Hint = "it cannot be written", "look at the permissions of the file and its directory"
	case database.Corrupt, database.NotADB:
		e.Kind, e.Why, e.Hint = fault.Invalid, "it is not a database, or is damaged",
			"move the file away: a new one is made; or "+otherFileHint
	default:
		e.Kind = fault.Other
	}
	return e
}

// toMicros converts a time to the stored form.
func toMicros(t time.Time) int64 { return t.UnixMicro() }

func fromMicros(n int64) time.Time { return time.UnixMicro(n).UTC() }
