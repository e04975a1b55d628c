package websearch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"hako/internal/testload"
	"hako/run/fault"
)

func contextThatIsOver(t *testing.T) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx, cancel
}

// library is a reader over a server with a few pages.
func library(t *testing.T) (r *Reader, address string, asked *atomic.Int32, fetched func() []string) {
	asked = new(atomic.Int32)
	address = serve(t, func(w http.ResponseWriter, req *http.Request) {
		asked.Add(1)
		switch req.URL.Path {
		case "/missing":
			http.NotFound(w, req)
		case "/moved":
			http.Redirect(w, req, "/page", http.StatusFound)
		case "/pdf":
			w.Header().Set("Content-Type", "application/pdf")
			fmt.Fprint(w, "%PDF")
		case "/long":
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			fmt.Fprint(w, strings.Repeat("あいう🙂x", 1000))
		default:
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			fmt.Fprintf(w, "<title>Page</title><p>%s <a href=/x>日本</a>", req.URL.RequestURI())
		}
	})
	var mu sync.Mutex
	var list []string
	r = &Reader{Fetcher: &Fetcher{Prefixes: []string{address}}, Fetched: func(_ context.Context, url string, bytes int64) {
		mu.Lock()
		defer mu.Unlock()
		list = append(list, fmt.Sprint(strings.TrimPrefix(url, address), " ", bytes))
	}}
	return r, address, asked, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return list
	}
}

func TestRead(t *testing.T) {
	r, address, asked, fetched := library(t)
	p, err := r.Read(t.Context(), address+"/page", 0, 0)
	want := Passage{URL: address + "/page", Title: "Page", Text: "/page [日本](" + address + "/x)", Type: "text/html"}
	want.TotalBytes = int64(len(want.Text))
	if err != nil || p != want {
		t.Errorf("%+v %v", p, err)
	}
	p, err = r.Read(t.Context(), address+"/page#part", 6, 7)
	if err != nil || p.Text != "[日本" || !p.CacheHit || p.NextStart == nil || *p.NextStart != 13 {
		t.Errorf("%+v %v", p, err)
	}
	if asked.Load() != 1 || fmt.Sprint(fetched()) != "[/page 49]" {
		t.Errorf("asked %d times, fetched %v", asked.Load(), fetched())
	}
	if p, err = r.Read(t.Context(), address+"/moved", 0, 0); err != nil || p.URL != address+"/page" || p.CacheHit {
		t.Errorf("%+v %v", p, err)
	}
}

func TestReadFails(t *testing.T) {
	r, address, asked, _ := library(t)
	for _, tt := range []struct {
		r       *Reader
		address string
		start   int64
		kind    fault.Kind
	}{
		{r, address + "/missing", 0, fault.NotFound},
		{r, address + "/pdf", 0, fault.Invalid},
		{r, "https://example.com/", 0, fault.Denied},
		{r, "file:///etc/passwd", 0, fault.Invalid},
		{r, address + "/page", -1, fault.Invalid},
		{&Reader{}, address + "/page", 0, fault.Denied},
	} {
		p, err := tt.r.Read(t.Context(), tt.address, tt.start, 0)
		if fault.KindOf(err) != tt.kind || fault.Hint(err) == "" || p != (Passage{}) {
			t.Errorf("%s: %+v %v", tt.address, p, err)
		}
	}
	before := asked.Load()
	r.Read(t.Context(), address+"/missing", 0, 0)
	if asked.Load() != before+1 {
		t.Error("an error was remembered")
	}
}

