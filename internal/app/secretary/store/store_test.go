package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"hako/internal/ownerfile/database"
	"hako/run/fault"
)

func TestMain(m *testing.M) {
	if path := os.Getenv("STORE_TEST_FILL"); path != "" {
		os.Exit(fill(path))
	}
	os.Exit(m.Run())
}

// fill is what another process does in TestProcesses.
func fill(path string) int {
	s, err := Open(path)
	if err == nil {
		defer s.Close()
		err = write(s, os.Getenv("STORE_TEST_NAME"), 50)
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

// write adds n to-dos and n messages of its own session.
func write(s *Store, name string, n int) error {
	var session Session
	err := retryBusy(func() (err error) { session, err = s.Resume(name); return err })
	for i := 0; i < n && err == nil; i++ {
		message := Message{Role: User, Text: fmt.Sprint(name, "の", i)}
		if err = retryBusy(func() error { _, err := s.Append(session.ID, message); return err }); err == nil {
			err = retryBusy(func() error { _, err := s.Add(Todo{Title: fmt.Sprint(name, i)}); return err })
		}
	}
	return err
}

// retryBusy calls do again while another process holds the file: on a busy machine
// that can take longer than the store waits. What failed so has written nothing.
func retryBusy(do func() error) (err error) {
	for range 20 {
		if err = do(); fault.KindOf(err) != fault.Unavailable {
			return err
		}
	}
	return err
}

func open(t testing.TB, path string) *Store {
	t.Helper()
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func fresh(t testing.TB) *Store { return open(t, filepath.Join(t.TempDir(), "secretary.db")) }

// want checks an error's kind, its words and that there is a hint.
func want(t *testing.T, err error, kind fault.Kind, words ...string) {
	t.Helper()
	if fault.KindOf(err) != kind {
		t.Errorf("%v: %v, want %v", err, fault.KindOf(err), kind)
	}
	for _, w := range words {
		if !strings.Contains(fmt.Sprint(err, " | ", fault.Hint(err)), w) {
			t.Errorf("%v | %s: want %q", err, fault.Hint(err), w)
		}
	}
	if fault.Hint(err) == "" {
		t.Errorf("%v: no hint", err)
	}
}

func TestOpenAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deep", "記録 #1?.db")
	s := open(t, path)
	if err := write(s, "仕事", 2); err != nil {
		t.Fatal(err)
	}
	s.Close()
	s = open(t, path)
	if all, err := s.List(Filter{}); err != nil || len(all) != 2 {
		t.Errorf("%v, %v", all, err)
	}
	var mode string
	if err := s.db.QueryRow("pragma journal_mode").Scan(&mode); err != nil || mode != "wal" {
		t.Errorf("%s, %v", mode, err)
	}
	for _, name := range []string{path, path + "-wal", path + "-shm", path + ".lock"} {
		info, err := os.Stat(name)
		if err != nil {
			t.Error(err)
		} else if runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v", name, info.Mode())
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	os.WriteFile(text, []byte(strings.Repeat("this is no database\n", 100)), 0o600)
	_, err := Open(text)
	want(t, err, fault.Invalid, text, "not a database", "move the file away", "secretary.database")
	if b, _ := os.ReadFile(text); len(b) != 2000 {
		t.Errorf("it was changed: %d bytes", len(b))
	}

	newer := filepath.Join(dir, "newer")
	s := open(t, newer)
	s.db.Exec("pragma user_version = 99")
	s.Close()
	_, err = Open(newer)
	want(t, err, fault.Invalid, newer, "made by a newer hako", "update hako")

	other := filepath.Join(dir, "other")
	f, _ := os.OpenFile(other, os.O_CREATE|os.O_RDWR, 0o600)
	f.Close()
	db := database.Open(other, "")
	if _, err := db.Exec("create table bookmarks (x)"); err != nil {
		t.Fatal(err)
	}
	db.Close()
	_, err = Open(other)
	want(t, err, fault.Invalid, other, "of another program", "secretary.database")

	if runtime.GOOS == "windows" {
		return
	}
	shared := filepath.Join(dir, "shared")
	open(t, shared).Close()
	os.Chmod(shared, 0o644)
	_, err = Open(shared)
	want(t, err, fault.Invalid, shared, "chmod")
	link := filepath.Join(dir, "link")
	os.Symlink(newer, link)
	_, err = Open(link)
	want(t, err, fault.Invalid, link, "symbolic link")
	os.Mkdir(filepath.Join(dir, "dir"), 0o700)
	_, err = Open(filepath.Join(dir, "dir"))
	want(t, err, fault.Invalid, "not a plain file")
}

// TestFull is what happens when the disk is: an error with the name of the file,
// and all that was written stays readable.
func TestFull(t *testing.T) {
	s := fresh(t)
	if err := write(s, "仕事", 3); err != nil {
		t.Fatal(err)
	}
	var pages int
	s.db.QueryRow("pragma page_count").Scan(&pages)
	s.db.Exec(fmt.Sprintf("pragma max_page_count = %d", pages+2))
	session, _ := s.Session("仕事")
	_, err := s.Append(session.ID, Message{Role: User, Text: strings.Repeat("長い話", 100_000)})
	want(t, err, fault.Unavailable, s.path, "the disk is full", "make room")
	_, err = s.Add(Todo{Title: "x", Note: strings.Repeat("長", maxNote)})
	want(t, err, fault.Unavailable, s.path, "the disk is full")

	messages, err := s.Messages(session.ID, 0)
	if err != nil || len(messages) != 3 {
		t.Errorf("%d messages, %v", len(messages), err)
	}
	hits, err := s.Search("仕事の1", 0)
	if err != nil || len(hits) != 1 {
		t.Errorf("%v, %v", hits, err)
	}
	s.db.Exec("pragma max_page_count = 100000")
	if _, err := s.Append(session.ID, Message{Role: User, Text: "また話せます"}); err != nil {
		t.Errorf("with room again: %v", err)
	}
}

// TestBusy has another process that does not let go, and a file that cannot be
// written: both can still be read.
func TestBusy(t *testing.T) {
	s := fresh(t)
	s.Add(Todo{Title: "残る"})
	tx, err := open(t, s.path).db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	s.db.Exec("pragma busy_timeout = 1") // not 5000
	_, err = s.Add(Todo{Title: "x"})
	want(t, err, fault.Unavailable, s.path, "another process has not let go", "try again")
	tx.Rollback()

	s.db.Exec("pragma query_only = 1")
	_, err = s.Add(Todo{Title: "x"})
	want(t, err, fault.Unavailable, s.path, "it cannot be written", "permissions")
	if all, err := s.List(Filter{}); err != nil || len(all) != 1 {
		t.Errorf("%+v, %v", all, err)
	}
	var timeout int
	if err := open(t, s.path).db.QueryRow("pragma busy_timeout").Scan(&timeout); err != nil || timeout != 5000 {
		t.Errorf("%d, %v", timeout, err)
	}
}

// TestCrowd has many wait for another process: who reads does not wait at all, and
// who writes not for those before.
func TestCrowd(t *testing.T) {
	s := fresh(t)
	s.Add(Todo{Title: "残る"})
	tx, err := open(t, s.path).db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	s.db.Exec("pragma busy_timeout = 300")
	s.writeTimeout = 450 * time.Millisecond
	said := make(chan error, 8)
	for range cap(said) {
		go func() {
			_, err := s.Add(Todo{Title: "x"})
			said <- err
		}()
	}
	if all, err := s.List(Filter{}); err != nil || len(all) != 1 {
		t.Errorf("%+v, %v", all, err)
	}
	if _, err := s.Resume("x"); fault.KindOf(err) != fault.Unavailable {
		t.Error(err)
	}
	crowded := 0
	for range cap(said) {
		err := <-said
		want(t, err, fault.Unavailable, s.path, "try again")
		if strings.Contains(err.Error(), "too many changes wait") {
			crowded++
		}
	}
	if crowded == 0 {
		t.Error("each waited for all before")
	}
	tx.Rollback()
	if _, err := s.Add(Todo{Title: "x"}); err != nil {
		t.Error(err)
	}
}

// TestTogether has stores that write to one file at the same time, beginning
// with making it.
func TestTogether(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secretary.db")
	const writers, each = 6, 40
	var wait sync.WaitGroup
	failed := make(chan error, writers)
	for i := range writers {
		wait.Go(func() {
			s, err := Open(path)
			if err == nil {
				defer s.Close()
				err = write(s, fmt.Sprint("w", i%3), each)
			}
			if err != nil {
				failed <- err
			}
		})
	}
	wait.Wait()
	close(failed)
	for err := range failed {
		t.Error(err)
	}
	whole(t, path, writers*each, 3)
}

// whole checks that no row was lost and the file is as it should be.
func whole(t *testing.T, path string, rows, sessions int) {
	t.Helper()
	s := open(t, path)
	var todos, messages, heads int
	var check string
	err := errors.Join(
		s.db.QueryRow(`select (select count(*) from todo), (select count(*) from message), (select count(*) from session)`).Scan(&todos, &messages, &heads),
		s.db.QueryRow(`pragma integrity_check`).Scan(&check))
	if err != nil || todos != rows || messages != rows || heads != sessions || check != "ok" {
		t.Errorf("%d to-dos, %d messages, %d sessions, %s, %v; want %d, %d", todos, messages, heads, check, err, rows,
			sessions)
	}
	if _, err := s.db.Exec(`insert into message_text (message_text) values ('integrity-check')`); err != nil {
		t.Error(err)
	}
}

// TestProcesses is TestTogether with processes.
func TestProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secretary.db")
	var started []*exec.Cmd
	for i := range 3 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "STORE_TEST_FILL="+path, fmt.Sprint("STORE_TEST_NAME=w", i))
		out := new(strings.Builder)
		cmd.Stdout, cmd.Stderr = out, out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		started = append(started, cmd)
	}
	for _, cmd := range started {
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v: %s", err, cmd.Stdout)
		}
	}
	whole(t, path, 150, 3)
}

