package forge

import (
	"bytes"
	"io"
	"net/http"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

const (
	maxKnown = 64 << 20 // bytes of all answers kept: ten thousand issues with middling texts
	mostKept = 4096     // answers
)

// answers are what a forge said, by address, so that it need not say it again:
// GitHub does not count a request that is answered with "not modified".
type answers struct {
	mu   sync.Mutex
	lru  *simplelru.LRU[string, *answer]
	size int
}

type answer struct {
	tag    string
	header http.Header
	body   []byte
}

func newAnswers() *answers {
	a := new(answers)
	a.lru, _ = simplelru.NewLRU(mostKept,
		func(_ string, gone *answer) { a.size -= len(gone.body) }) // refuses only a size of zero
	return a
}

func (a *answers) find(req *http.Request) *answer {
	if req.Method != http.MethodGet {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	old, _ := a.lru.Get(req.URL.String())
	return old
}

func (a *answers) keep(req *http.Request, res *http.Response, body []byte) {
	tag := res.Header.Get("Etag")
	if req.Method != http.MethodGet || res.StatusCode != http.StatusOK || tag == "" || len(body) > maxKnown/16 {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lru.Remove(req.URL.String())
	a.size += len(body)
	a.lru.Add(req.URL.String(), &answer{tag, res.Header.Clone(), body})
	for a.size > maxKnown {
		a.lru.RemoveOldest()
	}
}

// again is the answer as it was given the first time.
func (a *answer) again(req *http.Request) *http.Response {
	return &http.Response{Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: a.header.Clone(),
		Body:   io.NopCloser(bytes.NewReader(a.body)), ContentLength: int64(len(a.body)), Request: req}
}
