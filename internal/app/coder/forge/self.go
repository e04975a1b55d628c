package forge

import (
	"context"
	"slices"
	"strings"
	"sync"

	"hako/run/fault"
)

// An account is the one whose token is used, asked for once.
type account struct {
	bot string // from the configuration; empty means unknown
	ask func(context.Context) (string, error)

	mu   sync.Mutex
	name string
}

// self asks the forge rather than the configuration: a wrong name there would
// make us answer ourselves. Some tokens may not ask.
func (a *account) self(ctx context.Context) (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.name != "" {
		return a.name, nil
	}
	name, err := a.ask(ctx)
	if fault.KindOf(err) == fault.Denied && statusOf(err) == 403 && a.bot != "" {
		name, err = a.bot, nil
	}
	if err != nil {
		return "", err
	}
	a.name = name
	return name, nil
}

// pages collects what a forge hands out by the hundred, until there is no next
// page or there are enough.
func pages[T any](most int, fetch func(page int, after string) (list []*T, next int, nextAfter string, err error)) (
	[]*T, error) {
	var all []*T
	page, after := 1, ""
	for range maxPages {
		list, next, nextAfter, err := fetch(page, after)
		if err != nil {
			return nil, err
		}
		all = append(all, there(list)...)
		if len(all) >= most {
			return all[:most], nil
		}
		if next == 0 && nextAfter == "" {
			break
		}
		page, after = next, nextAfter
	}
	return all, nil
}

// sensible reads one task, if it is one.
func sensible[T any](one *T, read func(*T) Task, err error) (Task, error) {
	if err != nil {
		return Task{}, err
	}
	if one == nil {
		return Task{}, errNonsense
	}
	t := read(one)
	if t.senseless() {
		return Task{}, errNonsense
	}
	return t, nil
}

// there drops what is null: no forge sends that, and no client minds.
func there[T any](list []*T) []*T {
	return slices.DeleteFunc(list, func(one *T) bool { return one == nil })
}

const (
	maxPages = 100
	perPage  = 100
	mostList = maxPages * perPage
)

// wanted drops tasks that came twice, because the pages moved while they were
// read, and those of other people.
func wanted(all []Task, q Query) []Task {
	seen := map[Ref]bool{}
	var out []Task
	for _, t := range all {
		if t.senseless() || seen[t.Ref()] || t.Closed || q.Label != "" && !t.Labelled(q.Label) || q.Assignee != "" &&
			!t.Assigned(q.Assignee) {
			continue
		}
		seen[t.Ref()] = true
		out = append(out, t)
	}
	return out
}

func (q Query) check(provider string) error {
	if q.Repo != "" {
		if err := checkRepo(provider, q.Repo); err != nil {
			return err
		}
	}
	if q.Assignee != "" && !userName(q.Assignee) {
		return invalid("read assignee", q.Assignee, "no account has such a name", "write it without @")
	}
	if q.Label != "" {
		return checkLabel(q.Label)
	}
	return nil
}

// allLabels checks every label of several lists.
func allLabels(lists ...[]string) error {
	for _, list := range lists {
		for _, label := range list {
			if err := checkLabel(label); err != nil {
				return err
			}
		}
	}
	return nil
}

// cloneURL is where a repository can be cloned, from the address of one of its
// pages and the path that begins behind it.
func cloneURL(page, cut string) string {
	base, _, found := strings.Cut(page, cut)
	if !found || !strings.HasPrefix(base, "http") {
		return ""
	}
	return clean(base) + ".git"
}
