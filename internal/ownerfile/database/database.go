// Package database opens SQLite files that only their owner can read.
//
// What is in them is not its matter. The rule to keep: only what needs a database
// imports it, as linking one makes a program slower to start.
package database

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	"modernc.org/sqlite"

	"hako/internal/ownerfile"
	"hako/run/fault"
)

// Ready makes the file if there is none, and refuses one that others could read.
// Until unlock is called no other process gets it ready.
func Ready(path string) (unlock func(), err error) {
	if unlock, err = ownerfile.Alone(path); err != nil {
		return nil, err
	}
	if err = ensure(path); err != nil {
		unlock()
		return nil, err
	}
	return unlock, nil
}

// ensure only looks at a file that exists: were it opened and closed here, the
// system would take away the locks that this process has on it elsewhere.
func ensure(path string) error {
	info, err := os.Lstat(path)
	if err == nil {
		return ownerfile.Check(path, info)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return &fault.Error{Kind: fault.Invalid, Op: "open", Subject: path, Err: err}
	}
	f, err := ownerfile.Open(path, os.O_CREATE|os.O_EXCL|os.O_RDWR)
	if err != nil {
		return err
	}
	return f.Close()
}

// Open returns a database whose connections are made with options, as in
// "_pragma=foreign_keys(1)&_txlock=immediate". Nothing is read yet.
func Open(path, options string) *sql.DB {
	name := &url.URL{Path: filepath.ToSlash(path)}
	return sql.OpenDB(connector("file:" + name.EscapedPath() + "?" + options))
}

// A connector opens connections without registering the driver by name.
type connector string

func (c connector) Connect(context.Context) (driver.Conn, error) { return c.Driver().Open(string(c)) }
func (c connector) Driver() driver.Driver                        { return new(sqlite.Driver) }

// The result codes of SQLite that a person can do something about.
const (
	Busy     = 5
	Locked   = 6
	ReadOnly = 8
	IO       = 10
	Corrupt  = 11
	Full     = 13
	CantOpen = 14
	NotADB   = 26
)

// Code returns the result code of an error, without the detail in its higher
// bits; 0 if SQLite did not say it.
func Code(err error) int {
	var said *sqlite.Error
	if !errors.As(err, &said) {
		return 0
	}
	return said.Code() & 0xff
}
