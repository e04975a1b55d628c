package secretary

import "time"

// A cache keeps results of read-only commands for a short time.
type cache struct {
	entries map[string]cacheEntry
}

type cacheEntry struct {
	output Output
	at     time.Time
}

// maxCacheEntries is the maximum number of entries.
const maxCacheEntries = 128

func cacheKey(dir, command string) string { return dir + "\x00" + command }

func (c *cache) get(key string, now time.Time, ttl time.Duration) (Output, bool) {
	s, ok := c.entries[key]
	if !ok || now.Sub(s.at) >= ttl {
		return Output{}, false
	}
	return s.output, true
}

func (c *cache) put(key string, o Output, now time.Time) {
	if len(c.entries) >= maxCacheEntries {
		c.clear()
	}
	if c.entries == nil {
		c.entries = make(map[string]cacheEntry)
	}
	c.entries[key] = cacheEntry{o, now}
}

func (c *cache) clear() { clear(c.entries) }
