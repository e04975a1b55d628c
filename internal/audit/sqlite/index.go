// Package sqlite is an index of an audit log, for statistics. It holds nothing
// that the lines of the log do not say and can be thrown away at any time.
//
// The rule to keep: only commands that show statistics import it, as linking a
// database makes a program slower to start.
package sqlite

import (
	"bufio"
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"

	"modernc.org/sqlite"

	"hako/internal/audit"
	"hako/internal/fault"
	"hako/internal/private"
)

// An Index is a database made from a log.
type Index struct {
	db   *sql.DB
	path string
}

const schema = `
create table if not exists place (only integer primary key check (only = 1), version integer, offset integer, hash text);
create table if not exists event (
	seq integer primary key, time integer, day text, id text, actor text, what text, command text, rule text, reason text,
	failed integer, kind text, micros integer, bytes integer, tokens integer, cost real);
create table if not exists command (seq integer, day text, time integer, actor text, name text, count integer);
create index if not exists event_what on event (what, time);
create index if not exists command_name on command (name, time);`

// version is that of the schema and of what is put into it; an index of another
// is made anew.
const version = 2

// Open opens the index, creating it for its owner alone.
func Open(path string) (*Index, error) {
	f, err := private.Open(path, os.O_CREATE|os.O_RDWR)
	if err != nil {
		return nil, err
	}
	f.Close()
	// What a crash loses here is read again from the log.
	name := "file:" + (&url.URL{Path: path}).EscapedPath() + "?_pragma=busy_timeout(10000)&_pragma=synchronous(0)&_txlock=immediate"
	x := &Index{sql.OpenDB(connector{name}), path}
	x.db.SetMaxOpenConns(1)
	if _, err := x.db.Exec(schema); err != nil {
		x.db.Close()
		return nil, x.broken(err)
	}
	return x, nil
}

// connector opens connections without registering the driver by name.
type connector struct{ name string }

func (c connector) Connect(context.Context) (driver.Conn, error) { return c.Driver().Open(c.name) }
func (c connector) Driver() driver.Driver                        { return new(sqlite.Driver) }

// Close closes the index.
func (x *Index) Close() error { return x.db.Close() }

func (x *Index) broken(err error) error {
	return &fault.Error{Kind: fault.Invalid, Op: "read index", Subject: x.path, Err: err,
		Hint: "remove the file: it is made again from the log"}
}

// Update takes in what was appended to the log since the last time. If the log
// is not the one that was indexed, or was changed, the index is made anew.
func (x *Index) Update(log string) error {
	f, err := audit.OpenRead(log)
	if err != nil {
		return err
	}
	defer f.Close()
	tx, err := x.db.Begin()
	if err != nil {
		return x.broken(err)
	}
	defer tx.Rollback() // after the commit there is nothing to roll back
	from, hash, err := resume(tx, f)
	if err != nil {
		return x.broken(err)
	}
	to, hash, err := fill(tx, io.NewSectionReader(f, from, 1<<62), hash)
	if err != nil {
		return x.broken(err)
	}
	if _, err := tx.Exec(`insert or replace into place values (1, ?, ?, ?)`, version, from+to, hash); err != nil {
		return x.broken(err)
	}
	if err := tx.Commit(); err != nil {
		return x.broken(err)
	}
	return nil
}

// resume returns where the indexed part of the log ends, zero if there is none.
func resume(tx *sql.Tx, log io.ReaderAt) (offset int64, hash string, err error) {
	var v int
	err = tx.QueryRow(`select version, offset, hash from place`).Scan(&v, &offset, &hash)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, "", err
	}
	if err == nil && v == version && (offset == 0 || endsWith(log, offset, hash)) {
		return offset, hash, nil
	}
	_, err = tx.Exec(`delete from event; delete from command; delete from place`)
	return 0, "", err
}

// endsWith reports whether the line that ends at offset has the given hash.
func endsWith(log io.ReaderAt, offset int64, hash string) bool {
	want := hash + "\"}\n"
	got := make([]byte, len(want))
	_, err := log.ReadAt(got, offset-int64(len(want)))
	return (err == nil || err == io.EOF) && string(got) == want
}

// fill reads events up to the last whole line that is one, and returns how
// many bytes that was and the hash of the last.
func fill(tx *sql.Tx, r io.Reader, hash string) (taken int64, _ string, err error) {
	w, err := newWriter(tx)
	if err != nil {
		return 0, "", err
	}
	defer w.close()
	in := bufio.NewReaderSize(r, 1<<20)
	var offset int64
	for {
		line, err := in.ReadBytes('\n')
		if err == io.EOF {
			return taken, hash, nil // without what may still be being written
		}
		if err != nil {
			return 0, "", err
		}
		offset += int64(len(line))
		var e audit.Event
		if json.Unmarshal(line, &e) != nil || e.Hash == "" {
			continue // a piece that a crash left
		}
		if err := w.add(&e); err != nil {
			return 0, "", fmt.Errorf("event %d: %w", e.Seq, err)
		}
		taken, hash = offset, e.Hash
	}
}

// A writer puts events into the tables.
type writer struct{ event, command *sql.Stmt }

func newWriter(tx *sql.Tx) (w writer, err error) {
	if w.event, err = tx.Prepare(`insert into event values (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`); err == nil {
		w.command, err = tx.Prepare(`insert into command values (?,?,?,?,?,?)`)
	}
	return w, err
}

func (w writer) close() {
	w.event.Close()
	w.command.Close()
}

// about names the command that an event is about. A script that was refused as a
// whole counts as one of its first word.
func about(e *audit.Event) string {
	words := e.Argv
	if len(words) == 0 && e.What == audit.Denied {
		words = strings.Fields(e.Script)
	}
	if len(words) == 0 {
		return ""
	}
	return words[0]
}

func (w writer) add(e *audit.Event) error {
	name := about(e)
	day, at := e.Time.UTC().Format("2006-01-02"), e.Time.UnixMicro()
	failed := e.What == audit.Ended && (e.Exit != 0 || e.Error != "" || e.Kind != "")
	_, err := w.event.Exec(e.Seq, at, day, e.ID, e.Actor, e.What, name, e.Rule, e.Reason, failed, e.Kind, e.Micros, e.Bytes, e.Tokens, e.Cost)
	for name, n := range e.Commands {
		if err == nil {
			_, err = w.command.Exec(e.Seq, day, at, e.Actor, name, n)
		}
	}
	return err
}