func TestSessions(t *testing.T) {
	s := fresh(t)
	now := time.Date(2026, 1, 31, 9, 0, 0, 0, time.UTC)
	s.now = func() time.Time { now = now.Add(time.Second); return now }
	first, err := s.NewSession("仕事")
	if err != nil || first.ID != 1 || first.Name != "仕事" || !first.Created.Equal(now) {
		t.Fatalf("%+v, %v", first, err)
	}
	nameless, err := s.NewSession("")
	other, err2 := s.NewSession("")
	if err != nil || err2 != nil || nameless.ID == other.ID || other.Name != "" {
		t.Fatalf("%+v, %+v, %v, %v", nameless, other, err, err2)
	}
	_, err = s.NewSession("仕事")
	want(t, err, fault.Invalid, "仕事", "there is one of that name")
	for _, bad := range []string{"12", "a\nb", " a", "\xff", strings.Repeat("長", 65)} {
		_, err := s.NewSession(bad)
		want(t, err, fault.Invalid, "begin session")
	}
	if v, err := s.Resume("仕事"); err != nil || v.ID != first.ID {
		t.Errorf("%+v, %v", v, err)
	}
	if v, err := s.Resume("家"); err != nil || v.ID != 4 {
		t.Errorf("%+v, %v", v, err)
	}
	_, err = s.Resume("a\nb")
	want(t, err, fault.Invalid, "begin session")
	for _, which := range []string{"nobody", "99", ""} {
		_, err := s.Session(which)
		want(t, err, fault.NotFound, "find session")
	}

	meta := json.RawMessage(`{"bashActions":[{"command":"ls *.py"}]}`)
	s.Append(first.ID, Message{Role: System, Text: "はじめに"})
	said, err := s.Append(first.ID, Message{Role: User, Text: "Pythonファイルを教えて"})
	if err != nil || said.ID == 0 || said.Session != first.ID || !said.Time.Equal(now) {
		t.Errorf("%+v, %v", said, err)
	}
	then := time.Date(2026, 1, 30, 0, 0, 0, 0, time.FixedZone("", 9*3600))
	s.Append(first.ID, Message{Role: Assistant, Text: "確認しますね。", Meta: meta, Time: then})
	got, err := s.Messages(first.ID, 2)
	if err != nil || len(got) != 2 || got[0].Text != "Pythonファイルを教えて" || got[0].Meta != nil || got[1].Role != Assistant ||
		string(got[1].Meta) != string(meta) || !got[1].Time.Equal(then) {
		t.Errorf("%+v, %v", got, err)
	}
	all, err := s.Sessions(2)
	if err != nil || len(all) != 2 || all[0].ID != first.ID || all[0].Messages != 3 || all[0].First != "Pythonファイルを教えて" ||
		!all[0].Updated.Equal(said.Time) {
		t.Errorf("%+v, %v", all, err)
	}
	if all, _ := s.Sessions(0); len(all) != 4 {
		t.Errorf("%+v", all)
	}
}

