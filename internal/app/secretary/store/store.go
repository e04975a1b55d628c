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
	"errors"
	"fmt"
	"time"

	"hako/internal/ownerfile/database"
	"hako/run/fault"
)

// A Store is one open file. It is safe for concurrent use.
type Store struct {
	db       *sql.DB // one connection, which writes
	reads    *sql.DB // others, which do not wait for who writes
	path     string
	now      func() time.Time
	patience time.Duration // of a change, for the others of this Store
}

// usualPatience is longer than SQLite waits for another process: who is first in
// the line hears what is wrong, and nobody waits for all who stand before.
const usualPatience = 8 * time.Second

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
const options = "_pragma=busy_timeout(5000)&_pragma=journal_mode(wal)&_pragma=foreign_keys(1)&_pragma=secure_delete(1)&_txlock=immediate"

// Open opens the memory in a file, which is made for its owner alone if there is
// none.
func Open(path string) (*Store, error) {
	unlock, err := database.Ready(path)
	if err != nil {
		return nil, err
	}
	defer unlock()
	s := &Store{db: database.Open(path, options), reads: database.Open(path, options), path: path, now: time.Now,
		patience: usualPatience}
	s.db.SetMaxOpenConns(1)
	s.reads.SetMaxOpenConns(2)
	if err := s.migrate(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Close closes the file.
func (s *Store) Close() error { return errors.Join(s.reads.Close(), s.db.Close()) }

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
	turn, err := s.turn()
	if err != nil {
		return err
	}
	defer turn.Close()
	tx, err := turn.BeginTx(context.Background(), nil)
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

// turn waits for the connection that writes, but not for ever: each before us may
// be waiting for another process.
func (s *Store) turn() (*sql.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), s.patience)
	defer cancel()
	turn, err := s.db.Conn(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, &fault.Error{Kind: fault.Unavailable, Op: "write", Subject: s.path, Why: "too many changes wait for it",
			Hint: tryAgain}
	}
	if err != nil {
		return nil, s.broken("write", err)
	}
	return turn, nil
}

const tryAgain = "try again, or end the other hako"

// broken says what is wrong with the file. What is ours already is left as it is.
func (s *Store) broken(op string, err error) error {
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
			"move the file away: a new one is made; or "+elsewhere
	default:
		e.Kind = fault.Other
	}
	return e
}

// stamp is a time as it is kept.
func stamp(t time.Time) int64 { return t.UnixMicro() }

func unstamp(n int64) time.Time { return time.UnixMicro(n).UTC() }
