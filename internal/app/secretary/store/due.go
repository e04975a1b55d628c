package store

import (
	"strconv"
	"strings"
	"time"
)

// timeLayouts are the accepted layouts; a time without a zone is local.
var timeLayouts = []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02 15:04"}

// ParseDue parses a due date: a day (2026-01-31, today, tomorrow) or a time (RFC 3339, or local 2026-01-31
// 15:04). It returns the stored form and the moment when the to-do becomes overdue: for a day, the beginning
// of the next one. Empty and "none" mean no due date.
func ParseDue(text string, now time.Time) (due string, end time.Time, err error) {
	text = strings.TrimSpace(text)
	switch strings.ToLower(text) {
	case "", "none":
		return "", time.Time{}, nil
	case "today":
		text = now.Format(time.DateOnly)
	case "tomorrow":
		text = nextDay(now).Format(time.DateOnly)
	}
	if day, err := time.ParseInLocation(time.DateOnly, text, now.Location()); err == nil {
		return text, nextDay(day), nil
	}
	for _, layout := range timeLayouts {
		if at, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			return at.Format(time.RFC3339), at, nil
		}
	}
	return "", time.Time{}, invalid("due", strconv.Quote(text)+" is not a day or time",
		"write 2026-01-31, 2026-01-31T15:04:05+09:00, today, tomorrow or none")
}

// nextDay returns the beginning of the next day, which is not always 24 hours away.
func nextDay(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day()+1, 0, 0, 0, 0, t.Location())
}

// Overdue reports whether an open to-do is past its due date.
func (t Todo) Overdue(now time.Time) bool {
	due, end, err := ParseDue(t.Due, now)
	return err == nil && due != "" && t.Status == StatusOpen && !now.Before(end)
}

// dueAt returns the sort key of a due date, or nil.
func dueAt(due string, now time.Time) any {
	due, end, err := ParseDue(due, now)
	if err != nil || due == "" {
		return nil
	}
	return toMicros(end)
}
