package forge

import (
	"bytes"
	"io"
	"net/http"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

const (
	maxCacheBytes = 64 << 20 // of all bodies: ten thousand issues with texts of average length
	maxCached     = 4096     // responses
)

// A responseCache holds responses for conditional requests: GitHub does not count
// a request that is answered with 304.
type responseCache struct {
	mu   sync.Mutex
	lru  *simplelru.LRU[string, *cachedResponse] // by URL
	size int                                     // bytes of all bodies
}

type cachedResponse struct {
	etag   string
	header http.Header
	body   []byte
}

func newResponseCache() *responseCache {
	c := new(responseCache)
	c.lru, _ = simplelru.NewLRU(maxCached, // fails only for a size of zero
		func(_ string, evicted *cachedResponse) { c.size -= len(evicted.body) })
	return c
}

func (c *responseCache) get(req *http.Request) *cachedResponse {
	if req.Method != http.MethodGet {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	cached, _ := c.lru.Get(req.URL.String())
	return cached
}

func (c *responseCache) put(req *http.Request, res *http.Response, body []byte) {
	etag := res.Header.Get("Etag")
	if req.Method != http.MethodGet || res.StatusCode != http.StatusOK || etag == "" || len(body) > maxCacheBytes/16 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lru.Remove(req.URL.String())
	c.size += len(body)
	c.lru.Add(req.URL.String(), &cachedResponse{etag, res.Header.Clone(), body})
	for c.size > maxCacheBytes {
		c.lru.RemoveOldest()
	}
}

func (c *cachedResponse) response(req *http.Request) *http.Response {
	return &http.Response{Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: c.header.Clone(), Body: io.NopCloser(bytes.NewReader(c.body)), ContentLength: int64(len(c.body)),
		Request: req}
}
