package sqlite

import (
	"database/sql"
	"errors"
	"fmt"
	"io"
	"iter"
	"path"
	"strings"
	"time"

	"hako/audit"
)

// An indexWriter writes events into the tables.
type indexWriter struct {
	position
	event, command, named, block *sql.Stmt

	id    int64         // of the block that is being filled
	bits  trigramFilter // nil as long as there is none
	tally hourlyCounts
}

func newIndexWriter(tx *sql.Tx, m position) (w *indexWriter, err error) {
	w = &indexWriter{position: m, tally: make(hourlyCounts)}
	for _, s := range []struct {
		to   **sql.Stmt
		text string
	}{
		{&w.event, `insert into event values (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`},
		{&w.command, `insert into command values (?,?,?,?,?,?,?)`},
		{&w.named, `insert or ignore into named values (?, ?, ?)`},
		{&w.block, `insert or replace into block values (?, ?)`},
	} {
		if *s.to, err = tx.Prepare(s.text); err != nil {
			w.close()
			return nil, err
		}
	}
	return w, w.openBlock(tx)
}

// openBlock continues the block of the last event.
func (w *indexWriter) openBlock(tx *sql.Tx) error {
	err := tx.QueryRow(`select id, bits from block order by id desc limit 1`).Scan(&w.id, (*[]byte)(&w.bits))
	if err == sql.ErrNoRows {
		return nil
	}
	return err
}

func (w *indexWriter) close() {
	for _, s := range []*sql.Stmt{w.event, w.command, w.named, w.block} {
		if s != nil {
			s.Close()
		}
	}
}

// errBatch ends a scan after a batch.
var errBatch = errors.New("enough for now")

// indexEvents indexes complete lines, at most one batch. It reports whether there may be more.
func (w *indexWriter) indexEvents(r io.Reader) (more bool, err error) {
	n, begin, late := 0, w.offset, time.Now().Add(batchTime)
	_, err = audit.ScanLines(r, func(e audit.Event, at audit.Span) error {
		if at.Open {
			return nil
		}
		if err := w.add(&e, begin+at.From, at.To-at.From); err != nil {
			return fmt.Errorf("event %d: %w", e.Seq, err)
		}
		w.offset, w.hash = begin+at.To, e.Hash
		if n++; n >= batch || n%100 == 0 && time.Now().After(late) {
			return errBatch
		}
		return nil
	})
	if err == errBatch {
		return true, nil
	}
	return false, err
}

func (w *indexWriter) add(e *audit.Event, offset, size int64) error {
	at := e.Time.UnixMicro()
	failed := e.What == audit.Ended && (e.Exit != 0 || e.Error != "" || e.Kind != "")
	var d denial
	if e.What == audit.Denied || e.What == audit.Refused {
		d = denialOf(e)
	}
	_, err := w.event.Exec(e.Seq, at, e.Actor, e.What, d.command, d.rule, d.reason,
		failed, e.Kind, e.Micros, e.Bytes, e.Tokens, e.Cost, e.Times(), offset, size)
	for name, n := range e.Commands {
		if err == nil {
			_, err = w.command.Exec(e.Seq, at, e.Actor, name, n, failed, e.Micros)
		}
	}
	w.tally.add(e, d.command, failed)
	for name := range names(e) {
		if err == nil {
			_, err = w.named.Exec(name, e.Seq, e.What)
		}
	}
	w.newest = max(w.newest, at)
	w.back = max(w.back, w.newest-at)
	if err == nil {
		err = w.addTexts(e)
	}
	return err
}

// A denial is what is kept of a command that was not allowed.
type denial struct{ command, rule, reason string }

// denialOf names the command. A script that was refused as a whole counts as its first word.
func denialOf(e *audit.Event) denial {
	words := e.Argv
	if len(words) == 0 && e.What == audit.Denied {
		words = strings.Fields(e.Script)
	}
	d := denial{rule: e.Rule, reason: e.Reason}
	if len(words) > 0 {
		d.command = words[0]
	}
	return d
}

// names yields the commands that an event is about, without their directories.
func names(e *audit.Event) iter.Seq[string] {
	return func(yield func(string) bool) {
		if len(e.Argv) > 0 && !yield(path.Base(e.Argv[0])) {
			return
		}
		for name := range e.Commands {
			if !yield(path.Base(name)) {
				return
			}
		}
	}
}

// addTexts adds the texts of an event to its block.
func (w *indexWriter) addTexts(e *audit.Event) error {
	if id := e.Seq / blockSize; w.bits == nil || id != w.id {
		if err := w.saveBlock(); err != nil {
			return err
		}
		w.id, w.bits = id, make(trigramFilter, blockBytes)
	}
	for text := range e.Texts {
		w.bits.add(text)
	}
	return nil
}

func (w *indexWriter) saveBlock() error {
	if w.bits == nil {
		return nil
	}
	_, err := w.block.Exec(w.id, []byte(w.bits))
	return err
}

// finish saves how far the log was indexed.
func (w *indexWriter) finish(tx *sql.Tx) error {
	if err := w.saveBlock(); err != nil {
		return err
	}
	if err := w.tally.save(tx); err != nil {
		return err
	}
	_, err := tx.Exec(`insert or replace into place values (1, ?, ?, ?, ?)`, w.offset, w.hash, w.newest, w.back)
	return err
}
