package main

import (
	"testing"
	"time"

	"hako/internal/app/secretary/store"
)

// On a terminal titles are cut, by columns and not by characters.
func TestTodoTable(t *testing.T) {
	now := time.Date(2026, 1, 31, 9, 0, 0, 0, time.UTC)
	todos := []store.Todo{
		{ID: 12, Title: "牛乳を買いに行く", Status: "open", Priority: "high", Due: "2026-01-30"},
		{ID: 3, Title: "\u202eevil", Status: "done", Priority: "low"},
	}
	for columns, want := range map[int]string{
		0:  "ID  PRIORITY  DUE                 TITLE\n12  high      2026-01-30 overdue  牛乳を買いに行く\n3   low                           evil\n",
		46: "ID  PRIORITY  DUE                 TITLE\n12  high      2026-01-30 overdue  牛乳を買い…\n3   low                           evil\n",
	} {
		if got := todoTable(todos, false, now, columns); got != want {
			t.Errorf("%d columns: got\n%swant\n%s", columns, got, want)
		}
	}
	if got := todoTable(todos[1:], true, now,
		0); got != "STATUS  ID  PRIORITY  DUE  TITLE\ndone    3   low            evil\n" {
		t.Errorf("got\n%s", got)
	}
}
