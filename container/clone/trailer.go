package clone

import (
	"context"
	"strings"
)

// keyTrailer is the line of a message by which a commit of ours is known again.
const keyTrailer = "Hako-Task: "

// baseTrailer is the line that says which commit the work began from. Only what is kept for later has it.
const baseTrailer = "Hako-Base: "

// A commitText is a commit as git keeps it: lines about it, an empty one, and the message.
type commitText string

// maxCommit is how long a commit may be that is read.
const maxCommit = 1 << 20

// commitText reads a commit of the repository.
func (c *cache) commitText(ctx context.Context, commit string) (commitText, error) {
	out := &limitedBuffer{limit: maxCommit}
	err := c.git.run(ctx, call{args: []string{"cat-file", "commit", commit}, dir: c.repository(), lock: c.lock,
		stdout: out})
	if out.full { // whatever it is, Save did not make it
		return "", nil
	}
	return commitText(out.String()), err
}

func (t commitText) head() string {
	head, _, _ := strings.Cut(string(t), "\n\n")
	return head
}

func (t commitText) message() string {
	_, message, _ := strings.Cut(string(t), "\n\n")
	return message
}

func (t commitText) parents() []string {
	var all []string
	for line := range strings.Lines(t.head()) {
		if parent, ok := strings.CutPrefix(strings.TrimSpace(line), "parent "); ok && isHash(parent) {
			all = append(all, parent)
		}
	}
	return all
}

// key returns whose commit it is, if it is one of ours.
func (t commitText) key() string { return t.trailer(keyTrailer) }

// trailer returns what the last paragraph of the message says, the last time it does.
func (t commitText) trailer(name string) string {
	value := ""
	for line := range strings.Lines(lastParagraph(t.message())) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			value = strings.TrimSpace(rest)
		}
	}
	return value
}

// withKey puts a key at the end of a message: into its last paragraph if that is of such lines, as git does.
func withKey(message, key string) string {
	message = strings.TrimSpace(message)
	gap := "\n\n"
	if last := lastParagraph(message); last != message && isTrailers(last) {
		gap = "\n"
	}
	return message + gap + keyTrailer + key + "\n"
}

func lastParagraph(message string) string {
	message = strings.TrimSpace(message)
	return message[strings.LastIndex(message, "\n\n")+1:]
}

func isTrailers(paragraph string) bool {
	for line := range strings.Lines(strings.TrimSpace(paragraph)) {
		name, _, ok := strings.Cut(line, ": ")
		if !ok || name == "" || strings.ContainsAny(name, " \t") {
			return false
		}
	}
	return true
}
