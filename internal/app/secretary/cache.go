package secretary

import "time"

// A cache keeps results of read-only commands for a short time.
type cache struct {
	known map[string]sight
}

type sight struct {
	output Output
	seen   time.Time
}

// mostSights is the maximum number of entries.
const mostSights = 128

func sightKey(dir, command string) string { return dir + "\x00" + command }

func (c *cache) get(key string, now time.Time, ttl time.Duration) (Output, bool) {
	s, ok := c.known[key]
	if !ok || now.Sub(s.seen) >= ttl {
		return Output{}, false
	}
	return s.output, true
}

func (c *cache) put(key string, o Output, now time.Time) {
	if len(c.known) >= mostSights {
		c.empty()
	}
	if c.known == nil {
		c.known = make(map[string]sight)
	}
	c.known[key] = sight{o, now}
}

func (c *cache) empty() { clear(c.known) }
