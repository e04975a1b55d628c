package forge

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"hako/run/fault"
)

// A Mark identifies a comment of hako. It is the first line of the comment, which
// pages do not show: <!-- hako:TASK:KEY -->. The zero value is no mark.
type Mark struct {
	Task string
	Key  string
}

const (
	markerStart = "<!-- hako:"
	markerEnd   = " -->"
)

// prepend puts the mark before a text.
func (m Mark) prepend(text string) (string, error) {
	if m == (Mark{}) {
		return text, nil
	}
	if !markWord(m.Task) || !markWord(m.Key) {
		return "", invalid("mark comment", m.Task+":"+m.Key,
			"the words of a mark are letters, digits, dots and single dashes", "use a shorter, plainer key")
	}
	return markerStart + m.Task + ":" + m.Key + markerEnd + "\n" + text, nil
}

// splitMark removes the mark from the first line of a comment.
func splitMark(body string) (Mark, string) {
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

// received sanitizes a comment. It reads the mark only if the comment is by the
// account: with a mark, a stranger could make us believe that we wrote something.
func (c Comment) received(account string) Comment {
	c.Mine = strings.EqualFold(c.Author, account)
	if c.Mine {
		c.Mark, c.Body = splitMark(c.Body)
	}
	c.Author, c.Body, c.On, c.URL = clean(c.Author), cleanText(c.Body), clean(c.On), clean(c.URL)
	return c
}

// A CommentWriter writes comments on one issue, one for each key: it edits the
// comment that a key has, also one of another process. The zero value is not usable;
// its fields must not change after the first use.
type CommentWriter struct {
	Forge Forge
	Ref   Ref
	Task  string // in marks: letters, digits, dots, dashes

	mu      sync.Mutex
	written map[string]Comment // by key
}

// Write creates the comment of a key, or changes its text. It tries again if the
// response got lost, and then finds the comment, or if a person deleted the comment.
func (w *CommentWriter) Write(ctx context.Context, key, text string) (Comment, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.written == nil {
		w.written = map[string]Comment{}
	}
	var err error
	for range 3 {
		var c Comment
		if c, err = w.write(ctx, key, text); err == nil {
			w.written[key] = c
			return c, nil
		}
		delete(w.written, key)
		if !maybeDone(err) && !isNotFound(err) || ctx.Err() != nil {
			break
		}
	}
	return Comment{}, err
}

func (w *CommentWriter) write(ctx context.Context, key, text string) (Comment, error) {
	mark := Mark{w.Task, key}
	old, err := w.find(ctx, mark)
	switch {
	case err != nil:
		return Comment{}, err
	case old.ID == "":
		return w.Forge.AddComment(ctx, w.Ref, mark, text)
	case old.Body == text:
		return old, nil
	}
	return w.Forge.EditComment(ctx, w.Ref, old.ID, mark, text)
}

// find returns the comment with a mark; zero if there is none.
func (w *CommentWriter) find(ctx context.Context, mark Mark) (Comment, error) {
	if c, ok := w.written[mark.Key]; ok {
		return c, nil
	}
	all, err := w.Forge.Comments(ctx, w.Ref, time.Time{})
	for _, c := range all {
		if c.Mark == mark {
			return c, err
		}
	}
	return Comment{}, err
}

// maybeDone reports whether a request may have been carried out although it failed.
func maybeDone(err error) bool {
	failed, ok := errors.AsType[*requestError](err)
	return fault.KindOf(err) == fault.Unavailable && (!ok || !failed.rateLimited)
}

// EnsurePullRequest returns the open pull request of a branch, or opens one, and
// reports whether it did.
func EnsurePullRequest(ctx context.Context, f Forge, d Draft) (i Issue, opened bool, err error) {
	for range 3 {
		all, listErr := f.PullRequests(ctx, d.Repo, d.Branch)
		if listErr != nil {
			return Issue{}, false, listErr
		}
		for _, i := range all {
			if !i.Closed && (d.Target == "" || i.Target == d.Target) {
				return i, opened, nil
			}
		}
		if i, err = f.OpenPullRequest(ctx, d); err == nil {
			return i, true, nil
		}
		if opened = maybeDone(err); !opened && !errors.Is(err, ErrExists) || ctx.Err() != nil {
			break
		}
	}
	return Issue{}, false, err
}

// ErrExists is in the error of OpenPullRequest if the branch has a pull request
// already.
var ErrExists = errors.New("the branch has a pull request already")

// withExists adds ErrExists to the error of a request that was refused for it.
func withExists(err error) error {
	status := statusOf(err)
	exists := status == http.StatusConflict ||
		status == http.StatusUnprocessableEntity && mentions(err, "already exists")
	if e, ok := errors.AsType[*fault.Error](err); ok && exists {
		e.Why, e.Err, e.Hint = "", ErrExists, "push to its branch instead"
	}
	return err
}

// SetStateLabel gives an issue the label of its new state, which is one of labels,
// and removes the others of them.
func SetStateLabel(ctx context.Context, f Forge, ref Ref, labels Labels, label string) error {
	var others []string
	for _, name := range labels.All() {
		if !strings.EqualFold(name, label) {
			others = append(others, name)
		}
	}
	if len(others) == len(labels.All()) {
		return invalid("set label", label, "it is not one of the labels", "use one of: "+strings.Join(labels.All(), ", "))
	}
	return f.ChangeLabels(ctx, ref, []string{label}, others)
}
