package dispatch

import (
	"cmp"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"hako/agent/tool"
	"hako/agent/tool/gated"
	"hako/internal/app/coder"
	"hako/internal/app/coder/forge"
	"hako/internal/redact"
	"hako/internal/text"
	"hako/run/fault"
)

var (
	//go:embed add_comment.md
	addCommentText string
	//go:embed get_issue.md
	getIssueText string
	//go:embed list_issues.md
	listIssuesText string
	//go:embed create_pull_request.md
	createPullText string
)

// Tools returns the tools by which the model of a task uses its forge. They reach only
// the repository of the task; they write to its issue and propose its branch alone.
// Secrets are redacted from what is written; nil means only those recognised by their
// form.
func (o *ForgeClient) Tools(t coder.Task, secrets *redact.Set) ([]gated.Tool, error) {
	f, err := o.of(t.Provider)
	if err != nil {
		return nil, err
	}
	d := &forgeTools{client: o, forge: f, task: t, secrets: secrets}
	list := tool.New("forge_list_issues", listIssuesText, d.listIssues)
	read := tool.New("forge_get_issue", getIssueText, d.getIssue)
	list.Stateful, read.Stateful = true, true
	return []gated.Tool{
		{Tool: tool.New("forge_add_comment", addCommentText, d.addComment), Words: []string{"forge", "add_comment"}},
		{Tool: read, Words: []string{"forge", "get_issue"}},
		{Tool: list, Words: []string{"forge", "list_issues"}},
		{Tool: tool.New("forge_create_pull_request", createPullText, d.createPull),
			Words: []string{"forge", "create_pull_request"}},
	}, nil
}

// forgeTools are the tools of one task.
type forgeTools struct {
	client     *ForgeClient
	forge      *Forge
	task       coder.Task
	secrets    *redact.Set
	commenting sync.Mutex // so that two calls cannot both take the last place
}

// Limits of what a model reads and writes.
const (
	maxBody      = 8000
	maxComment   = 2000
	maxOutgoing  = 20_000
	lastComments = 10
	maxListed    = 50
	maxComments  = 5 // besides the plan, the progress and the result
)

type addCommentInput struct {
	Text string `json:"text" jsonschema:"Markdown"`
}

// addComment derives the key from the text, so that the next worker finds the comment
// too.
func (d *forgeTools) addComment(ctx context.Context, in addCommentInput) (string, error) {
	text := coder.Fit(d.secrets, strings.TrimSpace(in.Text), maxOutgoing)
	if text == "" {
		return "", &fault.Error{Kind: fault.Invalid, Op: "comment", Why: "the text is empty", Hint: "give a text"}
	}
	sum := sha256.Sum256([]byte(text))
	key := commentKeyPrefix + hex.EncodeToString(sum[:8])
	d.commenting.Lock()
	defer d.commenting.Unlock()
	if err := d.checkCommentLimit(ctx, key); err != nil {
		return "", err
	}
	ref, err := d.client.WriteComment(ctx, d.task, key, text)
	if err != nil {
		return "", err
	}
	return coder.JSON(map[string]any{"ok": true, "comment": ref}), nil
}

// commentKeyPrefix begins the keys of a model's comments.
const commentKeyPrefix = "said-"

// checkCommentLimit refuses further comments: each notifies people, and an injected
// prompt could cause many.
func (d *forgeTools) checkCommentLimit(ctx context.Context, key string) error {
	keys, err := d.client.commentKeys(ctx, d.forge, d.task)
	if err != nil || slices.Contains(keys, key) {
		return err
	}
	keys = slices.DeleteFunc(keys, func(k string) bool { return !strings.HasPrefix(k, commentKeyPrefix) })
	if len(keys) < maxComments {
		return nil
	}
	return &fault.Error{Kind: fault.Denied, Op: "comment",
		Why:  fmt.Sprintf("%d comments were written for this task, which is all that it may", maxComments),
		Hint: "put the rest into your final answer, which is posted"}
}

type getIssueInput struct {
	Number int    `json:"number"`
	Kind   string `json:"kind,omitempty" jsonschema:"issue (the default) or pull, where the two are numbered apart"`
}

