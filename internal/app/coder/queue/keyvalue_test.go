package queue

import (
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"

	"hako/run/fault"
)

func TestKeyValue(t *testing.T) {
	t.Parallel()
	q := opened(t, Options{})
	get := func(shelf, key, want string) {
		t.Helper()
		if got, err := q.KeyValue(shelf).Get(t.Context(), key); string(got) != want || err != nil {
			t.Errorf("%s on %s is %q: %v", key, shelf, got, err)
		}
	}
	set := func(value string) func([]byte) ([]byte, error) {
		return func([]byte) ([]byte, error) { return []byte(value), nil }
	}
	get("one", "a.b*", "")
	ok(t, q.KeyValue("one").Change(t.Context(), "a.b*", set("1")))
	ok(t, q.KeyValue("two").Change(t.Context(), "a.b*", set("2")))
	get("one", "a.b*", "1")
	get("two", "a.b*", "2")
	get("one", "a", "")
	no := errors.New("no")
	if err := q.KeyValue("one").Change(t.Context(), "a.b*", func(v []byte) ([]byte, error) {
		return []byte("3"),
			no
	}); !errors.Is(err, no) {
		t.Error(err)
	}
	ok(t, q.KeyValue("one").Change(t.Context(), "a.b*", func(v []byte) ([]byte, error) { return nil, nil }))
	get("one", "a.b*", "1")
	if err := q.KeyValue("one").Change(t.Context(), "a.b*", set(strings.Repeat("x", 9<<20))); fault.KindOf(
		err) != fault.TooLarge || fault.Hint(err) == "" {
		t.Error(err)
	}
}

// Whoever changes a value at the same time as others changes what they made.
func TestManyKeys(t *testing.T) {
	t.Parallel()
	q := opened(t, Options{})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 10 {
				err := q.KeyValue("one").Change(t.Context(), "a", func(v []byte) ([]byte, error) {
					n, _ := strconv.Atoi(string(v))
					return strconv.AppendInt(nil, int64(n+1), 10), nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if got, err := q.KeyValue("one").Get(t.Context(), "a"); string(got) != "80" || err != nil {
		t.Errorf("%s: %v", got, err)
	}
}
