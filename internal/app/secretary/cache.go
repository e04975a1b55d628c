package secretary

import "time"

// A cache keeps what looking has shown, for a short while and until something
// may have changed.
type cache struct {
	known map[string]sight
}

type sight struct {
	output Output
	seen   time.Time
}

// mostSights is how many results are kept.
const mostSights = 128

// sightKey names a command by where it is run.
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