// TestPassages reads a text in pieces of every size and puts it together again.
func TestPassages(t *testing.T) {
	r, address, asked, _ := library(t)
	whole := strings.Repeat("あいう🙂x", 1000)
	for _, size := range []int64{1, 2, 3, 5, 100, 4096, 1 << 40, 0, -1} {
		var got strings.Builder
		start := int64(0)
		for {
			p, err := r.Read(t.Context(), address+"/long", start, size)
			if err != nil || !utf8.ValidString(p.Text) || p.TotalBytes != int64(len(whole)) || size > 4 &&
				int64(len(p.Text)) > size || size == 0 && len(p.Text) > 4096 || p.Text == "" {
				t.Fatalf("size %d: %+v %v", size, p, err)
			}
			got.WriteString(p.Text)
			if p.NextStart == nil {
				break
			}
			start = *p.NextStart
		}
		if got.String() != whole {
			t.Errorf("size %d: the pieces are not the whole", size)
		}
	}
	if asked.Load() != 1 {
		t.Errorf("asked %d times", asked.Load())
	}
	for start, want := range map[int64]string{1: "い", 2: "い", 3: "い", 14000: "", 1 << 62: ""} {
		if p, err := r.Read(t.Context(), address+"/long", start, 3); err != nil || p.Text != want ||
			(p.NextStart == nil) != (want == "") {
			t.Errorf("from %d: %+v %v", start, p, err)
		}
	}
}

func TestPagesAreForgotten(t *testing.T) {
	r, address, asked, _ := library(t)
	now := time.Now()
	r.Now = func() time.Time { return now }
	read := func(path string) bool {
		t.Helper()
		p, err := r.Read(t.Context(), address+path, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		return p.CacheHit
	}
	read("/old")
	now = now.Add(5 * time.Minute)
	if !read("/old") {
		t.Error("forgotten too early")
	}
	if now = now.Add(time.Second); read("/old") {
		t.Error("remembered for too long")
	}
	for i := range 16 {
		read(fmt.Sprintf("/%d", i))
	}
	if read("/old") || asked.Load() != 19 {
		t.Errorf("too many are remembered: asked %d times", asked.Load())
	}
}

// TestOneFetchForAll checks that the same page is asked for once by many, and
// that one of them leaving does not spoil it for the others.
func TestOneFetchForAll(t *testing.T) {
	r, address, asked, fetched := library(t)
	here := make(chan struct{}) // closed when all of them are
	r.Fetcher.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		<-here
		return new(net.Dialer).DialContext(ctx, network, address)
	}
	hasty, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := r.Read(hasty, address+"/page", 0, 0); !errors.Is(err, context.Canceled) {
			t.Errorf("the hasty one got %v", err)
		}
	})
	waiting(t, r, address+"/page", 1)
	for range 5 {
		wg.Go(func() {
			if p, err := r.Read(t.Context(), address+"/page", 0, 0); err != nil || p.Title != "Page" {
				t.Errorf("%+v %v", p, err)
			}
		})
	}
	waiting(t, r, address+"/page", 6)
	cancel()
	waiting(t, r, address+"/page", 5)
	close(here)
	wg.Wait()
	if asked.Load() != 1 || len(fetched()) != 1 {
		t.Errorf("asked %d times", asked.Load())
	}
}

// waiting waits until so many wait for a page.
func waiting(t *testing.T, r *Reader, key string, n int) {
	t.Helper()
	for end := time.Now().Add(testload.Bound(5 * time.Second)); ; time.Sleep(time.Millisecond) {
		r.mu.Lock()
		f := r.fetches[key]
		all := f != nil && f.waiting == n
		r.mu.Unlock()
		if all {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d never wait", n)
		}
	}
}

// TestNobodyWaits checks that a fetch which nobody waits for ends.
func TestNobodyWaits(t *testing.T) {
	ended := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	address := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		cancel() // now that it is under way
		<-r.Context().Done()
		close(ended)
	})
	r := &Reader{Fetcher: &Fetcher{Prefixes: []string{address}}}
	if _, err := r.Read(ctx, address, 0, 0); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	select {
	case <-ended:
	case <-time.After(testload.Bound(5 * time.Second)):
		t.Error("the fetch goes on")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.fetches) != 0 {
		t.Error("the fetch is still known")
	}
}
