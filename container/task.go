package container

import (
	"strings"

	"hako/internal/text"
	"hako/run/fault"
)

// A Task is what a container is for.
type Task struct {
	ID         string // its name, or UUID
	Repository string // to be cloned; empty means none
	Branch     string // empty means the default branch
	// Start is a full reference to check out, like refs/pull/7/head; empty means that of Branch. If it is set, Branch
	// is only the name of the local branch.
	Start string
	// Commit is a commit of [Manager.Save] to continue from: its changes are restored, and if it is a snapshot, not
	// the commit itself. Empty means the tip of Start or Branch.
	Commit  string
	Network Network // not wider than that of the Manager; empty means the same
	Target  string  // the merge target of the branch, fetched too; empty means none
}

// Name returns the name of a task's container.
func Name(task string) string { return "coding-agent-exec-" + task }

const taskLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"

// CheckTask refuses an invalid task ID: it becomes part of the name of a container and of a file.
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

// oneLine makes text of others safe for a message.
func oneLine(s string) string { return text.Shorten(text.RecordLine(s), 80) }
