// Package database opens SQLite files that only their owner can read.
//
// It is a separate package because linking SQLite makes a program slower to start.
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

// Ready creates the file if it does not exist, and refuses one that others can read. No other process does so until
// unlock is called.
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

// ensure only inspects an existing file: closing a handle of it would release the POSIX locks of this process.
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

// Open returns a database with options for its connections, such as "_pragma=foreign_keys(1)&_txlock=immediate".
func Open(path, options string) *sql.DB {
	name := &url.URL{Path: filepath.ToSlash(path)}
	return sql.OpenDB(connector("file:" + name.EscapedPath() + "?" + options))
}

// A connector opens connections without registering the driver.
type connector string

func (c connector) Connect(context.Context) (driver.Conn, error) { return c.Driver().Open(string(c)) }
func (c connector) Driver() driver.Driver                        { return new(sqlite.Driver) }

// Result codes of SQLite.
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

// Code returns the primary result code of an error of SQLite, or 0.
func Code(err error) int {
	var said *sqlite.Error
	if !errors.As(err, &said) {
		return 0
	}
	return said.Code() & 0xff
}
