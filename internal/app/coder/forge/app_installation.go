package forge

import (
	"cmp"
	"context"
	"net/url"

	"github.com/google/go-github/v92/github"
)

// newInstalled is GitHub as an App sees it.
func newInstalled(c Config, at *url.URL, mail *apiClient) (Forge, error) {
	own, err := c.App.signer()
	if err != nil {
		return nil, err
	}
	itself := newAPIClient(c, at, nil, mail.secrets)
	itself.credential, itself.next = own, mail.next
	api, err := hubClient(at, itself)
	if err != nil {
		return nil, err
	}
	app := &appTokens{app: *c.App, api: api, mail: itself, hide: c.Hide}
	mail.credential, mail.app = app, true
	return newGitHub(c, at, mail, app)
}

// Token implements [Tokens].
func (h *githubForge) Token(ctx context.Context) (string, error) {
	token, err := h.mail.credential.token(ctx)
	return token, h.mail.explain("get a token of", GitHub, err)
}

// listInstalled asks repository by repository: there is no list of all issues
// for an App. Those that are disabled, or were taken from it meanwhile, have none.
func (h *githubForge) listInstalled(ctx context.Context, q Query) ([]Task, error) {
	repos, err := h.installed(ctx)
	if err != nil {
		return nil, err
	}
	var all []Task
	most := cmp.Or(q.Most, mostList)
	for _, repo := range repos {
		q.Repo, q.Most = repo, most-len(all)
		if q.Most == 0 {
			break
		}
		list, err := h.List(ctx, q)
		if err != nil && !gone(err) {
			return nil, err
		}
		all = append(all, list...)
	}
	return all, nil
}

// installed returns the repositories that an App is installed in and that can be
// worked on.
func (h *githubForge) installed(ctx context.Context) ([]string, error) {
	list, err := pages(mostList, func(page int, _ string) ([]*github.Repository, int, string, error) {
		found, res, err := h.api.Apps.ListRepos(ctx, &github.ListOptions{Page: page, PerPage: perPage})
		if err == nil && found == nil {
			err = errNonsense
		}
		if err != nil {
			return nil, 0, "", err
		}
		return found.Repositories, res.NextPage, "", nil
	})
	if err != nil {
		return nil, h.mail.explain("list repositories of", h.app.app.String(), err)
	}
	var names []string
	for _, r := range list {
		if !r.GetArchived() && checkRepo(GitHub, r.GetFullName()) == nil {
			names = append(names, r.GetFullName())
		}
	}
	return names, nil
}
