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

// Hear implements [coder.Commenter].
func (o *ForgeClient) Hear(ctx context.Context, t coder.Task, after string) ([]coder.Comment, error) {
	f, err := o.of(t.Provider)
	if err != nil {
		return nil, err
	}
	heard := readPosition(after)
	all, err := f.Comments(ctx, refOf(t), heard.at)
	if err != nil {
		return nil, o.meant(ctx, f, t, err)
	}
	all = slices.DeleteFunc(all,
		func(c forge.Comment) bool { return c.Internal }) // what is done with it would show it to everybody
	slices.SortStableFunc(all, f.earlier)
	var fresh []coder.Comment
	for _, c := range all {
		at := f.published(c)
		if heard.has(at, c.ID) {
			continue
		}
		heard = heard.moved(at, c.ID)
		one := coder.Comment{ID: heard.String(), Author: c.Author, Text: c.Body, On: c.On, Own: c.Mine}
		if one.Authorised, err = o.authorised(ctx, f, t.Repo, c); err != nil {
			return nil, err
		}
		fresh = append(fresh, one)
	}
	return fresh, nil
}

// published is when others could read a comment. The remarks of a GitHub review
// are made when they are drafted, and changed when the review is sent.
func (f *Forge) published(c forge.Comment) time.Time {
	if f.Provider == forge.GitHub && c.On != "" {
		return c.Updated
	}
	return c.Created
}

// earlier orders comments. Numbers grow, so that a longer one is later.
func (f *Forge) earlier(a, b forge.Comment) int {
	return cmp.Or(f.published(a).Compare(f.published(b)), cmp.Compare(len(a.ID), len(b.ID)), cmp.Compare(a.ID, b.ID))
}

// A position is how far a thread was read: to a time, and of what was written at
// that very time, which it is. So a comment that was deleted meanwhile, or that
// came in the same second, moves nothing.
type position struct {
	at  time.Time
	ids []string
}

func readPosition(text string) (p position) {
	at, ids, _ := strings.Cut(text, "/")
	p.at, _ = time.Parse(time.RFC3339Nano, at) // what makes no sense is the beginning
	if !p.at.IsZero() {
		p.ids = strings.Split(ids, ",")
	}
	return p
}

func (p position) String() string {
	return p.at.UTC().Format(time.RFC3339Nano) + "/" + strings.Join(p.ids, ",")
}

func (p position) has(at time.Time, id string) bool {
	return at.Before(p.at) || at.Equal(p.at) && slices.Contains(p.ids, id)
}

func (p position) moved(at time.Time, id string) position {
	if at.Equal(p.at) {
		return position{at, append(slices.Clone(p.ids), id)}
	}
	return position{at, []string{id}}
}

// A permission is that somebody may write.
type permission struct{ provider, repo, user string }

type permissionAnswer struct {
	yes   bool
	until time.Time
}

// authorised reports whether the author of a comment may instruct.
func (o *ForgeClient) authorised(ctx context.Context, f *Forge, repo string, c forge.Comment) (bool, error) {
	if c.Mine || strings.TrimSpace(c.Body) == "" {
		return false, nil // nobody asks
	}
	return o.mayWrite(ctx, f, repo, c.Author)
}

// mayWrite asks for a right once in a while. Programs have none: whoever can
// make one write could instruct by it.
func (o *ForgeClient) mayWrite(ctx context.Context, f *Forge, repo, user string) (bool, error) {
	if robot(user) {
		return false, nil
	}
	r := permission{f.Provider, repo, strings.ToLower(user)}
	if yes, known := o.known(r); known {
		return yes, nil
	}
	yes, err := f.MayWrite(ctx, repo, user)
	if err != nil {
		return false, err
	}
	o.remember(r, yes)
	return yes, nil
}

func (o *ForgeClient) known(r permission) (yes, known bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	a, ok := o.rights[r]
	return a.yes, ok && time.Now().Before(a.until)
}

func (o *ForgeClient) remember(r permission, yes bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.rights == nil || len(o.rights) >= mostRights {
		o.rights = make(map[permission]permissionAnswer)
	}
	o.rights[r] = permissionAnswer{yes, time.Now().Add(cmp.Or(o.Trust, 3*time.Minute))}
}
