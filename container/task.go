package container

import (
	"strings"

	"hako/internal/text"
	"hako/run/fault"
)

// A Task is what a container is made for.
type Task struct {
	ID         string // its name, or UUID
	Repository string // to be cloned; empty means none
	Branch     string // empty means the repository's own choice
	// Start is a full reference to check out, as refs/pull/7/head; empty means
	// that of Branch. With one, Branch is only what it is called inside.
	Start string
	// Commit is one that [Dock.Save] kept, to go on from: with its changes, and
	// without itself if it is a snapshot. Empty means the tip of Start or Branch.
	Commit  string
	Network Network // as far as that of the dock or less; empty means that of the dock
	Target  string  // the branch that this one is to be merged into, fetched besides; empty means none
}

// Name returns the name of a task's container.
func Name(task string) string { return "coding-agent-exec-" + task }

const taskLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"

// CheckTask refuses what is no name of a task: it becomes a part of the name of a container and of a file.
func CheckTask(id string) error {
	refuse := func(why string) error {
		return &fault.Error{Kind: fault.Invalid, Op: "read task", Subject: oneLine(id), Why: why,
			Hint: "use letters, digits, - and _, as in fix-42 or a UUID"}
	}
	switch {
	case id == "":
		return refuse("it is empty")
	case len(id) > 64:
		return refuse("it is longer than 64 characters")
	case strings.Trim(id, taskLetters) != "" ||
		strings.ContainsFunc(id, func(r rune) bool { return !strings.ContainsRune(taskLetters, r) }):
		return refuse("it has other characters than letters, digits, '.', '-' and '_'")
	case strings.Trim(id[:1], ".-_") == "":
		return refuse("it does not begin with a letter or digit")
	}
	return nil
}

// oneLine makes text of others fit for a line.
func oneLine(s string) string { return text.Shorten(text.RecordLine(s), 80) }