type shownIssue struct {
	Number   int            `json:"number"`
	Kind     string         `json:"kind"`
	State    string         `json:"state"`
	Title    string         `json:"title"`
	Author   string         `json:"author"`
	MayWrite *bool          `json:"author_may_write,omitempty"`
	Labels   []string       `json:"labels,omitempty"`
	URL      string         `json:"url"`
	Body     string         `json:"body,omitempty"`
	Omitted  int            `json:"earlier_comments,omitempty"`
	Comments []shownComment `json:"comments,omitempty"`
}

type shownComment struct {
	Author   string    `json:"author"`
	MayWrite bool      `json:"may_write"`
	Own      bool      `json:"written_by_hako,omitempty"`
	At       time.Time `json:"at"`
	On       string    `json:"on,omitempty"`
	Text     string    `json:"text"`
}

func (d *forgeTools) getIssue(ctx context.Context, in getIssueInput) (string, error) {
	ref := forge.Ref{Repo: d.task.Repo, Kind: forge.Kind(cmp.Or(in.Kind, "issue")), Number: in.Number}
	got, err := d.forge.Get(ctx, ref)
	if err != nil {
		return "", err
	}
	if got.Confidential {
		return "", &fault.Error{Kind: fault.NotFound, Op: "read task", Subject: ref.String(),
			Why: "it is confidential, and what you write is not", Hint: "do without it"}
	}
	ref.Kind = got.Kind // at GitHub the number identifies both
	out := d.shown(got)
	out.Body = text.Shorten(got.Body, maxBody)
	may, err := d.client.mayWrite(ctx, d.forge, d.task.Repo, got.Author)
	if err != nil {
		return "", err
	}
	out.MayWrite = &may
	all, err := d.forge.Comments(ctx, ref, time.Time{})
	if err != nil {
		return "", err
	}
	all = slices.DeleteFunc(all, func(c forge.Comment) bool { return c.Internal })
	out.Omitted = max(0, len(all)-lastComments)
	for _, c := range all[out.Omitted:] {
		may, err := d.client.authorised(ctx, d.forge, d.task.Repo, c)
		if err != nil {
			return "", err
		}
		out.Comments = append(out.Comments, shownComment{c.Author, may, c.Mine, c.Created, c.On,
			text.Shorten(c.Body, maxComment)})
	}
	return coder.JSON(out), nil
}

func (d *forgeTools) shown(t forge.Issue) shownIssue {
	state := "open"
	switch {
	case t.Merged:
		state = "merged"
	case t.Closed:
		state = "closed"
	}
	return shownIssue{Number: t.Number, Kind: string(t.Kind), State: state, Title: t.Title, Author: t.Author,
		Labels: t.Labels, URL: t.URL}
}

type listIssuesInput struct {
	Label string `json:"label,omitempty" jsonschema:"only those that have it"`
}

func (d *forgeTools) listIssues(ctx context.Context, in listIssuesInput) (string, error) {
	all, err := d.forge.List(ctx, forge.Query{Repo: d.task.Repo, Label: in.Label, Limit: maxListed})
	if err != nil {
		return "", err
	}
	out := []shownIssue{}
	for _, t := range all {
		if !t.Confidential {
			out = append(out, d.shown(t))
		}
	}
	return coder.JSON(out), nil
}

type createPullInput struct {
	Title string `json:"title"`
	Body  string `json:"body,omitempty" jsonschema:"Markdown"`
}

// createPull does nothing that would not happen at the end anyway: the branch exists
// once it was pushed, and it is pushed once the work was verified.
func (d *forgeTools) createPull(ctx context.Context, in createPullInput) (string, error) {
	if d.task.Kind == coder.Pull && !d.task.Fork {
		return coder.JSON(map[string]any{"ok": true, "url": d.task.URL,
			"note": "this task is a pull request itself; its branch is pushed at the end"}), nil
	}
	url, err := d.client.OpenPullRequest(ctx, d.task, coder.Proposal{Title: coder.Fit(d.secrets, in.Title, 250),
		Text: coder.Fit(d.secrets, in.Body, maxOutgoing)})
	if fault.KindOf(err) == fault.Invalid && !errors.Is(err, forge.ErrExists) {
		return "", &fault.Error{Kind: fault.Invalid, Op: "open pull request of", Subject: d.task.Branch,
			Why: "the branch is not pushed yet, or has no commit of its own", Err: err,
			Hint: "finish the work: the branch is pushed and the draft is opened then"}
	}
	if err != nil {
		return "", err
	}
	return coder.JSON(map[string]any{"ok": true, "url": url}), nil
}
