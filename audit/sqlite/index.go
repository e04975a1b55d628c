// Package sqlite indexes an audit log for search and statistics. The index only
// holds what is in the log and can be deleted at any time. Several processes may
// use one index at the same time.
//
// Only commands that search or show statistics import it, since linking a database
// makes a program slower to start.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"hako/audit"
	"hako/internal/ownerfile/database"
	"hako/run/fault"
)

// An Index is a database made from a log. It is safe for concurrent use.
type Index struct {
	db       *sql.DB
	path     string
	maxExact int64 // events that can be added up one by one at once
}

// PathFor returns where the index of a log is: audit.db for audit.jsonl.
func PathFor(log string) string { return strings.TrimSuffix(log, ".jsonl") + ".db" }

// tables are dropped when the version changes.
var tables = []string{"place", "event", "command", "named", "tally", "block"}

// schema has indexes that end with the sequence number, so that matching events are sorted by it.
const schema = `
create table place (only integer primary key check (only = 1), offset integer, hash text, newest integer, back integer);
create table event (
	seq integer primary key, time integer, actor text, what text, command text, rule text, reason text,
	failed integer, kind text, micros integer, bytes integer, tokens integer, cost real, count integer, offset integer, size integer);
create table command (seq integer, time integer, actor text, name text, count integer, failed integer, micros integer);
create table named (name text, seq integer, what text, primary key (name, seq)) without rowid;
create table tally (hour integer, kind text, name text, count integer, failed integer, primary key (hour, kind, name)) without rowid;
create table block (id integer primary key, bits blob);
create index event_time on event (time);
create index event_what on event (what);
create index event_actor on event (actor);
create index event_both on event (actor, what);
create index command_seq on command (seq);`

// version is that of the schema and its content; an index of another version is made again.
const version = 3

// options are those of every connection. What a crash loses is read again from the log.
const options = "_pragma=busy_timeout(2000)&_pragma=page_size(16384)&_pragma=journal_mode(wal)&_pragma=synchronous(0)&_pragma=cache_size(-16000)&_txlock=immediate"

// Open opens the index; a new one is only accessible to its owner.
func Open(path string) (*Index, error) {
	unlock, err := database.Ready(path)
	if err != nil {
		return nil, err
	}
	defer unlock()
	x := &Index{db: database.Open(path, options), path: path, maxExact: 10_000}
	x.db.SetMaxOpenConns(4)
	if err := x.prepare(); err != nil {
		x.db.Close()
		return nil, x.wrapError(err)
	}
	return x, nil
}

// prepare creates the tables, again if they have another version.
func (x *Index) prepare() error {
	var v int
	if err := x.db.QueryRow(`pragma user_version`).Scan(&v); err != nil || v == version {
		return err
	}
	tx, err := x.db.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback() // after the commit there is nothing to roll back
	for _, table := range tables {
		if _, err := tx.Exec(`drop table if exists ` + table); err != nil {
			return err
		}
	}
	if _, err := tx.Exec(schema + fmt.Sprintf(`pragma user_version = %d`, version)); err != nil {
		return err
	}
	return tx.Commit()
}

// Close closes the index.
func (x *Index) Close() error { return x.db.Close() }

// isBusy reports whether another process has locked the file.
func isBusy(err error) bool {
	code := database.Code(err)
	return code == database.Busy || code == database.Locked
}

func (x *Index) wrapError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case isBusy(err):
		return &fault.Error{Kind: fault.Unavailable, Op: "read index", Subject: x.path, Why: "another process has locked it",
			Hint: "try again in a moment; it does not end if a program other than hako has the file open", Err: err}
	}
	return &fault.Error{Kind: fault.Invalid, Op: "read index", Subject: x.path, Err: err,
		Hint: "remove the file: it is made again from the log"}
}

// A position is how far a log was indexed.
type position struct {
	offset int64
	hash   string // of the last event
	newest int64  // the latest time so far
	back   int64  // by how much a clock was ever set back, in microseconds
}

// A batch is what is indexed in one transaction: so many events or so long, so that others need not wait, and
// progress is kept.
const (
	batch     = 20_000
	batchTime = 500 * time.Millisecond
)

// Update indexes what was appended to the log. If the log was replaced or changed, the index is made again. If
// ctx ends, what was indexed so far is kept.
func (x *Index) Update(ctx context.Context, log string) error {
	f, err := audit.OpenRead(log)
	if err != nil {
		return err
	}
	defer f.Close()
	var seen position
	for {
		more, err := x.indexBatch(ctx, f)
		if isBusy(err) && x.advances(ctx, f, &seen) {
			continue // somebody else does the work
		}
		if err != nil || !more {
			return x.wrapError(err)
		}
		yieldTurn(ctx)
	}
}

// advances reports whether another process has indexed more since the last call.
func (x *Index) advances(ctx context.Context, log io.ReaderAt, seen *position) bool {
	tx, err := x.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return false
	}
	defer tx.Rollback() // there is nothing to keep
	m, err := positionIn(tx, log)
	moved := err == nil && m != *seen
	*seen = m
	return moved
}

// yieldTurn lets other processes write.
func yieldTurn(ctx context.Context) {
	select {
	case <-time.After(20 * time.Millisecond):
	case <-ctx.Done():
	}
}

// indexBatch indexes a batch and reports whether there may be more.
func (x *Index) indexBatch(ctx context.Context, log io.ReaderAt) (more bool, err error) {
	tx, err := x.db.BeginTx(ctx, nil)
	if err != nil {
		return false, err
	}
	defer tx.Rollback() // after the commit there is nothing to roll back
	m, err := resume(tx, log)
	if err != nil {
		return false, err
	}
	w, err := newIndexWriter(tx, m)
	if err != nil {
		return false, err
	}
	defer w.close()
	if more, err = w.indexEvents(io.NewSectionReader(log, m.offset, 1<<62-m.offset)); err != nil {
		return false, err
	}
	if w.position == m {
		return false, nil
	}
	if err := w.finish(tx); err != nil {
		return false, err
	}
	return more, tx.Commit()
}

// positionIn returns how far a log was indexed, the zero position if it is another log.
func positionIn(tx *sql.Tx, log io.ReaderAt) (m position, err error) {
	err = tx.QueryRow(`select offset, hash, newest, back from place`).Scan(&m.offset, &m.hash, &m.newest, &m.back)
	if errors.Is(err, sql.ErrNoRows) {
		return position{}, nil
	}
	if err == nil && !audit.EndsWith(log, m.offset, m.hash) {
		m = position{}
	}
	return m, err
}

// resume is positionIn, and clears the tables for another log.
func resume(tx *sql.Tx, log io.ReaderAt) (position, error) {
	m, err := positionIn(tx, log)
	if err != nil || m.offset > 0 {
		return m, err
	}
	for _, table := range tables {
		if _, err := tx.Exec(`delete from ` + table); err != nil {
			return m, err
		}
	}
	return m, nil
}

// queryRows calls do for each row of a query.
func queryRows(ctx context.Context, tx *sql.Tx, do func(scan func(...any) error) error, query string, args ...any) error {
	rows, err := tx.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := do(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}
