package forge

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	fake "hako/internal/fakes/forge"
)

// TestUnchanged asks for what is known already only if it changed, and is not
// charged for it.
func TestUnchanged(t *testing.T) {
	both(t, func(w *world) {
		ref := w.issue(fake.Item{Title: "one"})
		for _, title := range []string{"one", "one", "two", "two"} {
			w.Change(w.repo, fake.Issue, ref.Number, func(i *fake.Item) { i.Title = title; i.Updated = i.Created })
			w.ClearRequests()
			got, err := w.Get(w.ctx(), ref)
			if err != nil || got.Title != title || len(w.Requests()) != 1 {
				t.Errorf("got %+v, %v", got, err)
			}
		}
		all := map[int]int{}
		for range 5 {
			_, err := w.Get(w.ctx(), ref)
			w.fine(err)
			all[w.Requests()[len(w.Requests())-1].Status]++
		}
		if all[http.StatusOK] > 1 || all[http.StatusNotModified] < 4 {
			t.Errorf("got %v", all)
		}
	})
}

// TestKnownIsBounded keeps so many bytes and no more.
func TestKnownIsBounded(t *testing.T) {
	a := newResponseCache()
	res := &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Etag": {"x"}}}
	body := make([]byte, 1<<20)
	for n := range 200 {
		a.put(httptest.NewRequest("GET", "/"+strconv.Itoa(n), nil), res, body)
		a.put(httptest.NewRequest("GET", "/same", nil), res, body)
	}
	if a.size > maxCacheBytes || a.size < maxCacheBytes/2 || a.lru.Len() != a.size/len(body) {
		t.Errorf("%d bytes in %d answers", a.size, a.lru.Len())
	}
	a.put(httptest.NewRequest("GET", "/huge", nil), res, make([]byte, maxCacheBytes))
	a.put(httptest.NewRequest("POST", "/posted", nil), res, body)
	if a.get(httptest.NewRequest("GET", "/huge", nil)) != nil ||
		a.get(httptest.NewRequest("GET", "/posted", nil)) != nil || a.get(httptest.NewRequest("GET", "/same", nil)) == nil {
		t.Error("it kept the wrong ones")
	}
}

// TestClock goes by the forge's, whatever ours shows.
func TestClock(t *testing.T) {
	there := time.Now().Add(-6 * time.Hour)
	h := http.Header{"Date": {there.UTC().Format(http.TimeFormat)}, "X-Ratelimit-Remaining": {"0"},
		"X-Ratelimit-Reset": {strconv.FormatInt(there.Add(90*time.Second).Unix(), 10)}}
	if wait, ok := rateLimitReset(h); !ok || wait < 89*time.Second || wait > 92*time.Second {
		t.Errorf("it would wait %v, %v", wait, ok)
	}
	h.Set("X-Ratelimit-Remaining", "1")
	if _, ok := rateLimitReset(h); ok {
		t.Error("there is one left")
	}
	for text, want := range map[string]time.Duration{"": 0, "-5": 0, "x": 0, "3": 3 * time.Second,
		"999999999999": 7 * 24 * time.Hour, "99999999": 7 * 24 * time.Hour} {
		if got := retryAfter(http.Header{"Retry-After": {text}}); got != want {
			t.Errorf("%q: got %v, want %v", text, got, want)
		}
	}
}

// TestHome adds the token for its own server only: by scheme, name and port.
func TestHome(t *testing.T) {
	w := newWorld(t, GitHub)
	seen := ""
	other := httptest.NewServer(
		http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen = r.Header.Get("Authorization") + "." }))
	defer other.Close()
	req, err := http.NewRequestWithContext(w.ctx(), "GET", other.URL, nil)
	w.fine(err)
	res, err := w.Forge.(*client).transport.RoundTrip(req)
	w.fine(err)
	res.Body.Close()
	if seen != "." {
		t.Errorf("another server saw %q", seen)
	}
}

// TestEndless gives up an answer that does not end.
func TestEndless(t *testing.T) {
	both(t, func(w *world) {
		w.AddFault(fake.Fault{Status: 200, Raw: `{"login":"` + strings.Repeat("a", maxResponse) + `"}`})
		_, err := w.CurrentUser(w.ctx())
		if err == nil || !strings.Contains(err.Error(), "does not end") || len(w.waits) > 0 {
			t.Errorf("got %v after %v", err, w.waits)
		}
	})
}

// TestTogether uses one forge from several places.
func TestTogether(t *testing.T) {
	both(t, func(w *world) {
		ref := w.issue(fake.Item{Title: "a"})
		voice := &CommentWriter{Forge: w.Forge, Ref: ref, Task: "t"}
		var all sync.WaitGroup
		for n := range 8 {
			all.Go(func() {
				if _, err := voice.Write(w.ctx(), "progress", strconv.Itoa(n)); err != nil {
					t.Error(err)
				}
				if _, err := w.Comments(w.ctx(), ref, time.Time{}); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if n := len(w.item(ref).Comments); n != 1 {
			t.Errorf("there are %d comments", n)
		}
	})
}
