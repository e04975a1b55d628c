package engine

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"hako/run/fault"
)

// Logs returns the last lines of output of a container's first process. Empty means that there is none, or that the
// log driver keeps none.
func (e *Engine) Logs(ctx context.Context, id string, tail int) (string, error) {
	const op = "read container's log"
	path, err := containerPath(op, id, "/logs")
	if err != nil {
		return "", err
	}
	ctx, cancel := e.bound(ctx, e.timeout)
	defer cancel()
	r := request{op: op, subject: id, path: path, query: url.Values{"stdout": {"1"}, "stderr": {"1"},
		"tail": {strconv.Itoa(tail)}}}
	res, err := e.do(ctx, r)
	if err != nil {
		return "", err
	}
	defer discard(res.Body)
	if res.StatusCode != http.StatusOK {
		return "", unlessUnreadable(refuse(r, res), res.StatusCode)
	}
	var kept lastBytes
	if err := demux(res.Body, &kept, &kept); err != nil {
		return "", e.interrupted(ctx, err)
	}
	return cleanLines(string(kept.text)), nil
}

// unlessUnreadable ignores a log driver that cannot be read.
func unlessUnreadable(err error, status int) error {
	if status == http.StatusNotImplemented || fault.KindOf(err) == fault.Unavailable &&
		strings.Contains(err.Error(), "does not support reading") {
		return nil
	}
	return err
}

type lastBytes struct{ text []byte }

func (l *lastBytes) Write(p []byte) (int, error) {
	l.text = append(l.text, p...)
	if over := len(l.text) - maxText; over > 0 {
		l.text = append(l.text[:0], l.text[over:]...)
	}
	return len(p), nil
}
