package descriptors

import (
	"context"
	"embed"
	"fmt"
	"maps"
	"slices"
	"strings"

	"hako/run/fault"
)

//go:embed help.md
var helpText string

//go:embed help
var topics embed.FS

type helpInput struct {
	Keys []string `json:"keys,omitempty" jsonschema:"topics; none: the list"`
}

// help implements the tool help.
func (d *Table) help(_ context.Context, in helpInput) (string, error) {
	known := d.topics()
	names := slices.Sorted(maps.Keys(known))
	if len(in.Keys) == 0 {
		return known["usage"]() + "\nTopics: " + strings.Join(names, ", "), nil
	}
	var parts []string
	for _, key := range in.Keys {
		text, ok := known[strings.ToLower(key)]
		if !ok {
			return "", unknownTopic(key, names)
		}
		parts = append(parts, strings.TrimSpace(text()))
	}
	return strings.Join(parts, "\n\n"), nil
}

func unknownTopic(key string, names []string) error {
	e := &fault.Error{Kind: fault.NotFound, Op: "help", Subject: quoteControl(key), Why: "there is no such topic",
		Hint: "the topics are " + strings.Join(names, ", ")}
	if near, ok := fault.Nearest(key, names); ok {
		e.Hint = "did you mean " + near + "? " + e.Hint
	}
	return e
}

// topics returns all topics of help.
func (d *Table) topics() map[string]func() string {
	all := map[string]func() string{"status": d.status}
	for _, name := range []string{"usage", "fds", "spawn", "limits", "examples", "errors"} {
		all[name] = func() string { return d.topic(name) }
	}
	all["fds"] = func() string { return d.topic("fds") + "\nOpen now:\n" + d.Map() }
	maps.Copy(all, d.opts.Topics)
	return all
}

// topic reads a text and fills in the limits.
func (d *Table) topic(name string) string {
	b, err := topics.ReadFile("help/" + name + ".md")
	if err != nil {
		return err.Error() // a test reads them all
	}
	l := d.opts.Limits
	return strings.NewReplacer(
		"{count}", fmt.Sprint(maxCount), "{lines}", fmt.Sprint(maxLines), "{page}", size(maxPage), "{write}", size(maxWrite),
		"{script}", size(int64(l.ScriptBytes)), "{running}", fmt.Sprint(l.MaxRunning), "{open}", fmt.Sprint(l.MaxOpen),
		"{room}", size(pipeCapacity), "{wait}", l.Wait.String(), "{nested}", d.nested(),
	).Replace(string(b))
}

func (d *Table) nested() string {
	if n := d.opts.Limits.NestedBytes; n > 0 {
		return size(n)
	}
	return "no limit"
}

// maxEndedShown is how many ended scripts status lists.
const maxEndedShown = 20

// status describes the scripts and the open descriptors.
func (d *Table) status() string {
	d.mu.Lock()
	var list []string
	ended := 0
	for _, s := range slices.Backward(d.scripts) {
		if s.ended() {
			if ended++; ended > maxEndedShown {
				continue
			}
		}
		list = append(list, d.state(s))
	}
	d.mu.Unlock()
	slices.Reverse(list)
	if list == nil {
		list = []string{"no script was spawned"}
	}
	return strings.Join(list, "\n") + "\n" + d.Map()
}
