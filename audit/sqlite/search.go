package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"io"
	"math"
	"path"
	"strings"
	"time"

	"hako/audit"
)

// Search returns the newest events of a log of so many bytes that match a filter, newest first. What is not
// indexed yet is read from the log itself.
func (x *Index) Search(ctx context.Context, log io.ReaderAt, size int64, f audit.Filter) ([]audit.Event, error) {
	tx, err := x.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, x.wrapError(err)
	}
	defer tx.Rollback() // there is nothing to keep
	m, err := positionIn(tx, log)
	if err != nil {
		return nil, x.wrapError(err)
	}
	found, err := audit.Newest(ctx, log, m.offset, size, f)
	if err != nil || m.offset == 0 || enough(found, f) {
		return found, err
	}
	s := &search{ctx: ctx, tx: tx, log: log, Filter: f, found: found}
	if s.from, s.before, err = bounds(tx, m.back, f.Since, f.Until); err != nil {
		return nil, x.wrapError(err)
	}
	if f.Before > 0 {
		s.before = min(s.before, f.Before)
	}
	return s.found, x.wrapError(s.run())
}

func enough(found []audit.Event, f audit.Filter) bool { return f.Limit > 0 && len(found) >= f.Limit }

// A search is one in the indexed part of a log.
type search struct {
	audit.Filter
	ctx    context.Context
	tx     *sql.Tx
	log    io.ReaderAt
	from   int64 // the first number that is wanted
	before int64 // the first that is not any more
	found  []audit.Event
}

// bounds finds sequence numbers between which the events of a time range lie. Clocks may be set back: an event
// may be older than one before it, by at most back.
func bounds(tx *sql.Tx, back int64, since, until time.Time) (from, before int64, err error) {
	before = math.MaxInt64
	if !since.IsZero() {
		err = queryInt(tx, `select seq from event where time < ? order by time desc limit 1`, since.UnixMicro()-back, &from)
	}
	if err == nil && !until.IsZero() {
		err = queryInt(tx, `select seq from event where time >= ? order by time limit 1`, until.UnixMicro()+back, &before)
	}
	return from, before, err
}

// queryInt queries one number and leaves it unchanged if there is none.
func queryInt(tx *sql.Tx, query string, micros int64, to *int64) error {
	err := tx.QueryRow(query, micros).Scan(to)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	return err
}

func (s *search) run() error {
	if len(s.Text) >= 3 {
		return s.searchBlocks()
	}
	query, args := s.rows()
	rows, err := s.tx.QueryContext(s.ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for !enough(s.found, s.Filter) && rows.Next() {
		var offset, size int64
		if err := rows.Scan(&offset, &size); err != nil {
			return err
		}
		if err := s.readEvent(offset, size); err != nil {
			return err
		}
	}
	return rows.Err()
}

// readEvent reads one line of the log and keeps its event if it matches: the index may return more.
func (s *search) readEvent(offset, size int64) error {
	line := make([]byte, size)
	if _, err := s.log.ReadAt(line, offset); err != nil && err != io.EOF {
		return err
	}
	var e audit.Event
	if json.Unmarshal(line, &e) == nil && s.Match(&e) {
		s.found = append(s.found, e)
	}
	return nil
}

// rows returns the query for the positions of matching events.
func (s *search) rows() (query string, args []any) {
	table, from := "event", "event"+s.index()
	if s.Command != "" {
		table, from = "named", "named cross join event using (seq)" // in this order
	}
	args, cond := []any{s.from, s.before}, " where seq >= ? and seq < ?"
	for _, c := range []struct{ column, value string }{{"event.actor", s.Actor}, {table + ".what", s.What},
		{"named.name", s.name()}} {
		if c.value != "" {
			cond += " and " + c.column + " = ?"
			args = append(args, c.value)
		}
	}
	return "select offset, size from " + from + cond + " order by seq desc", args
}

// name returns the name of the command in the index.
func (s *search) name() string {
	if s.Command == "" {
		return ""
	}
	return path.Base(s.Command)
}

// index names the database index to use, since SQLite has no statistics to choose it.
func (s *search) index() string {
	switch {
	case s.Actor != "" && s.What != "":
		return " indexed by event_both"
	case s.Actor != "":
		return " indexed by event_actor"
	case s.What != "":
		return " indexed by event_what"
	}
	return ""
}

// searchBlocks searches the blocks that may contain the text, newest first.
func (s *search) searchBlocks() error {
	rows, err := s.tx.QueryContext(s.ctx, `select id, bits from block where id between ? and ? order by id desc`,
		s.from/blockSize, (s.before-1)/blockSize)
	if err != nil {
		return err
	}
	defer rows.Close()
	text := strings.ToLower(s.Text)
	for !enough(s.found, s.Filter) && rows.Next() {
		var id int64
		var b sql.RawBytes
		if err := rows.Scan(&id, &b); err != nil {
			return err
		}
		if len(b) != blockBytes || !trigramFilter(b).mayContain(text) {
			continue
		}
		if err := s.searchBlock(id); err != nil {
			return err
		}
	}
	return rows.Err()
}

// searchBlock searches the events of one block.
func (s *search) searchBlock(id int64) error {
	from, to, err := s.blockSpan(id)
	if err != nil {
		return err
	}
	f := s.Filter
	if f.Limit > 0 {
		f.Limit -= len(s.found)
	}
	more, err := audit.Newest(s.ctx, s.log, from, to, f)
	s.found = append(s.found, more...)
	return err
}

// blockSpan returns where the events of a block are in the log.
func (s *search) blockSpan(id int64) (from, to int64, err error) {
	first, last := max(s.from, id*blockSize), min(s.before, (id+1)*blockSize)
	err = s.tx.QueryRowContext(s.ctx,
		`select coalesce(min(offset), 0), coalesce(max(offset + size), 0) from event where seq >= ? and seq < ?`, first,
		last).Scan(&from, &to)
	return from, to, err
}
