package tool

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

const (
	cacheEntries = 128
	cacheBytes   = 1 << 20
	cacheOutputs = 4
)

// A Cache is an LRU cache of the results of requests with an idempotency key, of at most 128 results and 1 MB. It also
// keeps the last four outputs of more than a page, of at most 1 MB each. A nil Cache keeps nothing. It is safe for
// concurrent use.
type Cache struct {
	mu      sync.Mutex
	lru     *simplelru.LRU[string, Output]
	bytes   int
	outputs *simplelru.LRU[string, *output]
}

// NewCache returns an empty cache.
func NewCache() *Cache {
	c := new(Cache)
	lru, err := simplelru.NewLRU(cacheEntries, func(_ string, o Output) { c.bytes -= weight(o) })
	if err != nil {
		panic(err) // only a size below one is refused
	}
	c.lru = lru
	if c.outputs, err = simplelru.NewLRU[string, *output](cacheOutputs, nil); err != nil {
		panic(err)
	}
	return c
}

// keep keeps a whole output; nil is none.
func (c *Cache) keep(key string, o *output) {
	if c == nil || key == "" || o == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.outputs.Add(key, o)
}

func (c *Cache) output(key string) (*output, bool) {
	if c == nil || key == "" {
		return nil, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.outputs.Get(key)
}

func (c *Cache) get(key string) (Output, bool) {
	if c == nil || key == "" {
		return Output{}, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lru.Get(key)
}

func (c *Cache) add(key string, o Output) {
	if c == nil || key == "" || weight(o) > cacheBytes {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lru.Remove(key) // so that its weight is taken off
	c.lru.Add(key, o)
	for c.bytes += weight(o); c.bytes > cacheBytes; {
		c.lru.RemoveOldest()
	}
}

// weight estimates the size of a result with its key.
func weight(o Output) int { return len(o.StdoutText) + len(o.StderrText) + 256 }

// Fingerprint identifies a set of grants: files, URL prefixes, whatever decides what a command can see. Results are
// only reused under the same fingerprint.
func Fingerprint(grants ...[]string) string {
	h := sha256.New()
	for _, list := range grants {
		fmt.Fprintf(h, "%d:", len(list))
		for _, s := range list {
			fmt.Fprintf(h, "%d:%s", len(s), s)
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}
