package database

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"hako/run/fault"
)

func TestOdditiesInNames(t *testing.T) {
	path := filepath.Join(t.TempDir(), "覚え?書き #1%.db")
	unlock, err := Ready(path)
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	db := Open(path, "_pragma=foreign_keys(1)")
	defer db.Close()
	var on int
	if err := db.QueryRow(`pragma foreign_keys`).Scan(&on); err != nil || on != 1 {
		t.Errorf("options: %d, %v", on, err)
	}
	if _, err := db.Exec(`create table t (a)`); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(path); err != nil || info.Size() == 0 {
		t.Errorf("another file was written: %v", err)
	}
}

func TestOthersCouldRead(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("permissions are not in the mode there")
	}
	path := filepath.Join(t.TempDir(), "a.db")
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for range 2 { // a refusal leaves no lock behind
		if _, err := Ready(path); fault.KindOf(err) == 0 {
			t.Fatalf("%v", err)
		}
	}
}

func TestCode(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	if err := os.WriteFile(path, []byte("this is no database, and long enough to say so, or is it not?"),
		0o600); err != nil {
		t.Fatal(err)
	}
	db := Open(path, "")
	defer db.Close()
	if _, err := db.Exec(`create table t (a)`); Code(err) != NotADB {
		t.Errorf("%v", err)
	}
	if Code(os.ErrNotExist) != 0 {
		t.Error("an error of somebody else has a code")
	}
}
