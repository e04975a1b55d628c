package dispatch

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"hako/internal/app/coder"
	"hako/internal/app/coder/forge"
)

// Comments implements [coder.Commenter].
func (o *ForgeClient) Comments(ctx context.Context, t coder.Task, after string) ([]coder.Comment, error) {
	f, err := o.of(t.Provider)
	if err != nil {
		return nil, err
	}
	heard := readPosition(after)
	all, err := f.Comments(ctx, refOf(t), heard.at)
	if err != nil {
		return nil, o.classifyError(ctx, f, t, err)
	}
	all = slices.DeleteFunc(all,
		func(c forge.Comment) bool { return c.Internal }) // the result of the task would show it to everybody
	slices.SortStableFunc(all, f.compare)
	var fresh []coder.Comment
	for _, c := range all {
		at := f.published(c)
		if heard.includes(at, c.ID) {
			continue
		}
		heard = heard.advancedTo(at, c.ID)
		one := coder.Comment{ID: heard.String(), Author: c.Author, Text: c.Body, On: c.On, Own: c.Mine}
		if one.Authorised, err = o.authorised(ctx, f, t.Repo, c); err != nil {
			return nil, err
		}
		fresh = append(fresh, one)
	}
	return fresh, nil
}

// published returns when others could first read a comment. The comments of a GitHub
// review are created when they are drafted, and updated when the review is submitted.
func (f *Forge) published(c forge.Comment) time.Time {
	if f.Provider == forge.GitHub && c.On != "" {
		return c.Updated
	}
	return c.Created
}

// compare orders comments. IDs grow, so a longer one is later.
func (f *Forge) compare(a, b forge.Comment) int {
	return cmp.Or(f.published(a).Compare(f.published(b)), cmp.Compare(len(a.ID), len(b.ID)), cmp.Compare(a.ID, b.ID))
}

// A position is how far the comments were read: to a time, and the IDs of those with
// that very time. A comment that was deleted, or that came in the same second, changes
// nothing.
type position struct {
	at  time.Time
	ids []string
}

func readPosition(text string) (p position) {
	at, ids, _ := strings.Cut(text, "/")
	p.at, _ = time.Parse(time.RFC3339Nano, at) // an invalid position is the beginning
	if !p.at.IsZero() {
		p.ids = strings.Split(ids, ",")
	}
	return p
}

func (p position) String() string {
	return p.at.UTC().Format(time.RFC3339Nano) + "/" + strings.Join(p.ids, ",")
}

func (p position) includes(at time.Time, id string) bool {
	return at.Before(p.at) || at.Equal(p.at) && slices.Contains(p.ids, id)
}

func (p position) advancedTo(at time.Time, id string) position {
	if at.Equal(p.at) {
		return position{at, append(slices.Clone(p.ids), id)}
	}
	return position{at, []string{id}}
}

// A permission is the right of a user to write to a repository.
type permission struct{ provider, repo, user string }

type permissionAnswer struct {
	yes   bool
	until time.Time
}

// authorised reports whether the author of a comment may give instructions.
func (o *ForgeClient) authorised(ctx context.Context, f *Forge, repo string, c forge.Comment) (bool, error) {
	if c.Mine || strings.TrimSpace(c.Body) == "" {
		return false, nil
	}
	return o.mayWrite(ctx, f, repo, c.Author)
}

// mayWrite returns a cached permission. Bots have none: whoever can make one write
// could give instructions by it.
func (o *ForgeClient) mayWrite(ctx context.Context, f *Forge, repo, user string) (bool, error) {
	if isBot(user) {
		return false, nil
	}
	r := permission{f.Provider, repo, strings.ToLower(user)}
	if yes, known := o.cachedPermission(r); known {
		return yes, nil
	}
	yes, err := f.MayWrite(ctx, repo, user)
	if err != nil {
		return false, err
	}
	o.cachePermission(r, yes)
	return yes, nil
}

func (o *ForgeClient) cachedPermission(r permission) (yes, known bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	a, ok := o.permissions[r]
	return a.yes, ok && time.Now().Before(a.until)
}

func (o *ForgeClient) cachePermission(r permission, yes bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.permissions == nil || len(o.permissions) >= maxPermissions {
		o.permissions = make(map[permission]permissionAnswer)
	}
	o.permissions[r] = permissionAnswer{yes, time.Now().Add(cmp.Or(o.PermissionTTL, 3*time.Minute))}
}
