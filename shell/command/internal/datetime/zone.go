// Package datetime parses the dates of date -d and the time zones of TZ.
package datetime

import (
	"time"

	"hako/shell"
	"hako/shell/strftime"
)

// Zone returns the time zone in the variable TZ: a name with an offset (UTC, JST-9, EST5,
// <+09>-9) or a place (Europe/Berlin).
func Zone(c *shell.Call) (*time.Location, error) {
	tz, _ := c.Getenv("TZ")
	return strftime.Zone(tz)
}

// ZoneOrUTC is Zone that returns UTC for an invalid TZ.
func ZoneOrUTC(c *shell.Call) *time.Location {
	if loc, err := Zone(c); err == nil {
		return loc
	}
	return time.UTC
}
