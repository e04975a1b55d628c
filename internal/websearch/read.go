package websearch

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"hako/run/fault"
)

// defaultPassage is the default size of a passage in bytes.
const defaultPassage = 4096

const (
	keptPages = 16
	keptTime  = 5 * time.Minute
)

// A Reader reads web pages passage by passage. It caches the last few pages, so that further passages need no request.
// It is safe for concurrent use and must not be copied.
type Reader struct {
	Fetcher *Fetcher // nil means that nothing may be fetched

	// Fetched is called for every page that was fetched, with its size, for the audit log, with the values of the first
	// caller's context. Nil means that nothing is called.
	Fetched func(ctx context.Context, url string, bytes int64)
	Now     func() time.Time // nil means time.Now

	mu      sync.Mutex
	kept    *simplelru.LRU[string, *article]
	fetches map[string]*pendingFetch
}

// A Passage is a part of the text of a page.
type Passage struct {
	URL        string `json:"url"` // the last one, after redirects
	Title      string `json:"title"`
	Text       string `json:"text"`
	Type       string `json:"type"`        // of the page, without parameters
	TotalBytes int64  `json:"total_bytes"` // of the whole text
	NextStart  *int64 `json:"next_start"`  // nil when this passage is the last
	CacheHit   bool   `json:"cache_hit"`
}

// An article is a page converted to text.
type article struct {
	url, title, text, kind string
	read                   time.Time
}

// A pendingFetch is a fetch in progress with its waiting callers.
type pendingFetch struct {
	done    chan struct{}
	cancel  context.CancelFunc
	waiting int
	article *article
	err     error
}

// Read returns up to size bytes of the text of a page, from byte start on. Zero means 4096 bytes, less than zero all. A
// passage begins and ends between characters and has at least one, if there is one.
func (r *Reader) Read(ctx context.Context, address string, start, size int64) (Passage, error) {
	if start < 0 {
		return Passage{}, &fault.Error{Kind: fault.Invalid, Op: "read", Subject: cut(address),
			Why:  fmt.Sprintf("start is %d, below 0", start),
			Hint: "start is a byte of the text: 0, or the next_start of the passage before"}
	}
	u, err := r.Fetcher.Allow(address)
	if err != nil {
		return Passage{}, err
	}
	a, hit, err := r.article(ctx, u)
	if err != nil {
		return Passage{}, err
	}
	p := Passage{URL: a.url, Title: a.title, Type: a.kind, TotalBytes: int64(len(a.text)), CacheHit: hit}
	p.Text, p.NextStart = passage(a.text, start, size)
	return p, nil
}

// passage returns a part of a text.
func passage(text string, start, size int64) (part string, next *int64) {
	total := int64(len(text))
	for start < total && !utf8.RuneStart(text[start]) {
		start++
	}
	if start >= total {
		return "", nil
	}
	size = cmp.Or(size, defaultPassage)
	if size < 0 || size >= total-start {
		return text[start:], nil
	}
	end := start + size
	for end > start && !utf8.RuneStart(text[end]) {
		end--
	}
	if end == start {
		_, n := utf8.DecodeRuneInString(text[start:])
		end += int64(n)
	}
	if end == total {
		return text[start:], nil
	}
	return text[start:end], &end
}

// article returns a page from the cache, or fetches it. Concurrent callers for the same page share one fetch.
func (r *Reader) article(ctx context.Context, u *url.URL) (*article, bool, error) {
	plain := *u
	plain.Fragment, plain.RawFragment = "", "" // it is not sent to the server
	key := plain.String()
	r.mu.Lock()
	if a, ok := r.remembered(key); ok {
		r.mu.Unlock()
		return a, true, nil
	}
	f := r.fetches[key]
	if f == nil {
		f = r.launch(ctx, key)
	}
	f.waiting++
	r.mu.Unlock()
	select {
	case <-f.done:
		return f.article, false, f.err
	case <-ctx.Done():
		r.leave(key, f)
		return nil, false, context.Cause(ctx)
	}
}

// leave stops waiting. When no caller waits any more, the fetch is canceled.
func (r *Reader) leave(key string, f *pendingFetch) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if f.waiting--; f.waiting == 0 {
		f.cancel()
		if r.fetches[key] == f {
			delete(r.fetches, key)
		}
	}
}

// remembered looks up a page in the cache.
func (r *Reader) remembered(key string) (*article, bool) {
	if r.kept == nil {
		return nil, false
	}
	a, ok := r.kept.Get(key)
	if !ok || r.now().Sub(a.read) > keptTime {
		return nil, false
	}
	return a, true
}

func (r *Reader) now() time.Time {
	if r.Now != nil {
		return r.Now()
	}
	return time.Now()
}

// launch starts a fetch that outlives its first caller as long as others wait for it.
func (r *Reader) launch(ctx context.Context, key string) *pendingFetch {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	f := &pendingFetch{done: make(chan struct{}), cancel: cancel}
	if r.fetches == nil {
		r.fetches = map[string]*pendingFetch{}
	}
	r.fetches[key] = f
	go func() {
		defer cancel()
		f.article, f.err = r.fetch(ctx, key)
		r.mu.Lock()
		defer r.mu.Unlock()
		if f.err == nil {
			r.remember(key, f.article)
		}
		if r.fetches[key] == f {
			delete(r.fetches, key)
		}
		close(f.done)
	}()
	return f
}

func (r *Reader) remember(key string, a *article) {
	if r.kept == nil {
		kept, err := simplelru.NewLRU[string, *article](keptPages, nil)
		if err != nil {
			panic(err) // only a size below one is refused
		}
		r.kept = kept
	}
	r.kept.Add(key, a)
}

// fetch fetches a page and converts it to text.
func (r *Reader) fetch(ctx context.Context, address string) (*article, error) {
	page, err := r.Fetcher.Get(ctx, address)
	if err != nil {
		return nil, err
	}
	if r.Fetched != nil {
		r.Fetched(ctx, page.URL, int64(len(page.Body)))
	}
	title, text, err := Text(ctx, page)
	if err != nil {
		return nil, err
	}
	return &article{url: page.URL, title: title, text: text, kind: mediaType(page), read: r.now()}, nil
}