func TestAppendRefuses(t *testing.T) {
	s := fresh(t)
	v, _ := s.NewSession("")
	for _, tt := range []struct {
		m    Message
		kind fault.Kind
		says string
	}{
		{Message{Role: "tool", Text: "x"}, fault.Invalid, "user, assistant or system"},
		{Message{Role: User, Meta: json.RawMessage(`{"x":`)}, fault.Invalid, "not JSON"},
		{Message{Role: User, Text: strings.Repeat("x", maxText+1)}, fault.TooLarge, "4194305 bytes"},
	} {
		if _, err := s.Append(v.ID, tt.m); fault.KindOf(err) != tt.kind || !strings.Contains(fmt.Sprint(err), tt.says) {
			t.Errorf("%v", err)
		}
	}
	_, err := s.Append(99, Message{Role: User, Text: "x"})
	want(t, err, fault.NotFound, "find session 99")
	m, err := s.Append(v.ID, Message{Role: System, Text: "a\x00b\xff"})
	if err != nil || m.Text != "a\ufffdb\ufffd" {
		t.Errorf("%q, %v", m.Text, err)
	}
	if got, _ := s.Messages(v.ID, 0); len(got) != 1 || got[0].Text != m.Text {
		t.Errorf("%+v", got)
	}
}

// Forget leaves nothing behind, neither to be found nor in the file.
func TestForget(t *testing.T) {
	s := fresh(t)
	keep, _ := s.NewSession("keep")
	gone, _ := s.NewSession("gone")
	for i := range 50 {
		s.Append(keep.ID, Message{Role: User, Text: fmt.Sprint("残る言葉", i)})
		s.Append(gone.ID, Message{Role: User, Text: fmt.Sprint("QZXJVKの秘密", i), Meta: json.RawMessage(`"QZXJVK"`)})
	}
	if err := s.Forget(gone.ID); err != nil {
		t.Fatal(err)
	}
	_, err := s.Session("gone")
	want(t, err, fault.NotFound, "gone")
	want(t, s.Forget(gone.ID), fault.NotFound, "find session")
	if hits, err := s.Search("QZXJVK", 0); err != nil || len(hits) != 0 {
		t.Errorf("%v, %v", hits, err)
	}
	if hits, err := s.Search("残る言葉", 100); err != nil || len(hits) != 50 {
		t.Errorf("%d, %v", len(hits), err)
	}
	for _, name := range []string{s.path, s.path + "-wal"} {
		if b, err := os.ReadFile(name); err != nil || strings.Contains(string(b), "QZXJVK") ||
			strings.Contains(string(b), "qzx") || strings.Contains(string(b), "秘密") {
			t.Errorf("%s still has it, or %v", filepath.Base(name), err)
		}
	}
	if again, _ := s.NewSession("gone"); again.ID == gone.ID {
		t.Error("a number is used again: ", strconv.FormatInt(again.ID, 10))
	}
}
