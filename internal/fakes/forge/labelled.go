package forge

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// A labelled is that somebody set a label, or took it away.
type labelled struct {
	id    int
	label string
	by    string
	gone  bool // it was taken away
	at    time.Time
}

// noted writes down how the labels of an item differ from what they were.
func (s *Server) noted(i *Item, before []string, by string) {
	s.user(by)
	note := func(labels, others []string, gone bool) {
		for _, label := range labels {
			if !slices.Contains(others, label) {
				i.labelled = append(i.labelled, labelled{s.newID(), label, by, gone, s.clock})
			}
		}
	}
	note(before, i.Labels, true)
	note(i.Labels, before, false)
}

// labeller is somebody who may write: the author of an item, or else the first
// by name. Where there is nobody it is the author.
func (r *repo) labeller(author string) string {
	people := append([]string{author}, slices.Sorted(maps.Keys(r.members))...)
	for _, login := range people {
		if r.can(login, "write") && !strings.HasSuffix(login, "[bot]") {
			return login
		}
	}
	return author
}

func hubEvents(c *call) {
	if _, i := hubItem(c); i != nil {
		paged(c, i.labelled, func(l labelled) any {
			what := "labeled"
			if l.gone {
				what = "unlabeled"
			}
			return map[string]any{"id": l.id, "event": what, "actor": c.person(l.by), "created_at": when(l.at),
				"label": map[string]any{"name": l.label, "color": "ededed"}}
		})
	}
}

func labEvents(kind string) func(*call) {
	return func(c *call) {
		_, i := labItem(c, kind)
		if i == nil {
			return
		}
		paged(c, i.labelled, func(l labelled) any {
			what := "add"
			if l.gone {
				what = "remove"
			}
			return map[string]any{"id": l.id, "action": what, "user": c.labPerson(l.by), "created_at": when(l.at),
				"resource_id":   i.id,
				"resource_type": map[string]string{Issue: "Issue", Pull: "MergeRequest"}[kind],
				"label":         map[string]any{"id": 1, "name": l.label, "color": "#ededed"}}
		})
	}
}
