package clone

import (
	"context"
	"strings"
)

// keyTrailer identifies a commit of ours.
const keyTrailer = "Hako-Task: "

// baseTrailer names the commit that the work began from. Only commits on refs/hako/ have it.
const baseTrailer = "Hako-Base: "

// A commitText is a commit object: header lines, an empty line, and the message.
type commitText string

const maxCommit = 1 << 20

// commitText reads a commit.
func (c *cache) commitText(ctx context.Context, commit string) (commitText, error) {
	out := &limitedBuffer{limit: maxCommit}
	err := c.git.run(ctx, call{args: []string{"cat-file", "commit", commit}, dir: c.repository(), lock: c.lock,
		stdout: out})
	if out.full { // Save did not make it
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

// key returns the key of a commit of ours, or "".
func (t commitText) key() string { return t.trailer(keyTrailer) }

// trailer returns the last value of a trailer in the last paragraph of the message.
func (t commitText) trailer(name string) string {
	value := ""
	for line := range strings.Lines(lastParagraph(t.message())) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			value = strings.TrimSpace(rest)
		}
	}
	return value
}

// withKey appends a key to a message: to its last paragraph if that consists of trailers, as git does.
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
