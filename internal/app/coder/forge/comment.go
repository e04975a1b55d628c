package forge

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"hako/run/fault"
)

// A Mark tells our comments apart. It is the first line of one, where people
// don't see it: <!-- hako:TASK:KEY -->. The zero value is no mark.
type Mark struct {
	Task string
	Key  string
}

const (
	markerStart = "<!-- hako:"
	markerEnd   = " -->"
)

// on puts the mark before a text.
func (m Mark) on(text string) (string, error) {
	if m == (Mark{}) {
		return text, nil
	}
	if !markWord(m.Task) || !markWord(m.Key) {
		return "", invalid("mark comment", m.Task+":"+m.Key,
			"the words of a mark are letters, digits, dots and single dashes", "use a shorter, plainer key")
	}
	return markerStart + m.Task + ":" + m.Key + markerEnd + "\n" + text, nil
}

// unmark takes the mark off the first line of a comment.
func unmark(body string) (Mark, string) {
	line, rest, _ := strings.Cut(body, "\n")
	inner, ok := strings.CutPrefix(strings.TrimRight(line, "\r "), markerStart)
	inner, end := strings.CutSuffix(inner, markerEnd)
	task, key, both := strings.Cut(inner, ":")
	if !ok || !end || !both || !markWord(task) || !markWord(key) {
		return Mark{}, body
	}
	return Mark{task, key}, rest
}

func markWord(word string) bool {
	return plainName(word) && !strings.Contains(word, "--") && len(word) <= 100
}

// marked reads the mark of a comment that is ours. In anybody else's it means
// nothing: a stranger could make us believe that something was said.
func marked(c Comment, raw string) Comment {
	body := raw
	if c.Mine {
		c.Mark, body = unmark(raw)
	}
	c.Body = cleanLines(body)
	return c
}

// A CommentWriter says things about one task. Each key is one comment: said again, it
// is edited in place, also by the CommentWriter of another process. The zero value is
// not usable; its fields must not change after the first use.
type CommentWriter struct {
	Forge Forge
	Ref   Ref
	Task  string // names the task in marks: letters, digits, dots, dashes

	mu   sync.Mutex
	said map[string]Comment // by key
}

// Say makes the comment of a key read like text.
func (v *CommentWriter) Say(ctx context.Context, key, text string) (Comment, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	var err error
	for range 3 { // a comment whose answer got lost is found in the next round, one that a person deleted is made anew
		var c Comment
		if c, err = v.say(ctx, key, text); err == nil {
			v.said[key] = c
			return c, nil
		}
		delete(v.said, key)
		if !lost(err) && !gone(err) || ctx.Err() != nil {
			break
		}
	}
	return Comment{}, err
}

// say edits the comment that is there, or makes one.
func (v *CommentWriter) say(ctx context.Context, key, text string) (Comment, error) {
	old, found, err := v.find(ctx, key)
	if err != nil {
		return Comment{}, err
	}
	mark := Mark{v.Task, key}
	if !found {
		return v.Forge.Comment(ctx, v.Ref, mark, text)
	}
	if old.Body == text {
		return old, nil
	}
	return v.Forge.Edit(ctx, v.Ref, old.ID, mark, text)
}

func (v *CommentWriter) find(ctx context.Context, key string) (Comment, bool, error) {
	if v.said == nil {
		v.said = map[string]Comment{}
	}
	if c, ok := v.said[key]; ok {
		return c, true, nil
	}
	all, err := v.Forge.Comments(ctx, v.Ref, time.Time{})
	if err != nil {
		return Comment{}, false, err
	}
	for _, c := range all {
		if c.Mark == (Mark{v.Task, key}) {
			return c, true, nil
		}
	}
	return Comment{}, false, nil
}

// lost reports whether a request may have been carried out though we were told
// otherwise.
func lost(err error) bool {
	var no *refusal
	return fault.KindOf(err) == fault.Unavailable && (!errors.As(err, &no) || !no.limited)
}

// OpenOnce returns the open pull request of a branch, or makes one, and tells
// whether it did.
func OpenOnce(ctx context.Context, f Forge, p Pull) (t Task, made bool, err error) {
	for range 3 {
		all, listing := f.Pulls(ctx, p.Repo, p.Branch)
		if listing != nil {
			return Task{}, false, listing
		}
		for _, t := range all {
			if !t.Closed && (p.Target == "" || t.Target == p.Target) {
				return t, made, nil
			}
		}
		if t, err = f.Open(ctx, p); err == nil {
			return t, true, nil
		}
		if made = lost(err); !made && !errors.Is(err, ErrExists) || ctx.Err() != nil {
			break
		}
	}
	return Task{}, false, err
}

// ErrExists is in the error of Open if the branch has a pull request already.
var ErrExists = errors.New("there is a pull request of this branch already")

// Move gives a task the label of its new state and takes the others of ours
// away, so that a task never has two for longer than a request takes. To is one
// of the labels.
func Move(ctx context.Context, f Forge, ref Ref, labels Labels, to string) error {
	var others []string
	for _, name := range labels.All() {
		if !strings.EqualFold(name, to) {
			others = append(others, name)
		}
	}
	if len(others) == len(labels.All()) {
		return invalid("move task to", to, "it is none of the labels", "use one of: "+strings.Join(labels.All(), ", "))
	}
	return f.Relabel(ctx, ref, []string{to}, others)
}
