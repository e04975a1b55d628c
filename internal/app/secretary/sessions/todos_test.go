package sessions

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"hako/internal/app/secretary/store"
	"hako/internal/ownerfile/database"
	"hako/internal/redact"
	"hako/run/fault"
)

func newTodos(t testing.TB) *Todos { return &Todos{Store: newStore(t)} }

// do carries out what must work.
func (l *Todos) must(t testing.TB, action string, todo Todo) Todo {
	t.Helper()
	done, err := l.Do(t.Context(), ann, action, todo)
	if err != nil {
		t.Fatal(err)
	}
	return done
}

// list spells the list in short.
func (l *Todos) list(t testing.TB) string {
	t.Helper()
	all, err := l.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, t := range all {
		line := fmt.Sprintf("%d %s %s %s", t.ID, t.Title, t.Status, t.Priority)
		for _, more := range []string{t.Note, t.Due} {
			if more != "" {
				line += " " + more
			}
		}
		if t.Overdue {
			line += " overdue"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "; ")
}

// TestTodos has them in the order of hako todo.
func TestTodos(t *testing.T) {
	l := newTodos(t)
	l.Now = func() time.Time { return time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC) }
	if got := l.list(t); got != "" {
		t.Error(got)
	}
	l.must(t, "add", Todo{Title: "later"})
	l.must(t, "add", Todo{Title: "matters", Priority: "high", Status: "open"})
	l.must(t, "add", Todo{Title: "late", Due: "2026-01-30", Note: "yes"})
	l.must(t, "add", Todo{Title: "was done", Status: "done", Due: "2026-01-30"})
	done := l.must(t, "add", Todo{Title: "soon", Due: "2026-02-01T10:00:00Z", ID: 77})
	if done.ID != 5 || done.Status != "open" || done.Created.IsZero() || done.Updated.IsZero() {
		t.Errorf("%+v", done)
	}
	const want = "3 late open normal yes 2026-01-30 overdue; 5 soon open normal 2026-02-01T10:00:00Z; 2 matters open high; 1 later open normal; 4 was done done normal 2026-01-30"
	if got := l.list(t); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestUpdate makes a to-do all that is said, and nothing else.
func TestUpdate(t *testing.T) {
	l := newTodos(t)
	added := l.must(t, "add", Todo{Title: "milk", Note: "two", Due: "2999-01-01", Priority: "high"})
	done := l.must(t, "complete", Todo{ID: 1})
	if done.Status != "done" || done.Title != "milk" {
		t.Errorf("%+v", done)
	}
	open := done
	open.Status = "open" // it is not, after all
	if again := l.must(t, "update", open); again.Status != "open" || again.Note != "two" || again.Due != added.Due {
		t.Errorf("%+v", again)
	}
	l.must(t, "update", Todo{ID: 1, Title: "soy milk", Status: "open"})
	if got := l.list(t); got != "1 soy milk open normal" {
		t.Error(got)
	}
	if gone := l.must(t, "delete", Todo{ID: 1}); gone.Title != "soy milk" || l.list(t) != "" {
		t.Errorf("%+v", gone)
	}
}

func TestTodosRefuse(t *testing.T) {
	l := newTodos(t)
	l.must(t, "add", Todo{Title: "stays"})
	for _, tt := range []struct {
		action string
		todo   Todo
		kind   fault.Kind
		says   string
	}{
		{"drop", Todo{ID: 1}, fault.Invalid, `there is no action "drop"`},
		{"", Todo{ID: 1}, fault.Invalid, `there is no action ""`},
		{"add", Todo{}, fault.Invalid, "it is empty"},
		{"add", Todo{Title: "a\x1bb"}, fault.Invalid, "cannot be shown"},
		{"add", Todo{Title: "x", Status: "later"}, fault.Invalid, `no status "later"`},
		{"add", Todo{Title: "x", Priority: "urgent"}, fault.Invalid, `"urgent" is none`},
		{"add", Todo{Title: "x", Due: "soon"}, fault.Invalid, `"soon" is not a day or time`},
		{"update", Todo{Title: "x", Status: "open"}, fault.Invalid, "not the number of a to-do"},
		{"update", Todo{ID: 1, Status: "open"}, fault.Invalid, "it is empty"},
		{"update", Todo{ID: 1, Title: "x"}, fault.Invalid, `"" is none`},
		{"update", Todo{ID: 1, Title: "x", Status: "later"}, fault.Invalid, `"later" is none`},
		{"update", Todo{ID: 1, Title: "x", Status: "done", Priority: "urgent"}, fault.Invalid, `"urgent" is none`},
		{"update", Todo{ID: 1, Title: "x", Status: "done", Due: "2026-02-30"}, fault.Invalid, "is not a day or time"},
		{"update", Todo{ID: 9, Title: "x", Status: "open"}, fault.NotFound, "find to-do 9"},
		{"complete", Todo{ID: 9}, fault.NotFound, "find to-do 9"},
		{"delete", Todo{ID: 9}, fault.NotFound, "find to-do 9"},
		{"delete", Todo{ID: -1}, fault.Invalid, "not the number"},
	} {
		_, err := l.Do(t.Context(), ann, tt.action, tt.todo)
		want(t, err, tt.kind, tt.says)
	}
	_, err := l.Do(t.Context(), bob, "delete", Todo{ID: 1})
	want(t, err, fault.Denied, "a reader may look")
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = l.Do(gone, ann, "delete", Todo{ID: 1})
	if _, lerr := l.List(gone); !errors.Is(err, context.Canceled) || !errors.Is(lerr, context.Canceled) {
		t.Error(err, lerr)
	}
	if got := l.list(t); got != "1 stays open normal" {
		t.Error(got)
	}
}

// TestTodosForgetSecrets keeps no keys.
func TestTodosForgetSecrets(t *testing.T) {
	l := newTodos(t)
	l.Secrets = new(redact.Set)
	l.Secrets.Add("hunter2hunter2")
	l.must(t, "add", Todo{Title: "use hunter2hunter2", Note: "or hunter2hunter2"})
	l.must(t, "update", Todo{ID: 1, Title: "hunter2hunter2", Note: "hunter2hunter2", Status: "open"})
	if got := l.list(t); strings.Contains(got, "hunter2") || strings.Count(got, redact.Mark) != 2 {
		t.Error(got)
	}
}

// TestSameTodo has many change the same to-do: what one has not seen he does not
// undo.
func TestSameTodo(t *testing.T) {
	l := newTodos(t)
	seen := l.must(t, "add", Todo{Title: "x"})
	var all sync.WaitGroup
	said := make(chan error, 20)
	for i := range cap(said) {
		all.Go(func() {
			mine := seen
			mine.Note = fmt.Sprint(i)
			_, err := l.Do(t.Context(), ann, "update", mine)
			said <- err
		})
	}
	all.Wait()
	close(said)
	kept := 0
	for err := range said {
		if err == nil {
			kept++
			continue
		}
		want(t, err, fault.Unavailable, "it has been changed meanwhile")
	}
	if kept != 1 {
		t.Errorf("%d were kept", kept)
	}
	mine := seen
	mine.Note, mine.Updated = "whatever it was", time.Time{}
	l.must(t, "update", mine)
}

// lock has another connection hold the file until the test lets go of it.
func lock(t *testing.T, path string) (unlock func()) {
	t.Helper()
	other := database.Open(path, "")
	t.Cleanup(func() { other.Close() })
	conn, err := other.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.ExecContext(t.Context(), "begin exclusive"); err != nil {
		t.Fatal(err)
	}
	return sync.OnceFunc(func() {
		conn.ExecContext(context.Background(), "rollback")
		conn.Close()
	})
}

// TestLocked waits for another process, for some seconds; what is only read is
// there at once.
func TestLocked(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "secretary.db")
	st, err := store.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	h := build(t)
	h.Store.Close()
	h.Store = st
	h.chat(t, "work", "x")
	l := &Todos{Store: st}
	l.must(t, "add", Todo{Title: "x"})

	unlock := lock(t, path)
	defer unlock()
	time.AfterFunc(300*time.Millisecond, unlock)
	l.must(t, "complete", Todo{ID: 1})

	unlock = lock(t, path)
	defer unlock()
	began := time.Now()
	said := make(chan error)
	go func() {
		_, err := l.Do(t.Context(), ann, "delete", Todo{ID: 1})
		said <- err
	}()
	if all, err := h.Sessions(t.Context()); err != nil || len(all) != 1 {
		t.Errorf("%v, %v", all, err)
	}
	if got := l.list(t); got != "1 x done normal" {
		t.Error(got)
	}
	select {
	case err := <-said:
		t.Fatalf("who reads waits for who writes: %v", err)
	default:
	}
	want(t, <-said, fault.Unavailable, path, "another process has not let go")
	if took := time.Since(began); took < 4*time.Second || took > time.Minute {
		t.Errorf("they waited %v", took)
	}
	unlock()
	l.must(t, "delete", Todo{ID: 1})
}
